"""Event log: `append` adds events inside a write, `follow` reads them in order."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from django.db import connection

from fluxcore import clock
from fluxcore.canonical_json import dumps
from fluxcore.errors import Invalid
from fluxcore.models import Event
from fluxcore.raw_sql import adapt_moment
from fluxcore.writes import booth


class Position(NamedTuple):
    """A position in the event log. Opaque to callers; on SQLite the transaction part is always 0."""

    xid: int = 0
    id: int = 0

    def __str__(self) -> str:
        return f"{self.xid}.{self.id}"

    @classmethod
    def parse(cls, text: str) -> Position:
        first, dot, second = text.partition(".")
        if not (dot and text.isascii() and first.isdecimal() and second.isdecimal() and len(text) <= 40):
            raise Invalid("That is not a position of the event log.", field="since")
        position = cls(int(first), int(second))
        if max(position) >= 2**63:
            raise Invalid("That is not a position of the event log.", field="since")
        return position


@dataclass(frozen=True)
class LoggedEvent:
    """One event with its position in the log."""

    position: Position
    space: int | None
    kind: str
    at: datetime
    actor: str
    subject: str
    data: dict[str, Any]
    packed: bytes | None


def append(
    kind: str,
    *,
    space: int | None,
    actor: str,
    subject: str,
    data: dict[str, Any] | None = None,
    packed: bytes | None = None,
) -> None:
    """Add an event to the outbox of the running write. `data` is a public summary: never memory text."""
    outbox = booth.outbox()
    outbox.add("event", (space, kind, clock.now(), actor, subject, data or {}, packed))
    if _announce is not None:
        outbox.after_commit(_announce)


_announce: Callable[[], None] | None = None


def announce_with(announce: Callable[[], None] | None) -> None:
    """Set the function that announces commits with events (`fluxsite/announcements.py`). It must not block."""
    global _announce
    _announce = announce


def write(rows: Iterable[tuple[Any, ...]]) -> None:
    """Batch writer of events: one statement for all events of a batch."""
    xid = "pg_current_xact_id()::text::bigint" if connection.vendor == "postgresql" else "0"
    with connection.cursor() as cursor:
        cursor.executemany(
            f"INSERT INTO {Event._meta.db_table} (xid, space, kind, at, actor, subject, data, packed) "  # noqa: S608
            f"VALUES ({xid}, %s, %s, %s, %s, %s, %s, %s)",
            [
                (space, kind, adapt_moment(at), actor, subject, dumps(data), packed)
                for space, kind, at, actor, subject, data, packed in rows
            ],
        )


# On PostgreSQL a sequence number is assigned before the commit, so a reader of `id > last` would skip a row that
# commits late with a low number. All transactions below the oldest running one are finished: read up to there, in the
# order of (transaction, id), the log only grows at its end.
_BELOW_WATERMARK = " AND xid < pg_snapshot_xmin(pg_current_snapshot())::text::bigint"


def follow(after: Position, *, space: int | None = None, limit: int = 500) -> tuple[list[LoggedEvent], Position]:
    """The events after a position, in an order all followers share, and the position to continue from."""
    if connection.vendor == "sqlite":
        # This condition uses the index; a comparison of pairs would read the whole log.
        where, values = "xid = 0 AND id > %s", [after.id]
    else:
        where, values = "(xid, id) > (%s, %s)", [after.xid, after.id]
    if space is not None:
        where, values = f"space = %s AND {where}", [space, *values]
    if connection.vendor == "postgresql":
        where += _BELOW_WATERMARK
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT xid, id, space, kind, at, actor, subject, data, packed "  # noqa: S608
            f"FROM {Event._meta.db_table} WHERE {where} ORDER BY xid, id LIMIT %s",
            [*values, limit],
        )
        rows = cursor.fetchall()
    changes = [_logged_event(row) for row in rows]
    return changes, changes[-1].position if changes else after


def head() -> Position:
    """The newest position a follower could reach now."""
    where = "WHERE TRUE" + _BELOW_WATERMARK if connection.vendor == "postgresql" else ""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT xid, id FROM {Event._meta.db_table} {where} ORDER BY xid DESC, id DESC LIMIT 1")  # noqa: S608
        row = cursor.fetchone()
    return Position(*row) if row else Position()


def _logged_event(row: tuple[Any, ...]) -> LoggedEvent:
    xid, number, space, kind, at, actor, subject, data, packed = row
    moment = clock.parse(clock.rfc3339(at) or "")
    return LoggedEvent(
        Position(xid, number),
        space,
        kind,
        moment,
        actor,
        subject,
        json.loads(data) if isinstance(data, str) else data,
        bytes(packed) if packed is not None else None,
    )
