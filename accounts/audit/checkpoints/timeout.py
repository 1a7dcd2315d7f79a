"""A folder outside the data home may be on a network, and may hang for ever. Nobody here waits that long."""

from __future__ import annotations

import errno
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")
SECONDS = 5.0

_running: dict[Path, tuple[threading.Thread, float]] = {}


def call_with_timeout(path: Path, call: Callable[[], T]) -> T:
    """Do something with that file, in a thread that is left behind if it does not come back."""
    earlier, since = _running.get(path, (None, 0.0))
    if earlier is not None:
        earlier.join(max(0.0, since + SECONDS - time.monotonic()))
        if earlier.is_alive():
            raise TimeoutError(errno.ETIMEDOUT, "does not answer")
    answers: list[T] = []
    failures: list[Exception] = []

    def ask() -> None:
        try:
            answers.append(call())
        except Exception as error:
            failures.append(error)

    thread = threading.Thread(target=ask, name="checkpoints", daemon=True)
    thread.start()
    _running[path] = (thread, time.monotonic())
    thread.join(SECONDS)
    if failures:
        raise failures[0]
    if not answers:
        raise TimeoutError(errno.ETIMEDOUT, "does not answer")
    return answers[0]
