"""What happens once a minute: short-lived rows are deleted, recurring jobs are asked for, lost work is found."""

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

Housekeeping = Callable[[], object] | str  # or its dotted path, for what is loaded when it first runs

# Rooms add their own in their `jobs.py` or `apps.ready`.
_housekeeping: list[Housekeeping] = [uptime.count_minute]
# Not while the clock is doubted: one that is set ahead for a moment must not make everything old.
_forgetting: list[Housekeeping] = [idempotency.forget_old, limits.forget_old, jobs.forget_old]


def every_minute(function: Housekeeping) -> None:
    if function not in _housekeeping:
        _housekeeping.append(function)


def sweep() -> None:
    """Everything but running the jobs that are ready: the caller sees to those."""
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
    """Where no message would reach a worker: sweep, then run what is ready; the number of jobs run."""
    sweep()
    return worker.drain(only, seconds=seconds)


def _run(function: Housekeeping, *, unless_doubted: bool = False) -> None:
    try:
        if unless_doubted and uptime.now().doubt:
            return
        booth.write(import_string(function) if isinstance(function, str) else function)
    except Exception as error:
        # One that fails must not keep the others, nor the jobs, from their minute.
        name = function if isinstance(function, str) else f"{function.__module__}.{function.__qualname__}"
        log.warning("housekeeping %s failed: %s", name, type(error).__name__)


def _ask() -> None:
    try:
        schedule.ask_for_what_is_due()
    except DatabaseError as error:
        log.warning("nothing could be asked for: %s", type(error).__name__)


def _try_undeclared() -> None:
    """A kind that no task of this release claims: its tries fail by name and it is parked, for somebody to see."""
    ready = Job.objects.filter(jobs.ready(clock.now())).order_by().values_list("kind", flat=True).distinct()
    undeclared = [stored for stored in ready if kinds.find(stored) is None]
    if undeclared:
        worker.drain(undeclared)


_last = time.monotonic()


def overdue(seconds: float) -> bool:
    """Whether this process has not swept for so long: the broker that carries the message may be away."""
    return time.monotonic() - _last > seconds
