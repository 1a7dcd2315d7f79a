"""Read-write lock of an arena: many readers, or one writer."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class ReadWriteLock:
    """A recall reads for a few milliseconds, a writer takes less.

    A writer changes arrays in place that a recall reads several times, so a reader must not see half a change; copying
    arrays for each reader would cost more than waiting. A waiting writer goes before new readers, so that a stream of
    readers cannot block it. A thread that is reading may read again (reentrant).
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()  # lock of the condition: taken directly where no waiting or notifying is needed
        self._condition = threading.Condition(self._lock)
        self._readers = 0
        self._waiting = 0
        self._changing = False
        self._thread = threading.local()

    @property
    def mine(self) -> bool:
        """Whether this thread is reading."""
        return getattr(self._thread, "depth", 0) > 0

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Context of a reader."""
        depth = getattr(self._thread, "depth", 0)
        if depth == 0:
            with self._lock:
                while self._changing or self._waiting:
                    self._condition.wait()
                self._readers += 1
        self._thread.depth = depth + 1
        try:
            yield
        finally:
            self._thread.depth = depth
            if depth == 0:
                with self._lock:
                    self._readers -= 1
                    if self._waiting and not self._readers:
                        self._condition.notify_all()

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Context of the writer."""
        if self.mine:
            raise RuntimeError("a thread that reads an arena cannot change it")
        with self._condition:
            self._waiting += 1
            while self._changing or self._readers:
                self._condition.wait()
            self._waiting -= 1
            self._changing = True
        try:
            yield
        finally:
            with self._condition:
                self._changing = False
                self._condition.notify_all()
