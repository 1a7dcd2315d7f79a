"""The only Celery tasks: the bell and the minute."""

from __future__ import annotations

import time

from celery import shared_task

from fluxcore import clock, jobs
from fluxcore.sweep import sweep

# A bell set further ahead than this is the minute sweep's business.
AHEAD_SECONDS = 55.0


@shared_task(name="fluxcore.bell", ignore_result=True)
def bell() -> None:
    jobs.drain()
    _ring_again()


@shared_task(name="fluxcore.minute", ignore_result=True)
def minute() -> None:
    sweep()
    _ring_again()


_set_for = 0.0  # monotonic time of the bell this process has already set


def _ring_again() -> None:
    """Jobs that back off or hang on a dead worker's lease come due soon: ring for them then, once."""
    global _set_for
    due = jobs.next_due()
    if due is None:
        return
    seconds = max((due - clock.now()).total_seconds(), 0.2)
    now = time.monotonic()
    if seconds > AHEAD_SECONDS or now < _set_for <= now + seconds + 0.5:
        return
    _set_for = now + seconds
    bell.apply_async(countdown=seconds, expires=seconds + 60)
