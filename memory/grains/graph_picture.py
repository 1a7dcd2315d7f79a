"""Picture of a space's graph: the grains and entries that are drawn, their positions, and their links.

Computed from a bounded number of rows, cached until the space changes, and sent as packed arrays.
"""

from __future__ import annotations

import json
import threading
import uuid
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.db import connection
from numpy.typing import NDArray

from accounts.adminsite.formatting import shorten
from accounts.principals import Principal
from accounts.verbs import selector
from fluxcore import clock, events
from fluxcore.models import Event
from memory.engine.graph import decay, layout
from memory.engine.kinds import MADE_KINDS
from memory.grains import decay_settings
from memory.grains.models import Cluster, Conduit, Entry, Grain, Member, Relation

GRAINS, ENTRIES, LINKS = 3_000, 400, 12_000  # most that are drawn
REGIONS, IN_A_REGION = 8, 3  # clusters with a colour, and least grains drawn of one
WINDOW = 6_000  # newest grains of each status that are searched for the most linked
STRONGEST = 50
_READ = 4 * LINKS  # conduits read
_KEPT = 16  # pictures in memory, about 250 kB each
_SHOWN = (Grain.Status.ACTIVE, Grain.Status.DORMANT, Grain.Status.ARCHIVED)
_HOUR = 3600  # seconds after which weights are computed again, because links decay

# Kinds of nodes, as numbers in the arrays: grains by provenance, then entries.
KINDS = ("people", "agents", "elsewhere", "faded", "name", "number", "date", "term")
_OF_AUTHORITY = np.array([0, 0, 1, 1, 2, 2], np.uint8)  # in the order of `origins.AUTHORITY`
_FADED, _FIRST_ENTRY = 3, 4
# Kinds of links; the last one leads from an entry to a grain that mentions it.
RELATIONS = (*(relation.label.lower() for relation in Relation), "mentions")
_MENTIONS = len(RELATIONS) - 1

_GRAIN, _ENTRY, _CONDUIT, _EVENT = (model._meta.db_table for model in (Grain, Entry, Conduit, Event))
_NEWEST = (
    "SELECT * FROM (SELECT g.id, g.uuid, g.status, g.authority, g.pinned, "  # noqa: S608
    f"(SELECT COUNT(*) FROM {_CONDUIT} c WHERE c.space_id = g.space_id AND c.to_grain_id = g.id) AS links "
    f"FROM {_GRAIN} g WHERE g.space_id = %s AND g.status = %s{{more}} ORDER BY g.id DESC LIMIT {WINDOW}) AS {{name}}"
)
_CANDIDATES = " UNION ALL ".join(
    [
        *(_NEWEST.format(more="", name=f"newest_{status.value}") for status in _SHOWN),
        _NEWEST.format(more=" AND g.pinned", name="pinned_ones"),
    ]
)
_TOTAL = f"SELECT COUNT(*) FROM {_GRAIN} WHERE space_id = %s AND status IN (%s, %s, %s)"  # noqa: S608
_INTO = (
    "SELECT COALESCE(from_entry_id, 0), COALESCE(from_grain_id, 0), to_grain_id, relation, weight, decay_class, "  # noqa: S608
    f"made_at, used_at FROM {_CONDUIT} WHERE space_id = %s AND to_grain_id IN ({{grains}}) "
    f"ORDER BY weight DESC, id LIMIT {_READ}"
)

_MEMBERS = (
    f"SELECT m.grain_id, m.cluster_id, c.uuid, c.name FROM {Member._meta.db_table} m "  # noqa: S608
    f"JOIN {Cluster._meta.db_table} c ON c.id = m.cluster_id "
    "WHERE m.space_id = %s AND m.entry_id IS NULL AND m.grain_id IN ({grains})"
)


@dataclass(frozen=True)
class GraphPicture:
    """A picture as it is sent, and the numbers the page shows beside it."""

    tag: str  # ETag, changes with the picture
    packed: bytes
    grains: int
    total: int  # grains that could be drawn without the limit
    links: int
    strongest: tuple[tuple[str, int], ...]  # ids and links of the most linked, best first


@dataclass(frozen=True)
class GrainLabel:
    """A grain as pages name it: its row id for links, and the beginning of its text."""

    number: int
    snippet: str
    status: str


_pictures: OrderedDict[int, GraphPicture] = OrderedDict()
_drawing = threading.Lock()


