"""How long receipts of recalls stay. Apart from the rest: every process starts with this file, and few recall."""

from __future__ import annotations

from datetime import timedelta

from django.db import connection

from fluxcore import clock, config, jobs, lived, rows
from memory.grains import history
from memory.grains.models import Trace

_TABLE = Trace._meta.db_table
SETTLED = timedelta(hours=1)
# Traces let go in one commit, so that a long silence does not end in one huge delete.
_AT_ONCE = 5_000
_FORGET = (
    f"DELETE FROM {_TABLE} WHERE id IN (SELECT id FROM {_TABLE} WHERE space_id = %s AND (at < %s OR at < %s "  # noqa: S608
    f"AND id <= COALESCE((SELECT id FROM {_TABLE} WHERE space_id = %s ORDER BY id DESC LIMIT 1 OFFSET %s), 0)) "
    "ORDER BY id LIMIT %s)"
)


def forget(run: jobs.Run) -> None:
    """The change of `grains.forget_traces`. A clock that jumped is not reason enough."""
    doubt = lived.now().doubt
    forgotten = 0 if doubt else forget_old()
    if doubt or forgotten:
        run.say(doubt or f"{forgotten} traces were let go.")
    if forgotten >= _AT_ONCE:
        jobs.enqueue(run.kind, once_key="instance")


def forget_old() -> int:
    """Old traces go, and of a space that recalls a lot only the newest stay.

    The last hour always stays: somebody may still be about to say what was useful.
    """
    now, settings = clock.now(), config.current()
    old = rows.adapt_moment(now - timedelta(days=settings.TRACE_RETENTION_DAYS))
    settled = rows.adapt_moment(now - SETTLED)
    forgotten = 0
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT DISTINCT space_id FROM {_TABLE}")  # noqa: S608
        for (space,) in cursor.fetchall():
            cursor.execute(_FORGET, [space, old, settled, space, settings.TRACE_RETENTION_COUNT, _AT_ONCE])
            forgotten += cursor.rowcount
            history.forget(space)
    return forgotten
