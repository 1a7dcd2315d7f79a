"""Reader of the event log for arenas: misses no change and does not wait for open transactions.

`events.follow` ends below the oldest running transaction (the watermark), because a follower that passes events on must
do so once and in order. An arena need not wait for that: it may apply changes twice, and in any order that keeps those
of one row in sequence. So it also reads committed changes above the watermark, remembers which, and keeps its position
below the watermark, where late changes are still found.

Only events with a change (`packed`) are read, through a partial index. Other events, mostly recalls, cost an arena no
work, and its position stays at the last change.
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
        # For a comparison of pairs SQLite uses only the first column of the index and reads the whole log of the space.
        ("sqlite", "TRUE", "xid = 0 AND id > %s"),
    )
}


class LogChange(NamedTuple):
    """Change of one event, as arenas read it."""

    position: Position
    packed: bytes
    settled: bool  # False: an event may still appear before this one


def read_changes(space: int, after: Position, limit: int) -> list[LogChange]:
    """Changes of a space after a position, committed ones above the oldest open transaction included."""
    vendor = raw_sql.vendor()
    # The limit is part of the text: with a parameter there SQLite plans the statement again each time.
    after_key = [after.id] if vendor == "sqlite" else [after.xid, after.id]
    return [
        LogChange(Position(xid, number), bytes(packed), bool(settled))
        for xid, number, packed, settled in raw_sql.read(f"{_FOLLOW[vendor]}{limit:d}", [space, *after_key])
    ]


def settled_position(changes: Sequence[LogChange], after: Position) -> Position:
    """Position to continue from: the last event before which no other can appear any more."""
    return max((change.position for change in changes if change.settled), default=after)
