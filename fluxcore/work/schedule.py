"""Schedule of recurring jobs: each package declares what to enqueue and how often.

The sweep checks it once a minute. A row per recurring job is changed in the same transaction in which its jobs are
enqueued, on condition that it is unchanged: of several workers or machines, one enqueues them.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import F

from fluxcore import clock
from fluxcore.db_errors import error_place
from fluxcore.models import ScheduleState
from fluxcore.writes import booth

log = logging.getLogger(__name__)

# The sweep is not exact to the second, so a recurring job that is due within half a minute is enqueued now.
SLACK_SECONDS = 30.0


@dataclass(frozen=True)
class Recurring:
    """A recurring job: `ask` runs inside a write and enqueues jobs; `seconds` may read config.yaml each time."""

    name: str
    seconds: Callable[[], float]
    ask: Callable[[], object]


_recurring: dict[str, Recurring] = {}


def every(name: str, seconds: float | Callable[[], float], ask: Callable[[], object]) -> None:
    """Declare a recurring job with its period in seconds; 0: never. Packages call this in their `jobs.py`.

    `every("grains.decay", lambda: config.current().CLEANUP_INTERVAL_HOURS * 3600, ask_to_decay)`
    """
    fixed = float(seconds) if isinstance(seconds, int | float) else None
    period: Callable[[], float] = (lambda: fixed) if fixed is not None else seconds  # type: ignore[assignment]
    _recurring[name] = Recurring(name, period, ask)


def recurring() -> list[Recurring]:
    return [_recurring[name] for name in sorted(_recurring)]


def due(job: Recurring, last: datetime | None, now: datetime) -> bool:
    """Whether a recurring job is due. A last time one period in the future (a clock set back) counts as due."""
    period = job.seconds()
    if period <= 0:
        return False
    return last is None or abs((now - last).total_seconds()) >= max(period - SLACK_SECONDS, 0.0)


def ask_for_what_is_due() -> list[str]:
    """Enqueue all recurring jobs that are due, each in its own transaction; returns their names."""
    states = {state.name: state for state in ScheduleState.objects.all()}
    asked = []
    for job in recurring():
        state = states.get(job.name)
        try:
            if due(job, state.asked_at if state else None, clock.now()) and booth.write(_asking(job, state)):
                asked.append(job.name)
        except Exception as error:
            # A failing job must not keep the others from being scheduled; it is tried again in a minute.
            log.warning("%s could not be scheduled: %s", job.name, error_place(error))
    return asked


def _asking(job: Recurring, seen: ScheduleState | None) -> Callable[[], bool]:
    """A write that enqueues the job unless another worker has done it."""

    def ask_once() -> bool:
        now = clock.now()
        if seen is None:
            _, won = ScheduleState.objects.get_or_create(name=job.name, defaults={"asked_at": now, "count": 1})
        else:
            unchanged = ScheduleState.objects.filter(name=job.name, count=seen.count)
            won = bool(unchanged.update(asked_at=now, count=F("count") + 1))
        if won:
            job.ask()
        return won

    return ask_once


def overview() -> list[dict[str, Any]]:
    """Every recurring job with its period, how often and when it was scheduled, and whether it is due."""
    states = {state.name: state for state in ScheduleState.objects.all()}
    found = []
    for job in recurring():
        state, period = states.get(job.name), job.seconds()
        found.append(
            {
                "name": job.name,
                "seconds": period,
                "count": state.count if state else 0,
                "asked_at": clock.rfc3339(state.asked_at) if state else None,
                "due": due(job, state.asked_at if state else None, clock.now()),
            }
        )
    return found
