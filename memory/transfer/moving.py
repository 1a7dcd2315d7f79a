"""Taking a source in, batch by batch: the same work for a command that waits for it and for a job."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from accounts.principals import Principal
from fluxcore.errors import FluxError, Invalid
from memory.grains.moving import into, links
from memory.grains.moving.into import AT_ONCE, REFUSED
from memory.transfer.formats.source import Incoming, Source

Batch = Callable[[Sequence[dict[str, Any]]], list[dict[str, Any]]]


@dataclass(frozen=True)
class Told:
    """What became of one item."""

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
class Tally:
    """How many of each."""

    grains: Counter[str] = field(default_factory=Counter)
    links: Counter[str] = field(default_factory=Counter)
    capped: int = 0

    def add(self, told: Iterable[Told]) -> None:
        for one in told:
            (self.links if one.link else self.grains)[one.status] += 1
            self.capped += one.capped

    def shape(self) -> dict[str, int]:
        return {
            "stored": self.grains[into.STORED], "there": self.grains[into.THERE],
            "refused": self.grains[REFUSED] + self.links[REFUSED], "capped": self.capped,
            "links": self.links[into.STORED],
        }  # fmt: skip


def refused(one: Incoming, error: FluxError, *, link: bool = False) -> Told:
    return Told(one.place, REFUSED, one.key, code=error.code, message=error.message, link=link)


def grains(some: Sequence[Incoming], take: Batch) -> list[Told]:
    """Take the grains of a batch; those that could not even be read are refused where they stand."""
    good = [one for one in some if one.problem is None]
    results = iter(take([one.given for one in good]) if good else ())
    return [refused(one, one.problem) if one.problem else _told(one, next(results)) for one in some]


def ties(some: Sequence[Incoming], known: dict[str, str], take: Batch) -> list[Told]:
    """Take the links of a batch, whose ends are named by the keys of grains that were taken before."""
    resolved: list[tuple[Incoming, dict[str, Any] | None]] = []
    for one in some:
        ends = {name: known.get(str(one.given.get(name))) for name in ("from", "to") if name in one.given}
        whole = one.problem is None and None not in ends.values()
        resolved.append((one, one.given | ends if whole else None))
    results = iter(take(given) if (given := [found for _, found in resolved if found is not None]) else ())
    lost = Invalid("One of its grains was not taken.", field="links")
    return [
        refused(one, one.problem or lost, link=True) if found is None else _told(one, next(results), link=True)
        for one, found in resolved
    ]


def _told(one: Incoming, result: dict[str, Any], *, link: bool = False) -> Told:
    error = result["error"] or {}
    return Told(
        one.place, result["status"], one.key, result.get("grain_id"), error.get("code", ""), error.get("message", ""),
        bool(result.get("capped")), link,
    )  # fmt: skip


def batches(items: Iterable[Incoming]) -> Iterator[list[Incoming]]:
    rest = iter(items)
    while some := list(islice(rest, AT_ONCE)):
        yield some


def claimed(items: Iterable[Incoming], provenance: str | None) -> Iterator[Incoming]:
    """With what the person says about those that say nothing themselves."""
    for one in items:
        if provenance is not None and one.problem is None and one.given.get("provenance") is None:
            one.given["provenance"] = provenance
        yield one


def run(who: Principal, source: Source, *, provenance: str | None, dry: bool, reason: str = "") -> Iterator[list[Told]]:
    """Take all of it, a batch at a time; what became of each is told after its commit."""
    known: dict[str, str] = {}

    def take(items: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        if dry:
            return into.foreseen(who.space or 0, *into.examined(items, ceiling=who.ceiling))
        return list(into.take(who, items=items, source=source.name, reason=reason))

    def tie(given: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        if dry:
            _, results = links.examined(given)
            return [one or {"status": into.STORED, "error": None} for one in results]
        return list(links.tie(who, links=given, source=source.name, reason=reason))

    for some in batches(claimed(source.items(), provenance)):
        told = grains(some, take)
        # A dry run has no ids yet; any will do to look at the links.
        known |= {one.key: one.grain_id or str(uuid.uuid4()) for one in told if one.key and one.status != REFUSED}
        yield told
    for some in batches(source.links()):
        yield ties(some, known, tie)
