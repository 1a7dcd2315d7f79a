"""Importer: writes a source batch by batch, for the command and the job of an import."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from accounts.principals import Principal
from fluxcore.errors import FluxError, Invalid
from memory.grains.import_export import imported_link, write_batch
from memory.grains.import_export.write_batch import AT_ONCE, REFUSED
from memory.transfer.formats.source import Source, SourceItem

TakeBatch = Callable[[Sequence[dict[str, Any]]], list[dict[str, Any]]]


@dataclass(frozen=True)
class ItemOutcome:
    """Result of one imported item."""

    place: str
    status: str
    key: str = ""
    grain_id: str | None = None
    code: str = ""
    message: str = ""
    capped: bool = False
    link: bool = False

    def shape(self) -> dict[str, Any]:
        found = {"place": self.place, "status": self.status}
        if self.grain_id:
            found["grain_id"] = self.grain_id
        return found | ({"code": self.code, "message": self.message} if self.code else {})


@dataclass
class ImportTally:
    """Counts of results."""

    grains: Counter[str] = field(default_factory=Counter)
    links: Counter[str] = field(default_factory=Counter)
    capped: int = 0

    def add(self, outcomes: Iterable[ItemOutcome]) -> None:
        for one in outcomes:
            (self.links if one.link else self.grains)[one.status] += 1
            self.capped += one.capped

    def shape(self) -> dict[str, int]:
        return {
            "stored": self.grains[write_batch.STORED],
            "there": self.grains[write_batch.THERE],
            "refused": self.grains[REFUSED] + self.links[REFUSED],
            "capped": self.capped,
            "links": self.links[write_batch.STORED],
        }


def refused_outcome(one: SourceItem, error: FluxError, *, link: bool = False) -> ItemOutcome:
    return ItemOutcome(one.place, REFUSED, one.key, code=error.code, message=error.message, link=link)


def import_grains(some: Sequence[SourceItem], take: TakeBatch) -> list[ItemOutcome]:
    """Import the grains of a batch; unreadable ones are refused with their place."""
    good = [one for one in some if one.problem is None]
    results = iter(take([one.given for one in good]) if good else ())
    return [refused_outcome(one, one.problem) if one.problem else _told(one, next(results)) for one in some]


def import_links(some: Sequence[SourceItem], known: dict[str, str], take: TakeBatch) -> list[ItemOutcome]:
    """Import the links of a batch, whose ends are keys of grains imported before."""
    resolved: list[tuple[SourceItem, dict[str, Any] | None]] = []
    for one in some:
        ends = {name: known.get(str(one.given.get(name))) for name in ("from", "to") if name in one.given}
        whole = one.problem is None and None not in ends.values()
        resolved.append((one, one.given | ends if whole else None))
    results = iter(take(given) if (given := [found for _, found in resolved if found is not None]) else ())
    lost = Invalid("One of the memories it links was not imported.", field="links")
    return [
        refused_outcome(one, one.problem or lost, link=True) if found is None else _told(one, next(results), link=True)
        for one, found in resolved
    ]


def _told(one: SourceItem, result: dict[str, Any], *, link: bool = False) -> ItemOutcome:
    error = result["error"] or {}
    return ItemOutcome(
        one.place,
        result["status"],
        one.key,
        result.get("grain_id"),
        error.get("code", ""),
        error.get("message", ""),
        bool(result.get("capped")),
        link,
    )


def split_into_batches(items: Iterable[SourceItem]) -> Iterator[list[SourceItem]]:
    rest = iter(items)
    while some := list(islice(rest, AT_ONCE)):
        yield some


def with_default_provenance(items: Iterable[SourceItem], provenance: str | None) -> Iterator[SourceItem]:
    """Items with the default provenance if they have none."""
    for one in items:
        if provenance is not None and one.problem is None and one.given.get("provenance") is None:
            one.given["provenance"] = provenance
        yield one


def import_source(
    who: Principal, source: Source, *, provenance: str | None, dry: bool, reason: str = ""
) -> Iterator[list[ItemOutcome]]:
    """Import a source, a batch at a time; yields the results of each batch after its commit."""
    known: dict[str, str] = {}

    def take(items: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        if dry:
            return write_batch.preview_items(who.space or 0, *write_batch.check_items(items, ceiling=who.ceiling))
        return list(write_batch.import_grains(who, items=items, source=source.name, reason=reason))

    def tie(given: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        if dry:
            _, results = imported_link.check_links(given)
            return [one or {"status": write_batch.STORED, "error": None} for one in results]
        return list(imported_link.import_links(who, links=given, source=source.name, reason=reason))

    for some in split_into_batches(with_default_provenance(source.items(), provenance)):
        outcomes = import_grains(some, take)
        # A dry run has no ids yet; any id is enough to check the links.
        known |= {one.key: one.grain_id or str(uuid.uuid4()) for one in outcomes if one.key and one.status != REFUSED}
        yield outcomes
    for some in split_into_batches(source.links()):
        yield import_links(some, known, tie)
