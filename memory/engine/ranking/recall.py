"""Recall on the index of one space: candidates, scoring, order, confidence. Pure: no clock, no database."""

from __future__ import annotations

from memory.engine.index.space_index import Index
from memory.engine.ranking import rank
from memory.engine.ranking.answer import Ranking, build_ranking
from memory.engine.ranking.candidates import Floats, Mask
from memory.engine.ranking.scoring import score_candidates
from memory.engine.ranking.settings import DEFAULT, Settings
from memory.engine.text.question import Query


def recall(
    index: Index,
    query: Query,
    vector: Floats | None,
    *,
    allowed: Mask | None,
    k: int,
    now: int,
    settings: Settings = DEFAULT,
    ranker: rank.Ranker = rank.FITTED_RANKER,
) -> Ranking:
    """The best k rows for a question; an empty ranking for an empty question, an empty space, or nonsense."""
    caps: list[str] = []
    scored = score_candidates(
        index, query, vector, allowed=allowed, now=now, settings=settings, ranker=ranker, caps=caps
    )
    if scored is None or k < 1:
        return Ranking(caps=caps)
    return build_ranking(index, scored, k, settings, caps, allowed)
