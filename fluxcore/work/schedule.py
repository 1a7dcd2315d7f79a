"""Recurring jobs: each room says what it wants asked for and how often, and one process asks each time.

The sweep looks at it once a minute. Whether it is time decides a row that is changed only by whoever saw it last, in
the same commit as the jobs that are asked for: two workers, or two machines, ask once.
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

# The sweep does not come to the second; what is due within half a minute is asked for now.
SLACK_SECONDS = 30.0


@dataclass(frozen=True)
class Recurring:
    """`ask` runs inside a write and adds jobs to it; `seconds` may be looked up anew each time (config.yaml)."""

    name: str
    seconds: Callable[[], float]
    ask: Callable[[], object]


_recurring: dict[str, Recurring] = {}


def every(name: str, seconds: float | Callable[[], float], ask: Callable[[], object]) -> None:
    """Have something asked for every so many seconds; 0 for never. Rooms call this in their `jobs.py`.

    `every("grains.decay", lambda: config.current().CLEANUP_INTERVAL_HOURS * 3600, ask_to_decay)`
    """
    fixed = float(seconds) if isinstance(seconds, int | float) else None
    period: Callable[[], float] = (lambda: fixed) if fixed is not None else seconds  # type: ignore[assignment]
    _recurring[name] = Recurring(name, period, ask)


def recurring() -> list[Recurring]:
    return [_recurring[name] for name in sorted(_recurring)]


def due(one: Recurring, last: datetime | None, now: datetime) -> bool:
    """A last time that lies a whole period ahead is a clock that was set back: it must not silence the job."""
    period = one.seconds()
    if period <= 0:
        return False
    return last is None or abs((now - last).total_seconds()) >= max(period - SLACK_SECONDS, 0.0)


def ask_for_what_is_due() -> list[str]:
    """Ask for everything whose time has come; the names of what was asked for. Each is a commit of its own."""
    states = {state.name: state for state in ScheduleState.objects.all()}
    asked = []
    for one in recurring():
        state = states.get(one.name)
        try:
            if due(one, state.asked_at if state else None, clock.now()) and booth.write(_asking(one, state)):
                asked.append(one.name)
        except Exception as error:
            # One that fails must not keep the others from being asked for; it is tried again in a minute.
            log.warning("%s could not be asked for: %s", one.name, error_place(error))
    return asked


def _asking(one: Recurring, seen: ScheduleState | None) -> Callable[[], bool]:
    def ask_unless_a_rival_did() -> bool:
        now = clock.now()
        if seen is None:
            _, mine = ScheduleState.objects.get_or_create(name=one.name, defaults={"asked_at": now, "count": 1})
        else:
            unchanged = ScheduleState.objects.filter(name=one.name, count=seen.count)
            mine = bool(unchanged.update(asked_at=now, count=F("count") + 1))
        if mine:
            one.ask()
        return mine

    return ask_unless_a_rival_did


def overview() -> list[dict[str, Any]]:
    """Every recurring job with its period, how often it was asked for and when it is next."""
    states = {state.name: state for state in ScheduleState.objects.all()}
    found = []
    for one in recurring():
        state, period = states.get(one.name), one.seconds()
        found.append(
            {
                "name": one.name,
                "seconds": period,
                "count": state.count if state else 0,
                "asked_at": clock.rfc3339(state.asked_at) if state else None,
                "due": due(one, state.asked_at if state else None, clock.now()),
            }
        )
    return found
