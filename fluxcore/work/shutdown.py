"""Shutdown of a process that runs jobs: running jobs are finished, no other begins."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

_changed = threading.Condition()  # guards _running and _shutting_down
_running = 0
_shutting_down = False


@contextmanager
def work_in_progress() -> Iterator[bool]:
    """Count work that a shutdown waits for; False if the process is shutting down and none may begin."""
    global _running
    with _changed:
        allowed = not _shutting_down
        _running += allowed
    try:
        yield allowed
    finally:
        with _changed:
            _running -= allowed
            _changed.notify_all()


def finish_running_jobs(seconds: float | None = None) -> None:
    """Begin the shutdown: wait for the running jobs and leave the rest to other workers."""
    global _shutting_down
    with _changed:
        _shutting_down = True
        _changed.wait_for(lambda: _running == 0, seconds)


def is_shutting_down() -> bool:
    """Whether the process is shutting down: work that waits for another server gives up then."""
    return _shutting_down
