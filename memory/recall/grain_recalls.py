"""Recalls that returned a grain, as long as their traces are kept."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import connection

from accounts.authorise import may
from accounts.principals import Principal
from fluxcore import clock, raw_sql
from memory.grains.models import Trace, TraceGrain

MOST = 20
_COLUMNS = ("space", "grain", "trace", "place")
_TABLE, _TRACES = TraceGrain._meta.db_table, Trace._meta.db_table
_LAST = (
    f"SELECT t.id, t.uuid, t.actor, t.at, t.query, t.confidence, r.place FROM {_TABLE} r "  # noqa: S608
    f"JOIN {_TRACES} t ON t.id = r.trace_id WHERE r.space_id = %s AND r.grain_id = %s ORDER BY r.trace_id DESC LIMIT %s"
)
# Traces are deleted oldest first, so rows below the oldest remaining trace have no trace.
_FORGET = (
    f"DELETE FROM {_TABLE} WHERE space_id = %s AND trace_id < "  # noqa: S608
    f"COALESCE((SELECT MIN(id) FROM {_TRACES} WHERE space_id = %s), {2**63 - 1})"
)


@dataclass(frozen=True)
class GrainUse:
    """One recall that returned a grain; callers that may not read its trace see only its time."""

    at: str | None
    place: int
    trace: UUID | None = None
    number: int | None = None
    query: str | None = None
    asked_by: str | None = None
    confidence: float | None = None

    def shape(self) -> dict[str, Any]:
        return {
            "at": self.at,
            "place": self.place,
            "trace_id": str(self.trace) if self.trace else None,
            "query": self.query,
            "asked_by": self.asked_by,
            "confidence": round(self.confidence, 4) if self.confidence is not None else None,
        }


def record_recalls(recalls: Iterable[tuple[int, int, Sequence[int]]]) -> None:
    """Record the results of recalls: space, trace, and grains best first. Runs inside the write of their traces."""
    found = [
        (space, grain, trace, place) for space, trace, grains in recalls for place, grain in enumerate(grains, start=1)
    ]
    if found:
        raw_sql.insert(TraceGrain, _COLUMNS, found)


def last_recalls(principal: Principal, space: int, grain: int) -> list[GrainUse]:
    """The newest recalls that returned a grain. Queries of others need the capability grains.manage."""
    everybody = may(principal, "grains.manage")
    with connection.cursor() as cursor:
        cursor.execute(_LAST, [space, grain, MOST])
        found = cursor.fetchall()
    return [
        GrainUse(clock.rfc3339(at), place, _uuid(outside), number, query, actor, confidence)
        if everybody or actor == principal.actor
        else GrainUse(clock.rfc3339(at), place)
        for number, outside, actor, at, query, confidence, place in found
    ]


def delete_without_trace(space: int) -> None:
    """Delete rows of traces that were deleted."""
    with connection.cursor() as cursor:
        cursor.execute(_FORGET, [space, space])


def _uuid(value: Any) -> UUID:
    return value if isinstance(value, UUID) else UUID(value)
