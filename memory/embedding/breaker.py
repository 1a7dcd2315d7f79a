"""After a failure one attempt is made per pause, by whoever comes first; a success ends it."""

from __future__ import annotations

import threading
import time

PAUSE = 1.0  # seconds


class Breaker:
    def __init__(self, longest: float = PAUSE) -> None:
        """Each failure in a row doubles the pause, up to `longest` seconds."""
        self._lock = threading.Lock()
        self._longest = longest
        self._pause = 0.0
        self._next = 0.0

    def resting(self) -> bool:
        return self._pause > 0 and time.monotonic() < self._next

    def may_try(self) -> bool:
        with self._lock:
            now = time.monotonic()
            if self._pause and now < self._next:
                return False
            self._next = now + self._pause  # taken: the others wait for what comes of this attempt
            return True

    def failed(self) -> None:
        with self._lock:
            self._pause = min(self._longest, max(PAUSE, self._pause * 2))
            self._next = time.monotonic() + self._pause

    def succeeded(self) -> None:
        if self._pause:
            with self._lock:
                self._pause = 0.0
