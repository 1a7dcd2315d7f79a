"""Timeout for access to the outside folder, which may be on a network file system that hangs."""

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
    """Call a function on that file in a thread; TimeoutError if it takes too long. The thread then keeps running."""
    previous, started = _running.get(path, (None, 0.0))
    if previous is not None:
        previous.join(max(0.0, started + SECONDS - time.monotonic()))
        if previous.is_alive():
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
