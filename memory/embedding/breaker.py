"""Circuit breaker: after a failure one attempt per pause is allowed, until one succeeds."""

from __future__ import annotations

import threading
import time

PAUSE = 1.0  # seconds


class Breaker:
    """Pauses after failures. Thread-safe: of several callers after a pause, only the first may try again."""

    def __init__(self, longest: float = PAUSE) -> None:
        """Each failure in a row doubles the pause, up to `longest` seconds."""
        self._lock = threading.Lock()
        self._longest = longest
        self._pause = 0.0
        self._next = 0.0

    def paused(self) -> bool:
        """Whether a pause is in progress."""
        return self._pause > 0 and time.monotonic() < self._next

    def may_try(self) -> bool:
        """Whether the caller may try: always without failures, else one caller after each pause."""
        with self._lock:
            now = time.monotonic()
            if self._pause and now < self._next:
                return False
            self._next = now + self._pause  # others wait for the result of this attempt
            return True

    def failed(self) -> None:
        """Record a failed attempt."""
        with self._lock:
            self._pause = min(self._longest, max(PAUSE, self._pause * 2))
            self._next = time.monotonic() + self._pause

    def succeeded(self) -> None:
        """Record a successful attempt: no pause any more."""
        if self._pause:
            with self._lock:
                self._pause = 0.0
