"""Imported conduits: links between grains that another memory was told or has learned."""

from __future__ import annotations

import math
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from accounts.verbs import Change, RunningCall, verb
from fluxcore import clock, config, raw_sql
from fluxcore.errors import FluxError, Invalid
from memory.arena.changes import Changes, conduit_array
from memory.engine.text import words
from memory.grains import grain_input, linking
from memory.grains.import_export.write_batch import AT_ONCE, REFUSED, STORED, THERE
from memory.grains.models import Conduit, DecayClass, Entry, Grain, Relation
from memory.recall import filters

FIELDS = ("from", "entry", "to", "relation", "weight", "affinity", "decay_class", "made_at", "used_at", "use_count")
_RELATIONS = {one.name.lower(): one for one in Relation}
_CLASSES = {one.name.lower(): one for one in DecayClass}
_COLUMNS = (
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
_TABLE = Conduit._meta.db_table
# What was learned in this space overrides what was learned in another one.
_UNLESS_LEARNED = (
    "ON CONFLICT (space_id, {begins}, to_grain_id, relation) WHERE {other} IS NULL DO UPDATE SET "
    "weight = excluded.weight, affinity = excluded.affinity, decay_class = excluded.decay_class, "
    "made_at = excluded.made_at, used_at = excluded.used_at, use_count = excluded.use_count "
    f"WHERE {_TABLE}.use_count = 0 AND {_TABLE}.base IS NULL AND ({_TABLE}.weight <> excluded.weight "
    f"OR {_TABLE}.affinity <> excluded.affinity OR {_TABLE}.use_count <> excluded.use_count) "
    "RETURNING id, from_entry_id, from_grain_id, to_grain_id, relation"
)
_FROM_GRAIN = _UNLESS_LEARNED.format(begins="from_grain_id", other="from_entry_id")
_FROM_ENTRY = _UNLESS_LEARNED.format(begins="from_entry_id", other="from_grain_id")


@dataclass(frozen=True)
class ImportedLink:
    """Validated input of one conduit; it begins at a grain or at an entry."""

    to: uuid.UUID
    relation: int
    weight: float
    affinity: float
    decay_class: int
    made_at: int
    used_at: int
    use_count: int
    grain: uuid.UUID | None = None
    entry: tuple[str, str] | None = None


@verb("grains.import_links", needs="import")
def import_links(call: RunningCall, *, links: Sequence[Any], source: str) -> Change:
    """Import up to AT_ONCE conduits in one commit, between grains of this space."""
    if not 1 <= len(links) <= AT_ONCE:
        raise Invalid(f"links must be a list of 1 to {AT_ONCE}.", field="links")
    good, results = check_links(links)
    return lambda: write_links(call, good, results, source)


def check_links(links: Sequence[Any]) -> tuple[list[tuple[int, ImportedLink]], list[dict[str, Any]]]:
    good: list[tuple[int, ImportedLink]] = []
    results: list[dict[str, Any]] = [{} for _ in links]
    for index, given in enumerate(links):
        try:
            good.append((index, check_imported_link(given)))
        except FluxError as error:
            results[index] = {"status": REFUSED, "error": error.body()}
    return good, results


def write_links(
    call: RunningCall, good: Sequence[tuple[int, ImportedLink]], results: list[dict[str, Any]], source: str
) -> list[dict[str, Any]]:
    """Write conduits inside the running write; returns the result of each."""
    space = call.principal.space
    if space is None:
        raise Invalid("The space to import into is missing.", field="space")
    named = {one for _, link in good for one in (link.to, link.grain) if one is not None}
    found = Grain.objects.filter(space=space, uuid__in=named).values_list("uuid", "id")
    numbers: dict[uuid.UUID, int] = dict(found)
    wanted = [_LinkedEntry(*link.entry) for _, link in good if link.entry]
    entries = linking.ensure_entries(space, wanted) if wanted else {}
    unique: dict[tuple[Any, ...], tuple[Any, ...]] = {}
    ends: dict[int, tuple[Any, ...]] = {}
    for index, link in good:
        missing = next((one for one in (link.to, link.grain) if one is not None and one not in numbers), None)
        if missing is not None:
            error = Invalid("One of the memories it links is not in this space.", field="links", grain=str(missing))
            results[index] = {"status": REFUSED, "error": error.body()}
            continue
        entry = entries[link.entry] if link.entry else None
        grain = numbers[link.grain] if link.grain else None
        ends[index] = (entry, grain, numbers[link.to], link.relation)
        unique[ends[index]] = (
            space,
            *ends[index],
            link.weight,
            link.affinity,
            link.decay_class,
            link.made_at,
            link.used_at,
            link.use_count,
        )
    written = _write(unique)
    features = {number: feature for feature, number in entries.items()}
    for index, key in ends.items():
        results[index] = {"status": STORED if key in written else THERE, "error": None}
    if written:
        packed = conduit_array(
            (
                written[key],
                key[0] or 0,
                words.key(":".join(features[key[0]])) if key[0] else 0,
                key[1] or 0,
                key[2],
                row[5],
                row[6],
                row[8],
                row[9],
                key[3],
                row[7],
            )
            for key, row in unique.items()
            if key in written
        )
        call.record("", links=len(written), source=source)
        call.event("links.imported", "", {"links": len(written), "source": source}, Changes((), packed).pack())
    return results


def _write(unique: dict[tuple[Any, ...], tuple[Any, ...]]) -> dict[tuple[Any, ...], int]:
    found: dict[tuple[Any, ...], int] = {}
    for statement, begins_at_an_entry in ((_FROM_ENTRY, True), (_FROM_GRAIN, False)):
        some = [row for key, row in unique.items() if (key[0] is not None) == begins_at_an_entry]
        if some:
            found |= {tuple(row[1:]): row[0] for row in raw_sql.upsert(Conduit, _COLUMNS, some, statement)}
    return found


@dataclass(frozen=True)
class _LinkedEntry:
    kind: str
    feature: str


def check_imported_link(given: Any) -> ImportedLink:
    """Validate an imported conduit; raises Invalid with the name of the field."""
    if not isinstance(given, dict) or not set(given) <= set(FIELDS):
        raise Invalid(f"A link must be an object with {', '.join(FIELDS)}.", field="links")
    grain, entry = given.get("from"), given.get("entry")
    if (grain is None) == (entry is None):
        raise Invalid("A link must begin at a memory (from) or at an entity (entry).", field="from")
    start, end = None if grain is None else _id(grain, "from"), _id(given.get("to"), "to")
    if start == end:
        raise Invalid("A link must connect two different memories.", field="to")
    settings, moment = config.current(), filters.epoch_seconds(clock.now())
    made, used = (
        moment if given.get(name) is None else filters.epoch_seconds(grain_input.parse_time(given[name], name=name))
        for name in ("made_at", "used_at")
    )
    return ImportedLink(
        end,
        _named(given, "relation", _RELATIONS, "related"),
        _number(given, "weight", settings.INITIAL_WEIGHT_SCALE, 0.0, settings.WEIGHT_CEILING),
        _number(given, "affinity", 1.0, 0.1, 2.0),
        _named(given, "decay_class", _CLASSES, "working"),
        made,
        used,
        int(_number(given, "use_count", 0, 0, 1_000_000)),
        start,
        None if entry is None else _feature(entry),
    )


def _id(value: Any, name: str) -> uuid.UUID:
    try:
        return uuid.UUID(value)
    except (ValueError, TypeError, AttributeError):
        raise Invalid(f"{name} must be the id of a memory.", field=name) from None


def _feature(value: Any) -> tuple[str, str]:
    kind, feature = (value.get("kind"), value.get("feature")) if isinstance(value, dict) else (None, None)
    if kind not in Entry.Kind.values or not isinstance(feature, str) or not 1 <= len(feature) <= 128:
        raise Invalid("An entity (entry) must have a kind and a feature.", field="entry")
    grain_input.check_visible_name(feature, name="entry", longest=128)
    return kind, feature


def _named(given: dict[str, Any], name: str, allowed: dict[str, Any], default: str) -> int:
    value = given.get(name, default)
    if not isinstance(value, str) or value not in allowed:
        raise Invalid(f"{name} must be one of {', '.join(allowed)}.", field=name)
    return int(allowed[value])


def _number(given: dict[str, Any], name: str, default: float, least: float, most: float) -> float:
    value = given.get(name)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise Invalid(f"{name} must be a number.", field=name)
    return min(max(float(value), least), most)
