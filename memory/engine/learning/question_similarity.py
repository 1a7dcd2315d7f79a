"""Similarity of questions: the judged questions nearest to a new one, by meaning or by words, and shared terms."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from memory.engine.index import bm25
from memory.engine.index.space_index import Index
from memory.engine.learning.learned import GRID, Learned
from memory.engine.text import words
from memory.engine.text.question import Query

Floats = NDArray[np.float32]

_MOST_TOGETHER = 64  # judged questions that are compared by words
_EXACT, _RESCORED = 256, 64  # of `Dense.search`: only a few nearest are wanted, so few are scored


def naming_terms(query: Query) -> set[int]:
    """The terms that name something: capitalised ones and numbers."""
    # A capitalised stop word ("Will") is no term, so only terms are compared with `capitals`.
    return {words.key(term) for term in query.terms if term in query.capitals or any(map(str.isdigit, term))}


def term_weights(index: Index, terms: frozenset[int]) -> dict[int, float]:
    """idf of terms; 0 for names of speakers, because nearly every question has one."""
    keys = np.fromiter(terms, np.uint64, len(terms))
    # A term that no grain has distinguishes two questions as well as the rarest one.
    rarest = float(np.log1p((index.size + 0.5) / 0.5))
    weights = {key: weight or rarest for key, weight in zip(terms, bm25.idf(index, keys).tolist(), strict=True)}
    for names in index.speakers.values():
        for name in names:
            if name in weights:
                weights[name] = 0.0
    return weights


def shared_weight(weights: dict[int, float], first: frozenset[int], second: frozenset[int]) -> float:
    """Weight of the terms both have ÷ weight of those either has."""
    joint = sum(weights[term] for term in first | second)
    return sum(weights[term] for term in first & second) / joint if joint > 0 else 0.0


def nearest_by_meaning(
    learned: Learned, vector: Floats | None, nearest: int, common: float, common_weight: int
) -> dict[int, float]:
    """The judged questions nearest by meaning, with their similarity: 0 like any two questions, 1 the same.

    `common` is the prior of the mean cosine of two questions, and `common_weight` its weight in questions.
    """
    if vector is None or learned.vectors is None or not learned.encoded:
        return {}
    if learned.vectors.dimension != len(vector):
        return {}
    length = float(np.linalg.norm(vector))
    if not np.isfinite(length) or length == 0:
        return {}
    slots, cosines = learned.vectors.search(vector, k=nearest, exact=_EXACT, rescored=_RESCORED)
    summed = float(learned.total @ vector.astype(np.float64)) / (GRID * length)
    level = min((summed + common_weight * common) / (learned.encoded + common_weight), 0.95)
    similarity = (cosines.astype(np.float64) - level) / (1 - level)
    return {learned.slots[slot]: float(z) for slot, z in zip(slots.tolist(), similarity, strict=True)}


def sharing_words(learned: Learned, keys: frozenset[int]) -> list[int]:
    """Judged questions that share a term, through the terms with the fewest questions."""
    chosen: dict[int, None] = {}
    by_rarity = sorted(
        (questions for term in keys if (questions := learned.by_term.get(term))),
        key=lambda questions: (len(questions), questions),
    )
    for questions in by_rarity:
        if len(questions) <= _MOST_TOGETHER and len(chosen) < _MOST_TOGETHER:
            chosen |= dict.fromkeys(questions)
    return list(chosen)
