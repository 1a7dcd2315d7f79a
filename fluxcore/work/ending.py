"""The end of a process that runs jobs: the job it is running is finished, and no other begins."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

_changed = threading.Condition()  # guards the two below
_running = 0
_ending = False


@contextmanager
def one_more() -> Iterator[bool]:
    """Work that the end of the process waits for; False if it is too late to begin any."""
    global _running
    with _changed:
        allowed = not _ending
        _running += allowed
    try:
        yield allowed
    finally:
        with _changed:
            _running -= allowed
            _changed.notify_all()


def finish_and_begin_no_more(seconds: float | None = None) -> None:
    """This process is about to end: wait for the running jobs and leave the rest to the next worker."""
    global _ending
    with _changed:
        _ending = True
        _changed.wait_for(lambda: _running == 0, seconds)


def is_ending() -> bool:
    """Whether the process is about to end: work that waits for somebody else gives up then."""
    return _ending
