"""Recall over the arrays of one space: candidates, signals, order, confidence. Pure: no clock, no database."""

from __future__ import annotations

from memory.engine import rank
from memory.engine.answer import Ranking, answer
from memory.engine.candidates import Floats, Mask
from memory.engine.index import Index
from memory.engine.question import Query
from memory.engine.settings import DEFAULT, Settings
from memory.engine.weigh import weigh


def recall(
    index: Index, query: Query, vector: Floats | None, *, allowed: Mask | None, k: int, now: int,
    settings: Settings = DEFAULT, ranker: rank.Ranker = rank.FITTED,
) -> Ranking:  # fmt: skip
    """The best k rows for a question. Nothing at all for an empty question, an empty space, or nonsense."""
    caps: list[str] = []
    weighed = weigh(index, query, vector, allowed=allowed, now=now, settings=settings, ranker=ranker, caps=caps)
    if weighed is None or k < 1:
        return Ranking(caps=caps)
    return answer(index, weighed, k, settings, caps, allowed)
