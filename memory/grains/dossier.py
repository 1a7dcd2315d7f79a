"""Dossier of one grain: its fields, links, entries and terms, recalls, votes and history."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from accounts.principals import Principal
from accounts.verbs import selector
from fluxcore import clock
from memory.arena.cache import arena_cache, encoder_name
from memory.engine.index import bm25
from memory.engine.text import words
from memory.grains import grain_links, select, sources
from memory.grains.grain_links import GrainLinks, LineageStep
from memory.grains.lifecycle import grain_history
from memory.grains.models import Entry, Relation
from memory.learning import grain_votes
from memory.recall import grain_recalls
from memory.recall.grain_recalls import GrainUse

TERMS = 50  # terms shown of a long text, the rarest


@dataclass(frozen=True)
class GrainFeature:
    """Entry or term that leads to the grain: an entry has the weight of its conduit, a term its idf."""

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
class GrainDossier:
    number: int
    particulars: dict[str, Any]
    ties: GrainLinks
    entry_links: list[GrainFeature]
    uses: list[GrainUse]
    steps: list[grain_history.HistoryStep] = field(default_factory=list)
    opinions: list[grain_votes.GrainVote] = field(default_factory=list)

    def shape(self) -> dict[str, Any]:
        return {
            **self.particulars,
            "conduits": {
                "in": [tie.shape() for tie in self.ties.inward],
                "out": [tie.shape() for tie in self.ties.outward],
            },
            "found_by": [link.shape() for link in self.entry_links],
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

    def _direct(self, links: list[LineageStep], end: str) -> list[str]:
        return [
            str(getattr(link, end).uuid) for link in links if link.depth == 1 and link.relation == Relation.SUPERSEDES
        ]


@selector("grains.get", needs="grains.read")
def load_dossier(principal: Principal, grain: UUID) -> GrainDossier:
    """One grain of the principal's space with all that belongs to it, in six statements however many links it has.

    Whether the caller may see linked passages, messages and values takes a few more, if there are any.
    """
    row = select.load_row(principal, grain)
    number, own = row[0], select.grain_shape(row) | select.source_of(principal, row)
    space = principal.space or 0  # never 0: the row was found in it
    links = grain_links.load_links(space, number, own["digest"], int(clock.now().timestamp()))
    made = links.made()
    links = links.without(made.keys() - sources.citations(principal, space, made.items()).keys())
    uses, steps = grain_recalls.last_recalls(principal, space, number), grain_history.load_history(space, number)
    opinions = grain_votes.last_votes(principal, space, number)
    return GrainDossier(number, own, links, _entry_links(space, own, links), uses, steps, opinions)


def _entry_links(space: int, own: dict[str, Any], links: GrainLinks) -> list[GrainFeature]:
    """Entries linked to the grain, and every term of its text and speaker: what a question can match."""
    entries = {tie.entry: tie.weight for tie in links.inward if tie.entry is not None}
    terms = list(dict.fromkeys([*words.terms(own["content"]), *words.terms(own["speaker"] or "")]))
    idf = _idf(space, terms)
    term = str(Entry.Kind.TERM)
    stored = [
        GrainFeature(term, one, entries.pop((term, one), None), rarity) for one, rarity in zip(terms, idf, strict=True)
    ]
    stored.sort(key=lambda link: (-(link.idf or 0.0), link.feature))
    learned = [GrainFeature(kind, feature, weight) for (kind, feature), weight in entries.items()]
    return [*learned, *stored[:TERMS]]


def _idf(space: int, terms: list[str]) -> list[float | None]:
    """Inverse document frequency of each term if the space's index is in memory; nothing is read for it."""
    arena = arena_cache()._get(space, encoder_name())
    if arena is None or not terms:
        return [None] * len(terms)
    with arena.lock.reading():
        return [float(one) for one in bm25.idf(arena.index, words.keys(terms))]
