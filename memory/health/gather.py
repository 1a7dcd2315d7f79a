"""The job `health.gather`: follows the event log from where it stopped, adds to the sums, asks for measurements.

Sums and position in the log are one commit, and the position is only updated from the value that was read: every part
of the log is counted once, however often and by however many workers it is tried.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from django.db.models import F, QuerySet

from accounts.models import Space
from fluxcore import clock, events, raw_sql
from fluxcore.errors import Conflict
from fluxcore.events import Position
from fluxcore.work.run import Apply, Run
from memory.health import jobs, judged_questions
from memory.health.event_sums import ALL_TIME_HOUR, EventSums, Key, hour_of
from memory.health.models import CountedQuestion, HourlySum, LogPosition, Reading, SpaceHealth
from memory.health.signals import MONTH

PAGE = 500
MOST = 20_000  # events of one run; if there are more, the next run begins at once
SPACES = 200  # spaces measured per run, those measured longest ago first
_ONE = 1
_TALLY = ("space", "who", "hour", "name", "value")
_OR_ADD = (
    "ON CONFLICT (space_id, who, hour, name) "
    f"DO UPDATE SET value = {HourlySum._meta.db_table}.value + excluded.value RETURNING id"
)
_TOGETHER = 1_000
_FORGET_AT_ONCE = 5_000
# Retention in hours: sums of callers, sums of a space, sums for weekly figures, readings.
KEEP_CALLERS, KEEP_SUMS, KEEP_WEEKS = 48, MONTH + 48, 24 * 400
KEEP_FINE, KEEP_HOURLY = 48, MONTH + 24
WEEKLY = ("judged", "hits")


def gather(run: Run) -> Apply:
    """The handler of `health.gather`."""
    begin = counted_position()
    sheet, end, count = EventSums(), begin, 0
    while count < MOST:
        found, after = events.follow(end, limit=PAGE)
        sheet.take(found)
        count, end = count + len(found), after
        if len(found) < PAGE:
            break

    def apply() -> None:
        _move(begin, end)
        judged_questions.add_changed_votes(sheet)
        add_sums(sheet.sums.items())
        SpaceHealth.objects.filter(space__in=sheet.moved).update(moved=F("moved") + 1)
        run.say(
            f"{count} events, {len(sheet.sums)} sums, {sum(map(len, sheet.judged.values()))} questions with feedback."
        )
        if count >= MOST:
            jobs.ask_to_gather()
            return
        for space in _due():
            jobs.ask_to_measure(space)
        delete_old_sums(clock.now())

    return apply


def counted_position() -> Position:
    """Position up to which the log was counted; at first the begin of the log."""
    row = LogPosition.objects.filter(pk=_ONE).first()
    return Position(row.xid, row.event) if row else Position()


def _move(begin: Position, end: Position) -> None:
    """Advance the position, only from the value that was read."""
    LogPosition.objects.get_or_create(pk=_ONE, defaults={"xid": 0, "event": 0})
    if not LogPosition.objects.filter(pk=_ONE, xid=begin.xid, event=begin.id).update(xid=end.xid, event=end.id):
        raise Conflict("These events were counted by another process meanwhile.")


def add_sums(sums: Iterable[tuple[Key, float]]) -> None:
    values = [(*key, value) for key, value in sorted(sums) if value]
    for begin in range(0, len(values), _TOGETHER):
        raw_sql.upsert(HourlySum, _TALLY, values[begin : begin + _TOGETHER], _OR_ADD)


def _due() -> list[int]:
    """Spaces that were measured longest ago, or never."""
    known = dict(SpaceHealth.objects.order_by("measured_at").values_list("space_id", "measured_at"))
    spaces = list(Space.objects.order_by("pk").values_list("pk", flat=True))
    waiting: list[tuple[bool, datetime | None, int]] = [
        (known.get(space) is not None, known.get(space) or clock.now(), space) for space in spaces
    ]
    return [space for *_, space in sorted(waiting)[:SPACES]]


def delete_old_sums(now: datetime) -> None:
    """Delete rows older than every window, a limited number at a time."""
    hour = hour_of(now.timestamp())
    old = HourlySum.objects.exclude(hour=ALL_TIME_HOUR)
    _delete(old.filter(hour__lt=hour - KEEP_CALLERS).exclude(who=""))
    _delete(old.filter(hour__lt=hour - KEEP_SUMS, who="").exclude(name__in=WEEKLY))
    _delete(old.filter(hour__lt=hour - KEEP_WEEKS, who=""))
    _delete(CountedQuestion.objects.filter(hour__lt=hour - KEEP_WEEKS))
    _delete(Reading.objects.filter(hourly=False, at__lt=int((now - timedelta(hours=KEEP_FINE)).timestamp())))
    _delete(Reading.objects.filter(hourly=True, at__lt=int((now - timedelta(hours=KEEP_HOURLY)).timestamp())))


def _delete(some: QuerySet[Any]) -> None:
    found = list(some.values_list("pk", flat=True)[:_FORGET_AT_ONCE])
    if found:
        some.model._default_manager.filter(pk__in=found).delete()