@selector("grains.picture", needs="grains.read")
def current_picture(principal: Principal) -> GraphPicture:
    """Picture of the space as of its last change, cached for all viewers; one statement if nothing changed."""
    space = principal.space or 0
    # Time is rounded to the hour, so that every process draws the same picture for the same tag.
    hour = int(clock.now().timestamp()) // _HOUR
    tag = f"{space}-{_position(space)}-{hour}"
    # One at a time: a picture takes half a second of a core, and waiting requests get the same one.
    with _drawing:
        known = _pictures.get(space)
        if known is None or known.tag != tag:
            known = _drawn(space, tag, hour * _HOUR)
        _pictures[space] = known
        _pictures.move_to_end(space)
        while len(_pictures) > _KEPT:
            _pictures.popitem(last=False)
    return known


@selector("grains.named", needs="grains.read")
def label_grains(principal: Principal, outside: list[str], *, length: int = 160) -> dict[str, GrainLabel]:
    """Labels of grains by id, without grains that were deleted or are pending deletion."""
    rows = Grain.objects.filter(space=principal.space, uuid__in=set(outside)).exclude(
        status__in=(Grain.Status.PENDING_DELETION, *MADE_KINDS)
    )
    return {
        str(found): GrainLabel(number, shorten(text, length) if status in _SHOWN else "hidden memory", status)
        for found, number, text, status in rows.values_list("uuid", "pk", "text", "status")
    }


def _position(space: int) -> str:
    below = events._BELOW_WATERMARK if connection.vendor == "postgresql" else ""
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT xid, id FROM {_EVENT} WHERE space = %s AND packed IS NOT NULL{below} "  # noqa: S608
            "ORDER BY xid DESC, id DESC LIMIT 1",
            [space],
        )
        row = cursor.fetchone()
    return str(events.Position(*row) if row else events.Position())


def _drawn(space: int, tag: str, now: int) -> GraphPicture:
    total, rows = _chosen(space)
    numbers = np.array([row[0] for row in rows], np.int64)
    links = _Links(space, numbers, now)
    entries = links.entries(ENTRIES)
    names = _entries(space, entries.tolist())
    entries = entries[np.isin(entries, list(names))]
    pairs, relation, weight = links.between(numbers, entries)
    count = len(numbers) + len(entries)
    at = layout.place_nodes(count, pairs, weight)
    degree = np.bincount(pairs.ravel(), minlength=count)
    kinds = np.concatenate(
        [
            _OF_AUTHORITY[np.clip([row[3] for row in rows], 0, 5).astype(np.int64)],
            np.array([KINDS.index(names[one][0]) for one in entries.tolist()], np.uint8),
        ]
    ).astype(np.uint8)
    kinds[: len(rows)][np.array([row[2] != Grain.Status.ACTIVE for row in rows], bool)] = _FADED
    size = 255 * np.log1p(degree) / np.log1p(max(int(degree.max(initial=1)), 1))
    ids = [_uuid(row[1]) for row in rows]
    named_regions, regions = _regions(space, numbers)
    header = {
        "nodes": count,
        "grains": len(rows),
        "links": len(pairs),
        "total": total,
        "kinds": KINDS,
        "relations": RELATIONS,
        "regions": named_regions,
        "entries": [[one, names[one][1]] for one in entries.tolist()],
    }
    packed = _packed(header, at, pairs, b"".join(one.bytes for one in ids), kinds, size, relation, weight, regions)
    order = np.lexsort((np.arange(len(rows)), -degree[: len(rows)]))[:STRONGEST].tolist()
    strongest = tuple((str(ids[place]), int(degree[place])) for place in order)
    return GraphPicture(tag, packed, len(rows), total, len(pairs), strongest)


def _packed(
    header: dict[str, Any],
    at: NDArray[np.float32],
    pairs: NDArray[np.int64],
    ids: bytes,
    kinds: NDArray[np.uint8],
    size: NDArray[np.float64],
    relation: NDArray[np.uint8],
    weight: NDArray[np.float32],
    regions: NDArray[np.uint8],
) -> bytes:
    """Packed picture: length of the header, header as JSON, then the arrays, widest numbers first for alignment."""
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 4)
    return b"".join(
        [
            len(text).to_bytes(4, "little"),
            text,
            at.astype("<f4").tobytes(),
            pairs.astype("<u4").tobytes(),
            ids,
            kinds.tobytes(),
            size.astype(np.uint8).tobytes(),
            relation.tobytes(),
            np.clip(weight * 255, 0, 255).astype(np.uint8).tobytes(),
            regions.tobytes(),
        ]
    )


