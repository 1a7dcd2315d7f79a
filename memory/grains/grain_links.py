"""Links of one grain: its conduits by present weight, its lineage, grains of equal text, and its cluster."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import numpy as np
from django.db import connection

from accounts.adminsite.formatting import shorten
from fluxcore import clock
from memory.engine.graph import decay
from memory.engine.kinds import MADE_KINDS
from memory.grains import decay_settings
from memory.grains.models import Cluster, Conduit, Entry, Grain, Member, Relation

SHOWN = 50  # conduits each way, and grains of equal text
STEPS, LINEAGE = 8, 64  # depth of the lineage, and most of its links shown each way
SNIPPET = 120
# Conduits read, heaviest first, of which those strongest after decay are shown: no index includes decay.
_WEIGHED = 1_000
# Relations of lineage: origin and replacement of a grain. The other relations say only that grains are related.
_LINEAGE = (Relation.SUPPORTS, Relation.SUPERSEDES, Relation.CAUSED_BY)
# Statuses of grains whose id is shown, but not their text.
_QUOTED = (Grain.Status.ACTIVE, Grain.Status.DORMANT, Grain.Status.ARCHIVED)

_CONDUITS, _ENTRIES, _GRAINS = Conduit._meta.db_table, Entry._meta.db_table, Grain._meta.db_table
_COLUMNS = (
    "id, from_entry_id, from_grain_id, to_grain_id, relation, weight, affinity, decay_class, made_at, used_at, "
    "use_count"
)
_KINDS = ", ".join(str(int(one)) for one in _LINEAGE)
_LINK = "0.0, 0.0, 0, 0, 0, 0"  # columns that links of the lineage do not need
_BACK = "c.space_id = %s AND c.from_entry_id IS NULL AND c.relation IN ({kinds}) AND c.from_grain_id = {at}"
_AHEAD = "c.space_id = %s AND c.from_grain_id IS NOT NULL AND c.relation IN ({kinds}) AND c.to_grain_id = {at}"


def _walk(name: str, where: str, onward: str) -> str:
    step = "c.id, c.from_grain_id, c.to_grain_id, c.relation"
    return (
        f"{name}(id, source, target, relation, depth) AS (SELECT {step}, 1 FROM {_CONDUITS} c "  # noqa: S608
        f"WHERE {where.format(kinds=_KINDS, at='%s')} UNION SELECT {step}, {name}.depth + 1 FROM {name} "
        # CROSS JOIN from a link to the next ones: SQLite would otherwise begin with every conduit of the space.
        f"CROSS JOIN {_CONDUITS} c WHERE {where.format(kinds=_KINDS, at=f'{name}.{onward}')} "
        f"AND {name}.depth < {STEPS})"
    )


# One statement: conduits in, conduits out, lineage back to sources, lineage ahead to derived grains.
_TIES = (
    f"WITH RECURSIVE {_walk('back', _BACK, 'target')}, {_walk('ahead', _AHEAD, 'source')} "  # noqa: S608
    f"SELECT * FROM (SELECT 0 AS part, {_COLUMNS} FROM {_CONDUITS} WHERE space_id = %s AND to_grain_id = %s "
    f"ORDER BY weight DESC, id LIMIT {_WEIGHED}) AS a "
    f"UNION ALL SELECT * FROM (SELECT 1 AS part, {_COLUMNS} FROM {_CONDUITS} WHERE space_id = %s "
    f"AND from_entry_id IS NULL AND from_grain_id = %s ORDER BY weight DESC, id LIMIT {_WEIGHED}) AS b "
    f"UNION ALL SELECT * FROM (SELECT 2, id, depth, source, target, relation, {_LINK} FROM back LIMIT {LINEAGE}) AS c "
    f"UNION ALL SELECT * FROM (SELECT 3, id, depth, source, target, relation, {_LINK} FROM ahead LIMIT {LINEAGE}) AS d"
)
_ENDS = (
    f"SELECT 0 AS part, id, kind AS one, feature AS two, '' AS three FROM {_ENTRIES} "  # noqa: S608
    "WHERE space_id = %s AND id IN ({entries}) "
    f"UNION ALL SELECT 1, id, CAST(uuid AS varchar(36)), substr(text, 1, {4 * SNIPPET}), status FROM {_GRAINS} "
    "WHERE space_id = %s AND id IN ({grains}) "
    "UNION ALL SELECT * FROM (SELECT 2 AS part, id, CAST(uuid AS varchar(36)) AS one, '' AS two, status AS three "
    f"FROM {_GRAINS} WHERE space_id = %s AND digest = %s AND id <> %s LIMIT {SHOWN}) AS same "
    "UNION ALL SELECT 3, c.id, CAST(c.uuid AS varchar(36)), c.name, '' "
    f"FROM {Member._meta.db_table} m JOIN {Cluster._meta.db_table} c ON c.id = m.cluster_id "
    "WHERE m.space_id = %s AND m.grain_id = %s AND m.entry_id IS NULL"
)


@dataclass(frozen=True)
class LinkedGrain:
    """The grain at the other end of a conduit."""

    number: int
    uuid: UUID
    status: str
    snippet: str | None

    def shape(self) -> dict[str, Any]:
        return {"id": str(self.uuid), "status": self.status, "snippet": self.snippet}


@dataclass(frozen=True)
class GrainLink:
    """A conduit seen from one end: the other end, and its present weight."""

    number: int
    relation: Relation
    weight: float
    affinity: float
    used_at: datetime
    use_count: int
    entry: tuple[str, str] | None  # kind and feature
    grain: LinkedGrain | None

    def shape(self) -> dict[str, Any]:
        return {
            "entry": {"kind": self.entry[0], "feature": self.entry[1]} if self.entry else None,
            "grain": self.grain.shape() if self.grain else None,
            "relation": self.relation.name.lower(),
            "weight": round(self.weight, 4),
            "affinity": round(self.affinity, 4),
            "last_used": clock.rfc3339(self.used_at),
            "use_count": self.use_count,
        }


@dataclass(frozen=True)
class LineageStep:
    """One step of a lineage: the first grain supports, supersedes or was caused by the second."""

    source: LinkedGrain
    relation: Relation
    target: LinkedGrain
    depth: int

    def shape(self) -> dict[str, Any]:
        return {
            "from": str(self.source.uuid),
            "relation": self.relation.name.lower(),
            "to": str(self.target.uuid),
            "depth": self.depth,
        }


@dataclass(frozen=True)
class GrainCluster:
    """The cluster a grain is in."""

    number: int
    uuid: UUID
    name: str

    def shape(self) -> dict[str, Any]:
        return {"id": str(self.uuid), "name": self.name}


@dataclass(frozen=True)
class GrainLinks:
    inward: list[GrainLink]
    outward: list[GrainLink]
    back: list[LineageStep]  # towards its sources and the grains it supersedes
    ahead: list[LineageStep]  # towards derived grains and those that supersede it
    same_text: list[LinkedGrain]
    cluster: GrainCluster | None

    def made(self) -> dict[int, str]:
        """Linked grains that were made from something else, which not everybody may read: their numbers and kinds."""
        ends = [tie.grain for tie in (*self.inward, *self.outward)] + self.same_text
        ends += [end for step in (*self.back, *self.ahead) for end in (step.source, step.target)]
        return {end.number: end.status for end in ends if end is not None and end.status in MADE_KINDS}

    def without(self, hidden: Collection[int]) -> GrainLinks:
        """The links, without those to or from these grains."""

        def shown(end: LinkedGrain | None) -> bool:
            return end is None or end.number not in hidden

        return GrainLinks(
            [tie for tie in self.inward if shown(tie.grain)],
            [tie for tie in self.outward if shown(tie.grain)],
            [step for step in self.back if shown(step.source) and shown(step.target)],
            [step for step in self.ahead if shown(step.source) and shown(step.target)],
            [end for end in self.same_text if shown(end)],
            self.cluster,
        )


def load_links(space: int, grain: int, digest: str, now: int) -> GrainLinks:
    """Conduits, lineage, equal texts and cluster of one grain, in two statements."""
    with connection.cursor() as cursor:
        cursor.execute(_TIES, [space, grain, space] * 2 + [space, grain] * 2)
        parts: list[list[tuple[Any, ...]]] = [[], [], [], []]
        for row in cursor.fetchall():
            parts[row[0]].append(row[1:])
    inward, outward = (_strongest(rows, now) for rows in parts[:2])
    entries = {row[1] for row, _ in inward if row[1]}
    grains = {end for row, _ in (*inward, *outward) for end in row[2:4] if end}
    grains |= {end for rows in parts[2:] for row in rows for end in row[2:4]}
    features, ends, same, cluster = _ends(space, entries, grains, digest, grain)
    return GrainLinks(
        [_tie(row, weight, features, ends, inward=True) for row, weight in inward],
        [_tie(row, weight, features, ends, inward=False) for row, weight in outward],
        list(_links(parts[2], ends)),
        list(_links(parts[3], ends)),
        same,
        cluster,
    )


def _strongest(rows: list[tuple[Any, ...]], now: int) -> list[tuple[tuple[Any, ...], float]]:
    """The conduits with the highest weight after decay, and that weight."""
    if not rows:
        return []
    columns = list(zip(*rows, strict=True))
    left = decay.effective_weight(
        np.array(columns[5], np.float32),
        decay_class=np.array(columns[7], np.int64),
        made=np.array(columns[8], np.int64),
        used=np.array(columns[9], np.int64),
        now=now,
        fading=decay_settings.current(),
    )
    order = np.lexsort((np.array(columns[0], np.int64), -left))[:SHOWN]
    return [(rows[place], float(left[place])) for place in order.tolist()]


def _ends(
    space: int, entries: set[int], grains: set[int], digest: str, own: int
) -> tuple[dict[int, tuple[str, str]], dict[int, LinkedGrain], list[LinkedGrain], GrainCluster | None]:
    """Entries and grains by id, grains with the same text, and the grain's own cluster."""
    one, two = sorted(entries) or [0], sorted(grains) or [0]
    statement = _ENDS.format(entries=_marks(one), grains=_marks(two))
    features: dict[int, tuple[str, str]] = {}
    ends: dict[int, LinkedGrain] = {}
    same: list[LinkedGrain] = []
    cluster = None
    with connection.cursor() as cursor:
        cursor.execute(statement, [space, *one, space, *two, space, digest, own, space, own])
        for part, number, first, second, third in cursor.fetchall():
            if part == 0:
                features[number] = first, second
                continue
            if part == 3:
                cluster = GrainCluster(number, UUID(first), second)
                continue
            end = LinkedGrain(
                number, UUID(first), third, shorten(second, SNIPPET) if third in _QUOTED and second else None
            )
            if part == 1:
                ends[number] = end
            else:
                same.append(end)
    return features, ends, sorted(same, key=lambda end: end.number), cluster


def _tie(
    row: tuple[Any, ...],
    weight: float,
    features: dict[int, tuple[str, str]],
    ends: dict[int, LinkedGrain],
    *,
    inward: bool,
) -> GrainLink:
    number, entry, source, target, relation, _, affinity, _, _, used_at, use_count = row
    other = source if inward else target
    return GrainLink(
        number,
        Relation(relation),
        weight,
        affinity,
        datetime.fromtimestamp(used_at, UTC),
        use_count,
        features.get(entry) if entry else None,
        ends.get(other) if other else None,
    )


def _links(rows: Iterable[tuple[Any, ...]], ends: dict[int, LinkedGrain]) -> Iterator[LineageStep]:
    seen: set[int] = set()
    for number, depth, source, target, relation, *_ in sorted(rows, key=lambda row: (row[1], row[0])):
        if number not in seen and source in ends and target in ends:
            seen.add(number)
            yield LineageStep(ends[source], Relation(relation), ends[target], depth)


def _marks(values: list[int]) -> str:
    return ", ".join(["%s"] * len(values))
