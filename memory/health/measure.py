"""The job `health.measure`: computes the signals of a space from its sums, and updates its warnings.

It reads a limited number of rows, whatever the history of the space: sums by the hour, and a part of the graph.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db import connection

from accounts.models import Space
from fluxcore import clock, events, raw_sql
from fluxcore.errors import Conflict
from fluxcore.work.run import Apply, Run
from memory.health import alerts, incremental_counts, warning_rules
from memory.health.event_sums import ALL_TIME_HOUR, hour_of
from memory.health.models import HourlySum, SpaceHealth, Warning
from memory.health.models import Reading as Kept
from memory.health.signals import DAY, MONTH, SETTLED, SIGNALS, WEEK, SignalCounts
from memory.health.signals import SignalReading as Read
from memory.health.warning_rules import SignalStatus

FIRST_STRETCHES = 10  # parts of the first count of a space, so that a large one has its totals soon
REPLAY_DAYS = 30  # age up to which the result of a replay is used
_TALLIES = HourlySum._meta.db_table
# By window: begin and end, in hours before now.
_WINDOWS = {DAY: (DAY, 0), WEEK: (WEEK, 0), MONTH: (MONTH, 0), SETTLED: (DAY, 1)}
_BETWEEN = "SUM(CASE WHEN hour > %s AND hour <= %s THEN value ELSE 0 END)"
_SUMS = (
    f"SELECT name, {', '.join([_BETWEEN] * len(_WINDOWS))} "  # noqa: S608
    f"FROM {_TALLIES} WHERE space_id = %s AND who = '' AND hour > %s GROUP BY name"
)
_EVER = f"SELECT name, value FROM {_TALLIES} WHERE space_id = %s AND who = '' AND hour = {ALL_TIME_HOUR}"  # noqa: S608
_CALLERS = (
    f"SELECT who, name, SUM(value) FROM {_TALLIES} "  # noqa: S608
    "WHERE space_id = %s AND hour > %s AND NOT (who = '') GROUP BY who, name"
)
_TOLD = {
    warning_rules.RAISED: "warning.raised",
    warning_rules.RERAISED: "warning.raised_again",
    warning_rules.CLEARED: "warning.cleared",
}
_READING = ("space", "at", "signal", "value", "low", "high", "state", "hourly")


def measure(run: Run) -> Apply | None:
    """The handler of `health.measure`."""
    space = Space.objects.filter(pk=run.space or 0).first()
    if space is None:
        return None
    now = clock.now()
    earlier = SpaceHealth.objects.filter(space=space.pk).first() or SpaceHealth(space=space)
    levels, walk, counted = _levels(earlier)
    readings = [signal.read(signal_counts(space, levels, earlier.replay, now)) for signal in SIGNALS]
    coarse = earlier.measured_at is None or hour_of(earlier.measured_at.timestamp()) != hour_of(now.timestamp())

    def apply() -> None:
        kept, _ = SpaceHealth.objects.get_or_create(space=space)
        if kept.beat != earlier.beat:
            raise Conflict("This space was measured by another process meanwhile.")
        kept.signals = {one.signal.name: _note(space.pk, kept, one, now).kept() for one in readings}
        _write(space.pk, readings, now, coarse)
        kept.beat, kept.measured_at = kept.beat + 1, now
        kept.levels, kept.walk, kept.counted = levels, walk, counted
        kept.status = space_status(space.pk)
        # Without `moved` and `replay`, which other jobs write.
        kept.save(update_fields=["beat", "measured_at", "signals", "levels", "walk", "counted", "status"])
        run.say(f"{space.name}: {kept.status}.")

    return apply


def _levels(earlier: SpaceHealth) -> tuple[dict[str, Any], dict[str, Any], int]:
    """Totals of the last complete count, state of the running one, and value of `moved` when the last one began."""
    walk, levels, counted = dict(earlier.walk), dict(earlier.levels), earlier.counted
    for _ in range(1 if levels else FIRST_STRETCHES):
        if not walk and counted == earlier.moved:
            break  # no change since the last complete count
        began = walk.setdefault("moved", earlier.moved)
        walk, found = incremental_counts.count_next_stretch(earlier.space_id, walk)
        if found is None:
            walk["moved"] = began
        else:
            levels, counted = found, began
            break
    return levels, walk, counted


def signal_counts(space: Space, levels: Mapping[str, float], replay: Mapping[str, Any], now: datetime) -> SignalCounts:
    """Input of all signals of a space, read in three statements."""
    hour = hour_of(now.timestamp())
    bounds = [hour - back for window in _WINDOWS.values() for back in window]
    with connection.cursor() as cursor:
        cursor.execute(_SUMS, [*bounds, space.pk, min(bounds)])
        sums = cursor.fetchall()
        cursor.execute(_EVER, [space.pk])
        ever = dict(cursor.fetchall())
    gain, at = replay.get("gain"), replay.get("at", 0)
    return SignalCounts(
        sums={hours: {row[0]: row[place + 1] for row in sums} for place, hours in enumerate(_WINDOWS)},
        levels=levels,
        callers=caller_counts(space.pk, now),
        recalls=ever.get("recalls", 0.0),
        judged=ever.get("judged", 0.0),
        days=(now - space.created_at).total_seconds() / 86_400,
        gain=gain if now.timestamp() - at < REPLAY_DAYS * 86_400 else None,
    )


def caller_counts(space: int, now: datetime) -> dict[str, dict[str, float]]:
    """Sums of each caller over the last day."""
    found: dict[str, dict[str, float]] = defaultdict(dict)
    with connection.cursor() as cursor:
        cursor.execute(_CALLERS, [space, hour_of(now.timestamp()) - DAY])
        for who, name, value in cursor.fetchall():
            found[who][name] = value
    return dict(found)


def space_status(space: int) -> str:
    found = Warning.objects.filter(space=space, cleared_at=None).values_list("severity", "acknowledged_at")
    return warning_rules.overall_status([(severity, known is not None) for severity, known in found])


def _note(space: int, kept: SpaceHealth, reading: Read, now: datetime) -> SignalStatus:
    """Process one reading: raise, keep or clear the warning of the signal, with event and alert."""
    signal = reading.signal
    held, what = warning_rules.next_status(SignalStatus.of(kept.signals.get(signal.name, {})), reading)
    current = Warning.objects.filter(space=space, signal=signal.name, cleared_at=None)
    if what in (warning_rules.RAISED, warning_rules.RERAISED):
        fields = {
            "severity": held.severity,
            "value": reading.value,
            "low": reading.low,
            "high": reading.high,
            "seen_at": now,
        }
        if not current.update(**fields, acknowledged_at=None, acknowledged_by=""):
            Warning.objects.create(space_id=space, signal=signal.name, times=held.times, raised_at=now, **fields)
        held = alerts.request_alert(space, reading, held, what, now)
    elif what == warning_rules.ONGOING and reading.state.bad:
        current.update(value=reading.value, seen_at=now)
    elif what == warning_rules.CLEARED:
        current.update(cleared_at=now)
    if what in _TOLD:
        data = {"signal": signal.name, "severity": held.severity or reading.severity, "value": reading.value}
        events.append(_TOLD[what], space=space, actor="worker", subject=signal.name, data=data)
    return held


def _write(space: int, readings: list[Read], now: datetime, coarse: bool) -> None:
    at = int(now.timestamp())
    raw_sql.upsert(
        Kept,
        _READING,
        [(space, at, one.signal.name, one.value, one.low, one.high, one.state.value, coarse) for one in readings],
        "ON CONFLICT (space_id, at, signal) DO NOTHING RETURNING id",
    )
