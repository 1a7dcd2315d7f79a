"""Work that comes round: each room says what it wants asked for and how often, and one process asks each time.

The minute looks at it. Whose turn it is decides a row that is changed only by whoever saw it last, in the same
commit as the jobs that are asked for: two workers, or two machines, ask once.
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

# The minute does not come to the second; what is due within half of one is asked for now.
SLACK_SECONDS = 30.0


@dataclass(frozen=True)
class Chore:
    """`ask` runs inside a write and puts jobs on it; `seconds` may be looked up anew each time (config.yaml)."""

    name: str
    seconds: Callable[[], float]
    ask: Callable[[], object]


_chores: dict[str, Chore] = {}


def every(name: str, seconds: float | Callable[[], float], ask: Callable[[], object]) -> None:
    """Have something asked for every so many seconds; 0 for never. Rooms call this in their `apps.ready`.

    `every("grains.tidy", lambda: config.current().CLEANUP_INTERVAL_HOURS * 3600, ask_for_tidying)`
    """
    fixed = float(seconds) if isinstance(seconds, int | float) else None
    period: Callable[[], float] = (lambda: fixed) if fixed is not None else seconds  # type: ignore[assignment]
    _chores[name] = Chore(name, period, ask)


def chores() -> list[Chore]:
    return [_chores[name] for name in sorted(_chores)]


def due(chore: Chore, last: datetime | None, now: datetime) -> bool:
    """A last time that lies a whole period ahead is a clock that was set back: it must not silence the chore."""
    period = chore.seconds()
    if period <= 0:
        return False
    return last is None or abs((now - last).total_seconds()) >= max(period - SLACK_SECONDS, 0.0)


def ask_for_what_is_due() -> list[str]:
    """Ask for everything whose time has come; the names of what was asked for. Each is a commit of its own."""
    turns = {turn.name: turn for turn in ScheduleState.objects.all()}
    asked = []
    for chore in chores():
        turn = turns.get(chore.name)
        try:
            if due(chore, turn.asked_at if turn else None, clock.now()) and booth.write(_turn(chore, turn)):
                asked.append(chore.name)
        except Exception as error:
            # One that fails must not keep the others from their turn; it is tried again in a minute.
            log.warning("%s could not be asked for: %s", chore.name, error_place(error))
    return asked


def _turn(chore: Chore, seen: ScheduleState | None) -> Callable[[], bool]:
    def take() -> bool:
        now = clock.now()
        if seen is None:
            _, mine = ScheduleState.objects.get_or_create(name=chore.name, defaults={"asked_at": now, "count": 1})
        else:
            mine = bool(
                ScheduleState.objects.filter(name=chore.name, count=seen.count).update(
                    asked_at=now, count=F("count") + 1
                )
            )
        if mine:
            chore.ask()
        return mine

    return take


def overview() -> list[dict[str, Any]]:
    """Every chore with its period, how often it was asked for and when it is next."""
    turns = {turn.name: turn for turn in ScheduleState.objects.all()}
    found = []
    for chore in chores():
        turn, period = turns.get(chore.name), chore.seconds()
        found.append(
            {
                "name": chore.name,
                "seconds": period,
                "count": turn.count if turn else 0,
                "asked_at": clock.rfc3339(turn.asked_at) if turn else None,
                "due": due(chore, turn.asked_at if turn else None, clock.now()),
            }
        )
    return found
