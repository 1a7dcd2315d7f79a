"""Everything known about one grain: its particulars, what it hangs on, what finds it, when it was of use."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from accounts.principals import Principal
from accounts.verbs import selector
from fluxcore import clock
from memory.arena.shelf import encoder_name, shelf
from memory.engine import bm25, words
from memory.grains import history, select, ties
from memory.grains.history import Use
from memory.grains.learning import said
from memory.grains.lifecycle import story
from memory.grains.models import Entry, Relation
from memory.grains.ties import Link, Ties

TERMS = 50  # of a long text, the rarest


@dataclass(frozen=True)
class Door:
    """A feature that leads to the grain: an entry's has the weight of its conduit, a term of the text its idf."""

    kind: str
    feature: str
    weight: float | None = None
    idf: float | None = None  # None: no index of the space is in memory here

    def shape(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "feature": self.feature,
            "weight": round(self.weight, 4) if self.weight is not None else None,
            "idf": round(self.idf, 4) if self.idf is not None else None,
        }


@dataclass(frozen=True)
class Dossier:
    number: int
    particulars: dict[str, Any]
    ties: Ties
    doors: list[Door]
    uses: list[Use]
    steps: list[story.Told] = field(default_factory=list)
    opinions: list[said.Opinion] = field(default_factory=list)

    def shape(self) -> dict[str, Any]:
        return {
            **self.particulars,
            "conduits": {
                "in": [tie.shape() for tie in self.ties.inward],
                "out": [tie.shape() for tie in self.ties.outward],
            },
            "found_by": [door.shape() for door in self.doors],
            "recalls": [use.shape() for use in self.uses],
            "transitions": [step.shape() for step in self.steps],
            "votes": [one.shape() for one in self.opinions],
            "cluster": self.ties.cluster.shape() if self.ties.cluster else None,
            "lineage": {
                "chain": [link.shape() for link in (*self.ties.back, *self.ties.ahead)],
                "supersedes": self._direct(self.ties.back, "target"),
                "superseded_by": self._direct(self.ties.ahead, "source"),
                "same_text": [str(end.uuid) for end in self.ties.same_text],
            },
        }

    def _direct(self, links: list[Link], end: str) -> list[str]:
        return [
            str(getattr(link, end).uuid) for link in links if link.depth == 1 and link.relation == Relation.SUPERSEDES
        ]


@selector("grains.get", needs="grains.read")
def dossier(principal: Principal, grain: UUID) -> Dossier:
    """One grain of the principal's space with all that belongs to it, in six statements whatever hangs on it."""
    row = select.row(principal, grain)
    number, own = row[0], select.shape(row)
    space = principal.space or 0  # never 0: the row was found in it
    hangs = ties.of(space, number, own["digest"], int(clock.now().timestamp()))
    uses, steps = history.last(principal, space, number), story.of(space, number)
    opinions = said.last(principal, space, number)
    return Dossier(number, own, hangs, _doors(space, own, hangs), uses, steps, opinions)


def _doors(space: int, own: dict[str, Any], hangs: Ties) -> list[Door]:
    """What a question can find it by: entries with rows of their own, and every term of the text and the speaker."""
    entries = {tie.entry: tie.weight for tie in hangs.inward if tie.entry is not None}
    terms = list(dict.fromkeys([*words.terms(own["content"]), *words.terms(own["speaker"] or "")]))
    idf = _idf(space, terms)
    term = str(Entry.Kind.TERM)
    stored = [Door(term, one, entries.pop((term, one), None), rarity) for one, rarity in zip(terms, idf, strict=True)]
    stored.sort(key=lambda door: (-(door.idf or 0.0), door.feature))
    learned = [Door(kind, feature, weight) for (kind, feature), weight in entries.items()]
    return [*learned, *stored[:TERMS]]


def _idf(space: int, terms: list[str]) -> list[float | None]:
    """How rare each term is, if an index of the space is in memory here; nothing is read for it."""
    arena = shelf()._held(space, encoder_name())
    if arena is None or not terms:
        return [None] * len(terms)
    with arena.gate.reading():
        return [float(one) for one in bm25.idf(arena.index, words.keys(terms))]
