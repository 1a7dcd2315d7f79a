"""Linking of new grains: conduits from entries (names, numbers, dates), the previous turn, and equal texts.

All of it is written in the transaction that stores the grain, in a few statements however many grains
there are. What needs an encoder comes later (`enrich.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from types import MappingProxyType
from typing import Any

from django.db import connection

from fluxcore import config, raw_sql
from memory.arena.changes import Changes, conduit_array
from memory.engine.text import words
from memory.grains.grain_input import GrainInput
from memory.grains.models import Conduit, DecayClass, Entry, Grain, Relation, Removal

_TABLE = Grain._meta.db_table
_ENTRY = ("space", "kind", "feature")
_CONDUIT = (
    "space",
    "from_entry",
    "from_grain",
    "to_grain",
    "relation",
    "weight",
    "affinity",
    "decay_class",
    "made_at",
    "used_at",
    "use_count",
)
# Updates an existing row without change, so that both databases return its id.
_OR_FIND = (
    f"ON CONFLICT (space_id, kind, feature) DO UPDATE SET kind = {Entry._meta.db_table}.kind "
    "RETURNING id, kind, feature"
)
_UNLESS_THERE = "ON CONFLICT DO NOTHING RETURNING id, from_entry_id, from_grain_id, to_grain_id, relation"
NOTHING: Mapping[Any, Any] = MappingProxyType({})
_MAX_VALUES = 30_000  # SQLite takes 32,766 in one statement


@dataclass(frozen=True)
class Existing:
    """Existing grain, session and decision that an item to store meets in its space."""

    same: int | None  # id of the grain it corroborates
    status: str  # status of the grain `same`
    over: bool  # whether the grain `same` is not valid now
    oldest: int | None  # the first grain with the same text, of at most EQUALS
    tail: int | None  # the last grain of the session
    ordinal: int  # place of the grain `tail` in its session; -1: the session is new
    removal: int | None = None  # id of a person's decision about this text
    removed: str = ""  # status given by that person's decision
    removed_authority: int = 0  # highest authority covered by that person's decision

    def status_for(self, authority: int) -> str:
        """The status a grain of that authority is stored with: active, unless a person's decision covers it."""
        covered = self.removal is not None and authority >= self.removed_authority
        return self.removed if covered else Grain.Status.ACTIVE.value


@dataclass
class NewConduit:
    """A conduit to insert, from an entry or from a grain."""

    to: int
    relation: int
    weight: float
    entry: tuple[str, str] | None = None
    grain: int | None = None


@dataclass
class NewGrain:
    """A new grain and the grains it is linked with."""

    grain: int
    item: GrainInput
    links: list[NewConduit] = field(default_factory=list)


EQUALS = 1_000  # grains of one text searched for the first, so that a frequent phrase is stored as fast as others
# One row for each item, found through the indexes on both databases. The second condition on the session repeats that
# of its partial index literally: SQLite cannot know that a parameter is not empty.
_LOOK = (
    "SELECT asked.place, same.id, same.status, same.valid_to <= %s OR same.valid_from > %s, "  # noqa: S608
    f"(SELECT MIN(id) FROM (SELECT id FROM {_TABLE} WHERE space_id = %s AND digest = asked.digest "
    f"ORDER BY origin, session LIMIT {EQUALS}) AS equals), tail.id, tail.ordinal, "
    "removal.id, removal.status, removal.authority "
    f"FROM asked LEFT JOIN {_TABLE} same ON same.space_id = %s AND same.digest = asked.digest "
    "AND same.origin = asked.origin AND same.session = asked.session "
    f"LEFT JOIN {_TABLE} tail ON asked.session <> '' AND tail.id = (SELECT id FROM {_TABLE} "
    "WHERE space_id = %s AND session = asked.session AND NOT (session = '') ORDER BY ordinal DESC LIMIT 1) "
    f"LEFT JOIN {Removal._meta.db_table} removal ON removal.space_id = %s AND removal.digest = asked.digest"
)


def find_existing(space: int, items: Sequence[GrainInput], moment: datetime) -> list[Existing]:
    """Read `Existing` of all items in one statement. Writers of a space take turns, so it is valid until the commit."""
    asked = ", ".join(f"({place}, %s, %s, %s)" for place in range(len(items)))
    values = [value for item in items for value in item.key]
    now = raw_sql.adapt_moment(moment)
    with connection.cursor() as cursor:
        cursor.execute(
            f"WITH asked(place, digest, origin, session) AS (VALUES {asked}) {_LOOK}", [*values, now, now, *[space] * 4]
        )
        found = {row[0]: row[1:] for row in cursor.fetchall()}
    return [
        Existing(same, status or "", bool(over), oldest, tail, -1 if ordinal is None else ordinal, *decision)
        for same, status, over, oldest, tail, ordinal, *decision in (found[place] for place in range(len(items)))
    ]


