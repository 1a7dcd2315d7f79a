"""Texts and fields of returned grains, read in one statement that checks space and status again."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple

from accounts import origins
from fluxcore import clock, raw_sql
from memory.grains.models import Cluster, DecayClass, Grain, Member

COLUMNS = (
    "id, uuid, text, origin, authority, confidence, decay_class, status, writer, corroborations, pinned, "
    "session, speaker, tags, said_at, valid_from, valid_to, recorded_at"
)
_TABLE = Grain._meta.db_table
# The cluster's name: read in the same statement, and only if it is shown.
_CLUSTER = (
    f", (SELECT c.name FROM {Member._meta.db_table} m JOIN {Cluster._meta.db_table} c ON c.id = m.cluster_id "  # noqa: S608
    f"WHERE m.space_id = {_TABLE}.space_id AND m.grain_id = {_TABLE}.id AND m.entry_id IS NULL)"
)
_CLASSES = {kind.value: kind.name.lower() for kind in DecayClass}


class GrainRow(NamedTuple):
    """Row of a grain for an answer. Times and tags are parsed only when they are shown."""

    id: int
    uuid: str
    text: str
    origin: str
    authority: int
    confidence: float
    decay_class: int
    status: str
    writer: str
    corroborations: int
    pinned: bool
    session: str
    speaker: str
    tags: Any
    said_at: Any
    valid_from: Any
    valid_to: Any
    recorded_at: Any
    cluster: str | None = None  # name of its cluster, if requested

    def over(self, moment: datetime) -> bool:
        """Whether its validity has ended at a time."""
        return self.valid_to is not None and str(clock.rfc3339(self.valid_to)) <= str(clock.rfc3339(moment))

    def shape(self) -> dict[str, Any]:
        """Fields for an answer: those of flux-memory first, then ours."""
        return {
            "id": self.uuid,
            "content": self.text,
            "provenance": self.origin,
            "decay_class": _CLASSES[self.decay_class],
            "confidence": round(self.confidence, 4),
            "origin": self.origin,
            "authority": origins.AUTHORITY[self.authority],
            "status": self.status,
            "valid_from": clock.rfc3339(self.valid_from),
            "valid_to": clock.rfc3339(self.valid_to),
            "time": clock.rfc3339(self.said_at),
            "session": self.session or None,
            "speaker": self.speaker or None,
            "tags": _listed(self.tags),
            "pinned": bool(self.pinned),
            "recorded_at": clock.rfc3339(self.recorded_at),
        }


def load_grains(
    space: int, numbers: Iterable[int], statuses: tuple[str, ...], *, clusters: bool = False
) -> dict[int, GrainRow]:
    """Rows of these ids that belong to the space and have one of the statuses."""
    wanted = list(dict.fromkeys(numbers))
    if not wanted:
        return {}
    statement = _statement(raw_sql.vendor(), len(wanted), len(statuses), clusters)
    found = raw_sql.read(statement, [*wanted, space, *statuses])
    return {row[0]: grain_row(row) for row in found}


_TIMES = ("said_at", "valid_from", "valid_to", "recorded_at")


@lru_cache(maxsize=1024)
def _statement(vendor: str, wanted: int, statuses: int, clusters: bool) -> str:
    columns, table = COLUMNS, _TABLE
    if vendor == "sqlite":
        # Found by id first: the planner would otherwise search the index of statuses for each id.
        table = f"{_TABLE} NOT INDEXED"
        # Times are selected as text, because parsing a time column for each row costs more.
        for name in _TIMES:
            columns = columns.replace(name, f"{name} || ''")
    return (
        f"SELECT {columns}{_CLUSTER if clusters else ''} FROM {table} "  # noqa: S608
        f"WHERE id IN ({', '.join(['%s'] * wanted)}) AND space_id = %s "
        f"AND status IN ({', '.join(['%s'] * statuses)})"
    )


def grain_row(row: Sequence[Any]) -> GrainRow:
    number, outside, *rest = row
    return GrainRow(number, dashed_uuid(outside) if isinstance(outside, str) else str(outside), *rest)


def _listed(tags: Any) -> list[str]:
    found: list[str] = [] if tags == "[]" else json.loads(tags) if isinstance(tags, str) else tags
    return found


def dashed_uuid(digits: str) -> str:
    """UUID with dashes from the 32 digits that SQLite stores."""
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def load_texts(space: int, outside: list[str], statuses: tuple[str, ...]) -> dict[str, str]:
    """Texts by the UUIDs of grains that the principal may still read."""
    found = Grain.objects.filter(space=space, uuid__in=outside, status__in=statuses).values_list("uuid", "text")
    return {str(number): text for number, text in found}
