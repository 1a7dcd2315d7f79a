"""How a caller of the booth waits for its answer: one lock, where `concurrent.futures` takes three and a condition."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

_turn = threading.Lock()  # guards the step from waiting to running or cancelled; held for two lines


class Reply:
    """Waiting, then running or cancelled, then done with a value or an error."""

    __slots__ = ("_error", "_gate", "_state", "_then", "_value")

    def __init__(self) -> None:
        self._gate = threading.Lock()
        self._gate.acquire()  # let go when the answer is there
        self._state = "waiting"
        self._value: Any = None
        self._error: BaseException | None = None
        self._then: Callable[[Reply], None] | None = None

    def result(self, timeout: float = -1) -> Any:
        """The answer, or its error; TimeoutError if it does not come in time."""
        if not self._gate.acquire(timeout=timeout):
            raise TimeoutError
        self._gate.release()
        if self._error is not None:
            raise self._error
        return self._value

    def done(self) -> bool:
        return self._state in ("done", "cancelled")

    def error(self) -> BaseException | None:
        return self._error

    def then(self, call: Callable[[Reply], None]) -> None:
        """Run `call` when the answer is there; set before anybody can answer."""
        self._then = call

    def cancel(self) -> bool:
        """Give up waiting; False if the work has begun."""
        return self._step("cancelled")

    def begin(self) -> bool:
        """The work begins; False if the caller has given up."""
        return self._step("running")

    def _step(self, state: str) -> bool:
        with _turn:
            if self._state != "waiting":
                return False
            self._state = state
            return True

    def answer(self, value: Any = None, error: BaseException | None = None) -> None:
        self._value, self._error, self._state = value, error, "done"
        self._gate.release()
        if self._then is not None:
            self._then(self)
