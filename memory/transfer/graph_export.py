"""Export of the graph of a space, or of the part around one grain: grains, entries and conduits."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import numpy as np
from django.db import connection

from accounts.principals import Principal
from accounts.verbs import selector
from fluxcore import clock
from fluxcore.errors import Invalid, NotFound
from memory.engine.graph import decay
from memory.grains import decay_settings, hydrate
from memory.grains.models import Conduit, DecayClass, Entry, Grain, Relation

MOST_GRAINS, USUAL_GRAINS = 5_000, 1_000  # grains of one export over REST; the shell has no limit
MOST_HOPS, USUAL_HOPS = 4, 1
_PAGE = 900  # ids in one statement
# Statuses of grains that are not exported.
_SHOWN = (Grain.Status.ACTIVE.value, Grain.Status.DORMANT.value, Grain.Status.ARCHIVED.value)
_GRAIN, _CONDUIT = Grain._meta.db_table, Conduit._meta.db_table
_IN = ", ".join(["%s"] * len(_SHOWN))
_COLUMNS = ", ".join(f"g.{name}" for name in hydrate.COLUMNS.split(", "))
_NEWEST = (
    f"SELECT {_COLUMNS} FROM {_GRAIN} g WHERE g.space_id = %s AND g.status IN ({_IN}) "  # noqa: S608
    "ORDER BY g.id DESC{limit}"
)
_THESE = (
    f"SELECT {_COLUMNS} FROM {_GRAIN} g WHERE g.space_id = %s AND g.status IN ({_IN}) "  # noqa: S608
    "AND g.id IN ({marks})"
)
_INTO = (
    "SELECT id, from_entry_id, from_grain_id, to_grain_id, relation, weight, affinity, decay_class, made_at, used_at, "  # noqa: S608
    f"use_count FROM {_CONDUIT} WHERE space_id = %s AND to_grain_id IN ({{marks}})"
)
_BESIDE = (
    f"SELECT from_grain_id, to_grain_id, weight, id FROM {_CONDUIT} WHERE space_id = %s "  # noqa: S608
    "AND from_grain_id IS NOT NULL AND (from_grain_id IN ({marks}) OR to_grain_id IN ({marks})) "
    "ORDER BY weight DESC, id LIMIT %s"
)


@dataclass
class ExportedGraph:
    """Nodes and links with plain values, for all formats."""

    grains: dict[str, dict[str, Any]] = field(default_factory=dict)
    entries: dict[str, dict[str, Any]] = field(default_factory=dict)
    links: list[tuple[str, str, dict[str, Any]]] = field(default_factory=list)
    more: bool = False  # grains were left out because of the limit


@selector("graph.export", needs="graph.export")
def export_graph(
    principal: Principal, *, around: str | None = None, hops: int = USUAL_HOPS, limit: int | None = USUAL_GRAINS
) -> ExportedGraph:
    """The newest grains of the space, or those around one, with their links; without a limit all of them."""
    if not 1 <= hops <= MOST_HOPS:
        raise Invalid(f"hops must be between 1 and {MOST_HOPS}.", field="hops")
    if limit is not None and not 1 <= limit <= MOST_GRAINS:
        raise Invalid(f"limit must be between 1 and {MOST_GRAINS}.", field="limit")
    space = principal.space or 0
    rows, more = _around(space, around, hops, limit) if around is not None else _newest(space, limit)
    found = ExportedGraph(more=more)
    names = {}
    for row in sorted(rows):
        one = hydrate.grain_row(row)
        names[one.id] = one.uuid
        found.grains[one.uuid] = _shown(one)
    _link(space, names, found)
    return found


def _newest(space: int, limit: int | None) -> tuple[list[Any], bool]:
    with connection.cursor() as cursor:
        cursor.execute(_NEWEST.format(limit="" if limit is None else f" LIMIT {limit + 1}"), [space, *_SHOWN])
        rows = cursor.fetchall()
    return (rows, False) if limit is None else (rows[:limit], len(rows) > limit)


def _around(space: int, around: str, hops: int, limit: int | None) -> tuple[list[Any], bool]:
    """Grains within a number of conduits of one, nearest first, then strongest linked."""
    try:
        wanted = uuid.UUID(around)
    except (ValueError, AttributeError):
        raise NotFound("There is no memory with this id.") from None
    first = Grain.objects.filter(space=space, uuid=wanted, status__in=_SHOWN).values_list("pk", flat=True).first()
    if first is None:
        raise NotFound("There is no memory with this id.")
    most = MOST_GRAINS if limit is None else limit
    found, edge, more = {first: None}, [first], False
    for _ in range(hops):
        ahead: list[int] = []
        for start, end, _, _ in _beside(space, edge, 4 * most):
            ahead += [one for one in (start, end) if one not in found]
        edge = list(dict.fromkeys(ahead))
        room = most - len(found)
        more |= len(edge) > room
        edge = edge[:room]
        found |= dict.fromkeys(edge)
    rows = [row for some in _pages(list(found)) for row in _read(_THESE, [space, *_SHOWN], some)]
    return rows, more


def _beside(space: int, edge: Sequence[int], most: int) -> list[Any]:
    rows = []
    for some in _pages(edge, _PAGE // 2):
        with connection.cursor() as cursor:
            cursor.execute(_BESIDE.format(marks=_marks(some)), [space, *some, *some, most])
            rows += cursor.fetchall()
    return sorted(rows, key=lambda row: (-row[2], row[3]))


def _link(space: int, names: dict[int, str], found: ExportedGraph) -> None:
    rows = [row for some in _pages(list(names)) for row in _read(_INTO, [space], some)]
    rows = sorted(row for row in rows if row[2] is None or row[2] in names)
    entries = {
        number: (kind, feature)
        for some in _pages(sorted({row[1] for row in rows if row[1] is not None}))
        for number, kind, feature in Entry.objects.filter(pk__in=some).values_list("pk", "kind", "feature")
    }
    weights = _weights(rows)
    for (_, entry, start, end, relation, _, affinity, kind, _, used, uses), weight in zip(rows, weights, strict=True):
        begins = names[start] if start is not None else ":".join(entries[entry])
        if entry is not None:
            found.entries[begins] = {"kind": entries[entry][0], "feature": entries[entry][1]}
        fields = {
            "relation": "mentions" if entry and relation == Relation.RELATED else _named(Relation, relation),
            "weight": round(float(weight), 6),
            "affinity": round(affinity, 6),
            "decay_class": _named(DecayClass, kind),
            "use_count": uses,
            "last_used": clock.rfc3339(datetime.fromtimestamp(used, UTC)),
        }
        found.links.append((begins, names[end], fields))


def _weights(rows: Sequence[Any]) -> Any:
    """Present weight of each conduit, after decay."""
    if not rows:
        return []
    table = np.array([(row[5], row[7], row[8], row[9]) for row in rows], np.float64)
    kind, made, used = (table[:, column].astype(np.int64) for column in (1, 2, 3))
    return decay.effective_weight(
        table[:, 0].astype(np.float32),
        decay_class=kind,
        made=made,
        used=used,
        now=int(clock.now().timestamp()),
        fading=decay_settings.current(),
    )


def _shown(one: hydrate.GrainRow) -> dict[str, Any]:
    shape = one.shape()
    names = (
        "content",
        "provenance",
        "authority",
        "status",
        "decay_class",
        "confidence",
        "session",
        "speaker",
        "time",
        "valid_from",
        "valid_to",
        "recorded_at",
        "pinned",
    )
    return {name: shape[name] for name in names} | {"tags": " ".join(f"#{tag}" for tag in shape["tags"])}


def _named(kinds: type[Any], number: int) -> str:
    return str(kinds(number).name).lower()


def _read(statement: str, values: Sequence[Any], some: Sequence[int]) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(statement.format(marks=_marks(some)), [*values, *some])
        return list(cursor.fetchall())


def _pages(numbers: Iterable[int], step: int = _PAGE) -> Iterator[list[int]]:
    listed = list(numbers)
    for start in range(0, len(listed), step):
        yield listed[start : start + step]


def _marks(some: Sequence[int]) -> str:
    return ", ".join(["%s"] * len(some))