def ordinals(items: Sequence[GrainInput], existing: Sequence[Existing]) -> list[int]:
    """Place of each new item in its session; corroborated grains keep theirs."""
    last: dict[str, int] = {}
    places = []
    for item, known in zip(items, existing, strict=True):
        if not item.session or known.same is not None:
            places.append(0)
            continue
        last[item.session] = last.get(item.session, known.ordinal) + 1
        places.append(last[item.session])
    return places


def link_grains(
    space: int, new: Sequence[NewGrain], existing: Sequence[Existing], moment: datetime
) -> dict[int, bytes]:
    """Insert the conduits of new grains; returns them packed for the arenas, by grain."""
    rows = link_rows(space, new, existing, moment)
    return {grain: Changes((grain,), conduit_array(linked)).pack() for grain, linked in rows.items()}


def link_rows(
    space: int, new: Sequence[NewGrain], existing: Sequence[Existing], moment: datetime
) -> dict[int, list[tuple[object, ...]]]:
    """Insert the conduits of new grains; returns them by grain, each in the order of `changes.CONDUIT`."""
    _link(new, existing)
    entries = ensure_entries(space, [mention for one in new for mention in one.item.mentions])
    inserted = iter(
        insert_conduits(space, [link for one in new for link in one.links], int(moment.timestamp()), entries)
    )
    return {one.grain: [row for row in islice(inserted, len(one.links)) if row] for one in new}


def _link(new: Sequence[NewGrain], existing: Sequence[Existing]) -> None:
    settings = config.current()
    last: dict[str, int] = {}
    oldest: dict[str, int] = {}
    for one, known in zip(new, existing, strict=True):
        item = one.item
        one.links += [
            NewConduit(
                one.grain, Relation.RELATED, settings.INITIAL_ENTRY_WEIGHT, entry=(mention.kind, mention.feature)
            )
            for mention in item.mentions
        ]
        previous = last.get(item.session, known.tail) if item.session else None
        if previous is not None:
            one.links.append(NewConduit(one.grain, Relation.NEXT, settings.INITIAL_WEIGHT_SCALE, grain=previous))
        last[item.session] = one.grain
        first = oldest.setdefault(item.digest, known.oldest or one.grain)
        if first != one.grain:
            one.links.append(NewConduit(first, Relation.SUPPORTS, settings.INITIAL_WEIGHT_SCALE, grain=one.grain))


def ensure_entries(space: int, found: Sequence[Any]) -> dict[tuple[str, str], int]:
    """Ids of the entries that texts mention, created if they are new."""
    wanted = [(space, kind, feature) for kind, feature in dict.fromkeys((one.kind, one.feature) for one in found)]
    return {
        (kind, feature): number
        for piece in _pieces(wanted, len(_ENTRY))
        for number, kind, feature in raw_sql.upsert(Entry, _ENTRY, piece, _OR_FIND)
    }


def insert_conduits(
    space: int, links: Sequence[NewConduit], at: int, entries: Mapping[tuple[str, str], int] = NOTHING
) -> list[tuple[object, ...] | None]:
    """Insert conduits; returns each packed for the arena, None for one that existed already."""
    fresh = int(DecayClass.WORKING)
    new = [
        (
            space,
            entries[link.entry] if link.entry else None,
            link.grain,
            link.to,
            int(link.relation),
            link.weight,
            1.0,
            fresh,
            at,
            at,
            0,
        )
        for link in links
    ]
    numbers = {
        tuple(row[1:]): row[0]
        for piece in _pieces(new, len(_CONDUIT))
        for row in raw_sql.upsert(Conduit, _CONDUIT, piece, _UNLESS_THERE)
    }
    return [
        (
            numbers[row[1:5]],
            row[1] or 0,
            words.key(":".join(link.entry)) if link.entry else 0,
            link.grain or 0,
            link.to,
            link.weight,
            1.0,
            at,
            at,
            link.relation,
            fresh,
        )
        if row[1:5] in numbers
        else None
        for link, row in zip(links, new, strict=True)
    ]


def _pieces(given: list[Any], width: int) -> Iterator[list[Any]]:
    """Slices of rows, each small enough for the parameters of one statement."""
    step = _MAX_VALUES // width
    for start in range(0, len(given), step):
        yield given[start : start + step]
