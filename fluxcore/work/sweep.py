"""Sweep: what runs once a minute. Deletes short-lived rows, enqueues recurring jobs, finds lost jobs."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection

from django.db import DatabaseError
from django.utils.module_loading import import_string

from fluxcore import clock, uptime
from fluxcore.models import Job
from fluxcore.work import jobs, kinds, schedule, shutdown, worker
from fluxcore.writes import booth, idempotency, limits

log = logging.getLogger(__name__)

Housekeeping = Callable[[], object] | str  # or a dotted path, imported when it first runs

# Functions of every sweep. Packages add their own in their `jobs.py` or `apps.ready`.
_housekeeping: list[Housekeeping] = [uptime.count_minute]
# Functions that delete old rows. Skipped after a clock jump, when everything may seem old.
_forgetting: list[Housekeeping] = [idempotency.forget_old, limits.forget_old, jobs.forget_old]


def every_minute(function: Housekeeping) -> None:
    if function not in _housekeeping:
        _housekeeping.append(function)


def sweep() -> None:
    """Do the work of a sweep except running the jobs that are ready, which the caller does."""
    global _last
    _last = time.monotonic()
    with shutdown.work_in_progress() as allowed:
        if not allowed:
            return
        for function in _housekeeping:
            _run(function)
        for function in _forgetting:
            _run(function, unless_doubted=True)
        _ask()
    _try_undeclared()


def sweep_and_run(only: Collection[str] | None = None, *, seconds: float = 30.0) -> int:
    """Sweep, then run ready jobs, for processes without a broker; returns the number of jobs run."""
    sweep()
    return worker.drain(only, seconds=seconds)


def _run(function: Housekeeping, *, unless_doubted: bool = False) -> None:
    try:
        if unless_doubted and uptime.now().doubt:
            return
        booth.write(import_string(function) if isinstance(function, str) else function)
    except Exception as error:
        # A failing function must not keep the others, or the jobs, from running.
        name = function if isinstance(function, str) else f"{function.__module__}.{function.__qualname__}"
        log.warning("housekeeping %s failed: %s", name, type(error).__name__)


def _ask() -> None:
    try:
        schedule.ask_for_what_is_due()
    except DatabaseError as error:
        log.warning("no recurring job could be scheduled: %s", type(error).__name__)


def _try_undeclared() -> None:
    """Run jobs of kinds this release does not declare: their attempts fail, so that they are parked and visible."""
    ready = Job.objects.filter(jobs.ready(clock.now())).order_by().values_list("kind", flat=True).distinct()
    undeclared = [stored for stored in ready if kinds.find(stored) is None]
    if undeclared:
        worker.drain(undeclared)


_last = time.monotonic()


def overdue(seconds: float) -> bool:
    """Whether the last sweep of this process is longer ago: the broker that triggers it may be down."""
    return time.monotonic() - _last > seconds