def _chosen(space: int) -> tuple[int, list[tuple[Any, ...]]]:
    """Number of grains, and those drawn: pinned ones, a third newest, the rest most linked."""
    with connection.cursor() as cursor:
        cursor.execute(_TOTAL, [space, *_SHOWN])
        total = int(cursor.fetchone()[0])
        values = [value for status in (*_SHOWN, Grain.Status.ACTIVE) for value in (space, status)]
        cursor.execute(_CANDIDATES, values)
        rows = {row[0]: row for row in cursor.fetchall()}
    newest = sorted(rows, reverse=True)
    by_links = sorted(rows, key=lambda number: (-rows[number][5], -number))
    wanted = [*(number for number in newest if rows[number][4]), *newest[: GRAINS // 3], *by_links]
    return total, [rows[number] for number in sorted(list(dict.fromkeys(wanted))[:GRAINS])]


def _regions(space: int, grains: NDArray[np.int64]) -> tuple[list[dict[str, Any]], NDArray[np.uint8]]:
    """The clusters with most grains in the picture, and for each grain which one it is in, from 1; 0 for none."""
    of = np.zeros(len(grains), np.uint8)
    if not len(grains):
        return [], of
    with connection.cursor() as cursor:
        cursor.execute(_MEMBERS.format(grains=_listed(grains.tolist())), [space])
        rows = cursor.fetchall()
    known: dict[int, tuple[str, str]] = {cluster: (str(_uuid(outside)), name) for _, cluster, outside, name in rows}
    cluster = np.zeros(len(grains), np.int64)
    cluster[np.searchsorted(grains, [row[0] for row in rows])] = [row[1] for row in rows]
    found, count = np.unique(cluster[cluster > 0], return_counts=True)
    order = np.lexsort((found, -count))
    order = order[count[order] >= IN_A_REGION][:REGIONS]
    regions = []
    for place, (number, drawn) in enumerate(zip(found[order].tolist(), count[order].tolist(), strict=True), start=1):
        of[cluster == number] = place
        outside, name = known[number]
        regions.append({"id": outside, "name": name or "unnamed", "grains": drawn})
    return regions, of


class _Links:
    """The conduits that lead to some grains, with their weight after decay."""

    def __init__(self, space: int, grains: NDArray[np.int64], now: int) -> None:
        rows: list[tuple[Any, ...]] = []
        if len(grains):
            with connection.cursor() as cursor:
                cursor.execute(_INTO.format(grains=_listed(grains.tolist())), [space])
                rows = cursor.fetchall()
        table = np.array(rows, np.float64).reshape(-1, 8)
        self.entry, self.source, self.target = (table[:, column].astype(np.int64) for column in (0, 1, 2))
        self.relation = np.where(self.entry > 0, _MENTIONS, table[:, 3]).astype(np.uint8)
        self.weight = decay.effective_weight(
            table[:, 4].astype(np.float32),
            decay_class=table[:, 5].astype(np.int64),
            made=table[:, 6].astype(np.int64),
            used=table[:, 7].astype(np.int64),
            now=now,
            fading=decay_settings.current(),
        )

    def entries(self, most: int) -> NDArray[np.int64]:
        """Entries that link several grains, most linked first; an entry that one grain alone mentions links nothing."""
        found, count = np.unique(self.entry[self.entry > 0], return_counts=True)
        order = np.lexsort((found, -count))
        return found[order][count[order] > 1][:most]

    def between(
        self, grains: NDArray[np.int64], entries: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.uint8], NDArray[np.float32]]:
        """The strongest links with both ends drawn, as indexes into `grains` followed by `entries`."""
        one = np.where(self.entry > 0, _place(entries, self.entry, len(grains)), _place(grains, self.source, 0))
        two = _place(grains, self.target, 0)
        kept = np.flatnonzero((one >= 0) & (two >= 0) & (one != two))
        kept = kept[np.argsort(-self.weight[kept], kind="stable")][:LINKS]
        return np.stack((one[kept], two[kept]), 1), self.relation[kept], self.weight[kept]


def _place(drawn: NDArray[np.int64], wanted: NDArray[np.int64], first: int) -> NDArray[np.int64]:
    """Index of each wanted node among those drawn, counted from `first`; -1 if it is not drawn."""
    if not len(drawn):
        return np.full(len(wanted), -1, np.int64)
    order = np.argsort(drawn, kind="stable")
    at = np.minimum(np.searchsorted(drawn, wanted, sorter=order), len(drawn) - 1)
    return np.where(drawn[order[at]] == wanted, order[at] + first, -1)


def _entries(space: int, numbers: list[int]) -> dict[int, tuple[str, str]]:
    if not numbers:
        return {}
    found = Entry.objects.filter(space=space, pk__in=numbers).values_list("pk", "kind", "feature")
    return {number: (kind, feature) for number, kind, feature in found}


def _listed(numbers: list[int]) -> str:
    return ", ".join(map(str, numbers))


def _uuid(value: Any) -> uuid.UUID:
    return value if isinstance(value, uuid.UUID) else uuid.UUID(value)
