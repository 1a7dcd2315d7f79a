"""Retention of traces and of recall events. A separate module, because every process imports it and few recall."""

from __future__ import annotations

from datetime import timedelta

from django.db import connection

from fluxcore import clock, config, raw_sql, uptime
from fluxcore.models import Event
from fluxcore.work.jobs import enqueue
from fluxcore.work.run import Apply, Run
from memory.grains.models import Trace
from memory.recall import grain_recalls

_TABLE = Trace._meta.db_table
SETTLED = timedelta(hours=1)  # younger traces are always kept
# Traces deleted in one commit, so that a long downtime does not end in one huge delete.
_AT_ONCE = 5_000
_DELETE_TRACES = (
    f"DELETE FROM {_TABLE} WHERE id IN (SELECT id FROM {_TABLE} WHERE space_id = %s AND (at < %s OR at < %s "  # noqa: S608
    f"AND id <= COALESCE((SELECT id FROM {_TABLE} WHERE space_id = %s ORDER BY id DESC LIMIT 1 OFFSET %s), 0)) "
    "ORDER BY id LIMIT %s)"
)
# Events of recalls refer to their traces and are deleted with them.
_OLDEST = f"SELECT at FROM {_TABLE} WHERE space_id = %s ORDER BY id LIMIT 1"  # noqa: S608
_EVENTS = Event._meta.db_table
_DELETE_EVENTS = (
    f"DELETE FROM {_EVENTS} WHERE id IN (SELECT id FROM {_EVENTS} WHERE space = %s AND packed IS NULL AND at < %s "  # noqa: S608
    "AND kind = 'grains.recalled' ORDER BY at LIMIT %s)"
)


def forget_traces(run: Run) -> Apply:
    """The job `grains.forget_traces`."""
    return lambda: expire_traces(run)


def expire_traces(run: Run) -> None:
    """The change of `grains.forget_traces`. A clock that jumped is not reason enough."""
    doubt = uptime.now().doubt
    forgotten = 0 if doubt else delete_expired()
    if doubt or forgotten:
        run.say(doubt or f"{forgotten} traces were let go.")
    if forgotten >= _AT_ONCE:
        enqueue(run.kind, once_key="instance")


def delete_expired() -> int:
    """Delete old traces, and in a space with many recalls all but the newest; returns their number.

    Traces of the last hour are always kept, because feedback on them may still arrive.
    """
    now, settings = clock.now(), config.current()
    old = raw_sql.adapt_moment(now - timedelta(days=settings.TRACE_RETENTION_DAYS))
    settled = raw_sql.adapt_moment(now - SETTLED)
    deleted = 0
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT DISTINCT space_id FROM {_TABLE}")  # noqa: S608
        for (space,) in cursor.fetchall():
            cursor.execute(_DELETE_TRACES, [space, old, settled, space, settings.TRACE_RETENTION_COUNT, _AT_ONCE])
            deleted += cursor.rowcount
            grain_recalls.delete_without_trace(space)
            cursor.execute(_OLDEST, [space])
            oldest = cursor.fetchone()
            cursor.execute(_DELETE_EVENTS, [space, oldest[0] if oldest else settled, _AT_ONCE])
    return deleted
