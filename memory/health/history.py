"""History of a space's signals: lines for charts, weekly hit rates, warnings. Aggregated in the database."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from django.db import connection

from accounts.principals import Principal
from accounts.verbs import selector
from fluxcore import clock
from fluxcore.errors import Invalid
from memory.health.event_sums import ALL_TIME_HOUR, hour_of
from memory.health.models import HourlySum, Reading, Warning

_READINGS, _TALLIES = Reading._meta.db_table, HourlySum._meta.db_table
# By name of a time range: its hours, and the seconds of one point.
RANGES = {"day": (24, 900), "week": (168, 3600), "month": (720, 6 * 3600)}
WEEKS = 12
MOST_WARNINGS = 30
_POINTS = (
    "SELECT signal, at / {step}, AVG(value), MIN(low), MAX(high) "  # noqa: S608
    f"FROM {_READINGS} WHERE space_id = %s AND at >= %s GROUP BY 1, 2 ORDER BY 1, 2"
)
_BY_WEEK = (
    f"SELECT (hour + 72) / 168, name, SUM(value) FROM {_TALLIES} "  # noqa: S608  1970 began on a Thursday
    f"WHERE space_id = %s AND who = '' AND hour > {ALL_TIME_HOUR} AND hour >= %s AND name IN ('judged', 'hits') "
    "GROUP BY (hour + 72) / 168, name ORDER BY 1"
)


@dataclass(frozen=True)
class SignalLine:
    """One signal over time: seconds, values, and the healthy range at each."""

    at: list[int]
    value: list[float | None]
    low: list[float | None]
    high: list[float | None]


@selector("health.timeline", needs="health.read")
def timeline(principal: Principal, *, over: str = "day") -> dict[str, SignalLine]:
    """Every signal over a day, a week or a month, with a limited number of points."""
    if over not in RANGES:
        raise Invalid(f"range must be one of {', '.join(RANGES)}.", field="range")
    hours, step = RANGES[over]
    since = int(clock.now().timestamp()) - hours * 3600
    found: dict[str, SignalLine] = defaultdict(lambda: SignalLine([], [], [], []))
    with connection.cursor() as cursor:
        cursor.execute(_POINTS.format(step=step), [principal.space, since])
        for signal, at, value, low, high in cursor.fetchall():
            line = found[signal]
            line.at.append(at * step)
            line.value.append(value)
            line.low.append(low)
            line.high.append(high)
    return dict(found)


def recent_values(principal: Principal, *, points: int) -> dict[str, list[float | None]]:
    """The last values of each signal, for a terminal."""
    return {name: line.value[-points:] for name, line in timeline(principal, over="day").items()}


@selector("health.weeks", needs="health.read")
def weekly_hit_rates(principal: Principal) -> list[dict[str, Any]]:
    """Hit rate by week, oldest first: share of judged recalls with a useful result."""
    found: dict[int, dict[str, float]] = defaultdict(dict)
    with connection.cursor() as cursor:
        cursor.execute(_BY_WEEK, [principal.space, hour_of(clock.now().timestamp()) - WEEKS * 168])
        for week, name, value in cursor.fetchall():
            found[week][name] = value
    return [
        {
            "week": datetime.fromtimestamp((week * 168 - 72) * 3600, UTC).date(),
            "judged": int(sums["judged"]),
            "rate": sums.get("hits", 0.0) / sums["judged"],
        }
        for week, sums in found.items()
        if sums.get("judged", 0) >= 1
    ][-WEEKS:]


@selector("health.warnings", needs="health.read")
def warnings(principal: Principal) -> list[Warning]:
    """The newest warnings of a space, open ones first."""
    newest = Warning.objects.filter(space=principal.space or 0).order_by("-id")[:MOST_WARNINGS]
    return sorted(newest, key=lambda row: (row.cleared_at is not None, -row.pk))
