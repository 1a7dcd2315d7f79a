"""The log as arenas follow it: nothing is missed, and nothing waits for a transaction that is still open.

`events.follow` ends below the oldest transaction that still runs, because a follower that passes an event
on must do so once and in order. An arena need not wait for that: its changes may come in any order that
keeps those of one row apart, and twice. So it also takes what is committed above that line, remembers that
it did, and keeps its place below the line, where late ones will still be found.

Only events that carry a change are read. The others (recalls above all) have an index of their own to be absent
from: an arena does no work for them, and its place stays at the last change.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from fluxcore import raw_sql
from fluxcore.events import Position
from fluxcore.models import Event

_OLDEST_RUNNING = "pg_snapshot_xmin(pg_current_snapshot())::text::bigint"
_FOLLOW = {
    vendor: f"SELECT xid, id, packed, {settled} FROM {Event._meta.db_table} "  # noqa: S608
    f"WHERE space = %s AND {where} AND packed IS NOT NULL ORDER BY xid, id LIMIT "
    for vendor, settled, where in (
        ("postgresql", f"xid < {_OLDEST_RUNNING}", "(xid, id) > (%s, %s)"),
        # Its planner would use an index for the first column of a pair alone and read the whole log of the space.
        ("sqlite", "TRUE", "xid = 0 AND id > %s"),
    )
}


class LogChange(NamedTuple):
    """What one event tells arenas."""

    position: Position
    packed: bytes
    settled: bool  # False: an event may still appear before this one


def read_changes(space: int, after: Position, limit: int) -> list[LogChange]:
    """Changes of a space after a position, committed ones above the oldest open transaction included."""
    vendor = raw_sql.vendor()
    # The limit stands in the text: SQLite plans a statement anew each time one is put in its place.
    place = [after.id] if vendor == "sqlite" else [after.xid, after.id]
    return [
        LogChange(Position(xid, number), bytes(packed), bool(done))
        for xid, number, packed, done in raw_sql.read(f"{_FOLLOW[vendor]}{limit:d}", [space, *place])
    ]


def settled_position(found: Sequence[LogChange], after: Position) -> Position:
    """Where to go on from: the last event before which none can appear any more."""
    return max((told.position for told in found if told.settled), default=after)
