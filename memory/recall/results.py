"""Results of a search with ids of grains, because rows of an index are not valid after it is released."""

from __future__ import annotations

from collections.abc import Collection, Container, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from memory.engine.graph import signal_spread
from memory.engine.index.space_index import Index
from memory.engine.ranking.answer import Ranking
from memory.engine.text import words
from memory.engine.text.question import Query

# Difference between the score of the last active grain and that of the first dormant or archived one.
FADED_FACTOR = 0.5
# Equal texts that are read for a result: enough to count its writers, few enough to load at once.
MOST_FOLDED = 16
UNNAMED = "?"


class ResultStep(NamedTuple):
    """One conduit of the path to a grain."""

    conduit: int
    entry: str  # "kind:feature" it begins at; "" if it begins at a grain, UNNAMED if the question does not say its name
    start: int  # number of the grain it begins at, or 0
    to: int
    relation: int
    signal: float
    weight: float  # after decay
    hop: int


class SearchHit(NamedTuple):
    """One grain of a result, with its score and reasons."""

    id: int
    score: float
    source: str
    parts: dict[str, float]  # named parts of the score
    matched: tuple[tuple[int, float], ...]  # place of a term in the question, and its score
    path: tuple[ResultStep, ...]  # strongest path over conduits
    folded: tuple[int, ...] = ()  # other grains with the same text


@dataclass(frozen=True)
class SearchResult:
    hits: tuple[SearchHit, ...] = ()
    confidence: float = 0.0
    hops: int = 0
    fallback: bool = False
    expansion: tuple[int, ...] = ()
    lateral: tuple[int, ...] = ()  # cluster of each lateral candidate, 0 for none
    exploring: bool = False
    weights: dict[str, Any] = field(default_factory=dict)
    caps: tuple[str, ...] = ()
    rung: str = "warm"
    vectors_missing: int | None = None  # grains without a vector yet; None if not counted

    @property
    def numbers(self) -> list[int]:
        """Ids of all grains that the answer or its trace may name."""
        found: list[int] = []
        for hit in self.hits:
            found += [hit.id, *hit.folded[:MOST_FOLDED], *(step.start for step in hit.path)]
            found += [step.to for step in hit.path]
        return [number for number in dict.fromkeys([*found, *self.expansion]) if number]

    def lateral_candidates(self, available: Container[int], kept: Sequence[SearchHit]) -> list[tuple[int, int]]:
        """Lateral candidates that may be shown and are not in the answer, each with its cluster or 0."""
        answered = {number for hit in kept for number in (hit.id, *hit.folded)}
        offered = zip(self.expansion, self.lateral, strict=True)
        return [(number, cluster) for number, cluster in offered if number in available and number not in answered]

    def without(self, over: Collection[int]) -> SearchResult:
        """The result without these grains; another grain with the same text replaces a removed one."""
        if not over:
            return self
        left = [(one, cluster) for one, cluster in zip(self.expansion, self.lateral, strict=True) if one not in over]
        return replace(
            self,
            hits=tuple(
                hit._replace(id=same[0], folded=tuple(same[1:]))
                for hit in self.hits
                if (same := [one for one in (hit.id, *hit.folded) if one not in over])
            ),
            expansion=tuple(one for one, _ in left),
            lateral=tuple(cluster for _, cluster in left),
        )

    def followed_by(self, more: SearchResult) -> SearchResult:
        """The result followed by the hits of a further search."""
        ceiling = self.hits[-1].score if self.hits else 1.0
        return replace(
            self,
            hits=self.hits + tuple(hit._replace(score=min(hit.score, ceiling)) for hit in more.hits),
            hops=max(self.hops, more.hops),
            caps=tuple(dict.fromkeys(self.caps + more.caps)),
        )

    def followed_by_faded(self, faded: SearchResult, k: int) -> SearchResult:
        """The result followed by dormant and archived hits, with scores below those of the active ones.

        The last active hits are removed if there would be more than k.
        """
        living = self.hits[: k - len(faded.hits)]
        ceiling = FADED_FACTOR * (living[-1].score if living else 1.0)
        more = tuple(hit._replace(score=hit.score * ceiling) for hit in faded.hits)
        return replace(
            self,
            hits=living + more,
            confidence=self.confidence if living else FADED_FACTOR * faded.confidence,
            hops=max(self.hops, faded.hops),
            caps=tuple(dict.fromkeys(self.caps + faded.caps)),
        )


def build_result(index: Index, asked: Query, ranking: Ranking, rung: str) -> SearchResult:
    ids = index.column("id")
    through = any(step.source < 0 for path in ranking.paths for step in path)
    entries = _entries(index, asked) if through else {}
    hits = tuple(
        SearchHit(
            id=number,
            score=score,
            source=source,
            parts=parts,
            matched=tuple(matched),
            path=tuple(_step(index, entries, step) for step in path),
            folded=tuple(int(ids[other]) for other in folded),
        )
        for number, score, source, parts, matched, path, folded in zip(
            ids[ranking.rows].tolist(),
            ranking.scores.tolist(),
            ranking.sources,
            ranking.contributions,
            ranking.matched,
            ranking.paths,
            ranking.folded,
            strict=True,
        )
    )
    return SearchResult(
        hits=hits,
        confidence=ranking.confidence,
        hops=ranking.hops,
        fallback=ranking.fallback,
        expansion=tuple(ids[ranking.expansion].tolist()),
        lateral=tuple(ranking.lateral),
        weights=ranking.weights,
        caps=tuple(ranking.caps),
        rung=rung,
    )


def _entries(index: Index, asked: Query) -> dict[int, str]:
    """Names of the entries in the question by node; the graph has only their keys."""
    names = [f"{mention.kind}:{mention.feature}" for mention in asked.mentions]
    names += [f"term:{term}" for term in dict.fromkeys(asked.terms)]
    return dict(zip(index.graph.entry_node(words.keys(names)).tolist(), names, strict=True))


def _step(index: Index, entries: dict[int, str], step: signal_spread.SignalStep) -> ResultStep:
    ids = index.column("id")
    is_entry = step.source < 0
    return ResultStep(
        conduit=step.conduit,
        entry=entries.get(step.source, UNNAMED) if is_entry else "",
        start=0 if is_entry else int(ids[step.source]),
        to=int(ids[step.target]) if step.target >= 0 else 0,
        relation=step.relation,
        signal=step.signal,
        weight=step.effective,
        hop=step.hop,
    )
