"""How a new grain hangs together with what is there: its names, numbers and dates, the turn before, equal texts.

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
# Touching the row is what makes both databases return an entry that was there already.
_OR_FIND = (
    f"ON CONFLICT (space_id, kind, feature) DO UPDATE SET kind = {Entry._meta.db_table}.kind "
    "RETURNING id, kind, feature"
)
_UNLESS_THERE = "ON CONFLICT DO NOTHING RETURNING id, from_entry_id, from_grain_id, to_grain_id, relation"
NOTHING: Mapping[Any, Any] = MappingProxyType({})
_MAX_VALUES = 30_000  # SQLite takes 32,766 in one statement


@dataclass(frozen=True)
class Existing:
    """What the space knew of an item before it came."""

    same: int | None  # the grain it corroborates
    status: str  # of that grain
    over: bool  # and whether its validity does not hold now
    oldest: int | None  # the first grain that said so, of EQUALS
    tail: int | None  # the last grain of the session
    ordinal: int  # and its place; -1: the session is new
    removal: int | None = None  # the decision of a person about this text
    removed: str = ""  # the status that decision gives
    removed_authority: int = 0  # and the highest authority it covers

    def status_for(self, authority: int) -> str:
        """The status a grain of that authority is stored with: active, unless a person's decision covers it."""
        covered = self.removal is not None and authority >= self.removed_authority
        return self.removed if covered else Grain.Status.ACTIVE.value


@dataclass
class NewConduit:
    """A conduit that is to be made, from an entry or from a grain."""

    to: int
    relation: int
    weight: float
    entry: tuple[str, str] | None = None
    grain: int | None = None


@dataclass
class NewGrain:
    """A new grain and what it is linked with."""

    grain: int
    item: GrainInput
    links: list[NewConduit] = field(default_factory=list)


EQUALS = 1_000  # of one text that are looked through for the first: a phrase of every session must not slow its stores
# A row for each item, found through the indexes on both databases. The second look at the session is the
# condition of its index, word for word: SQLite cannot know that a value it is given is not empty.
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
    """One statement for all of them. Writers of a space take turns, so what it finds stays true until the commit."""
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


def ordinals(items: Sequence[GrainInput], before: Sequence[Existing]) -> list[int]:
    """The place of each new item in its session; what is only corroborated keeps its own."""
    last: dict[str, int] = {}
    places = []
    for item, known in zip(items, before, strict=True):
        if not item.session or known.same is not None:
            places.append(0)
            continue
        last[item.session] = last.get(item.session, known.ordinal) + 1
        places.append(last[item.session])
    return places


def link_grains(
    space: int, placed: Sequence[NewGrain], before: Sequence[Existing], moment: datetime
) -> dict[int, bytes]:
    """Make the conduits of new grains; what the arenas are to be told, by grain."""
    _link(placed, before)
    entries = ensure_entries(space, [mention for one in placed for mention in one.item.mentions])
    made = iter(
        insert_conduits(space, [link for one in placed for link in one.links], int(moment.timestamp()), entries)
    )
    return {
        one.grain: Changes((one.grain,), conduit_array([row for row in islice(made, len(one.links)) if row])).pack()
        for one in placed
    }


def _link(placed: Sequence[NewGrain], before: Sequence[Existing]) -> None:
    settings = config.current()
    last: dict[str, int] = {}
    oldest: dict[str, int] = {}
    for one, known in zip(placed, before, strict=True):
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
    """The entries of what was mentioned, made where they are new."""
    wanted = [(space, kind, feature) for kind, feature in dict.fromkeys((one.kind, one.feature) for one in found)]
    return {
        (kind, feature): number
        for piece in _pieces(wanted, len(_ENTRY))
        for number, kind, feature in raw_sql.upsert(Entry, _ENTRY, piece, _OR_FIND)
    }


def insert_conduits(
    space: int, links: Sequence[NewConduit], at: int, entries: Mapping[tuple[str, str], int] = NOTHING
) -> list[tuple[object, ...] | None]:
    """Insert conduits; each as the arena packs it, None for one that was there already."""
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
    """As many rows at a time as one statement takes; nothing at all for none."""
    step = _MAX_VALUES // width
    for start in range(0, len(given), step):
        yield given[start : start + step]
