"""Many readers at once, or one who changes the arrays; never both."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class ReadWriteLock:
    """Readers hold it for the few milliseconds of a recall's engine work, a change for less.

    A change writes in place into arrays that a recall reads several times, so a reader must not see
    half of one; copying what changes for each reader would cost more than waiting. Whoever changes
    goes first: readers who keep coming cannot keep it out. A thread that reads already may read again.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()  # that of the bell: taken directly where nobody waits or is woken
        self._bell = threading.Condition(self._lock)
        self._readers = 0
        self._waiting = 0
        self._changing = False
        self._mine = threading.local()

    @property
    def mine(self) -> bool:
        """Whether this thread is reading."""
        return getattr(self._mine, "depth", 0) > 0

    @contextmanager
    def reading(self) -> Iterator[None]:
        depth = getattr(self._mine, "depth", 0)
        if depth == 0:
            with self._lock:
                while self._changing or self._waiting:
                    self._bell.wait()
                self._readers += 1
        self._mine.depth = depth + 1
        try:
            yield
        finally:
            self._mine.depth = depth
            if depth == 0:
                with self._lock:
                    self._readers -= 1
                    if self._waiting and not self._readers:
                        self._bell.notify_all()

    @contextmanager
    def changing(self) -> Iterator[None]:
        if self.mine:
            raise RuntimeError("whoever reads an arena cannot change it")
        with self._bell:
            self._waiting += 1
            while self._changing or self._readers:
                self._bell.wait()
            self._waiting -= 1
            self._changing = True
        try:
            yield
        finally:
            with self._bell:
                self._changing = False
                self._bell.notify_all()
