"""How alike questions are: the judged ones nearest to one asked now, in meaning or in words, and what they share."""

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
_EXACT, _RESCORED = 256, 64  # only the nearest few are wanted, so few are scored


def naming_terms(query: Query) -> set[int]:
    """The terms that name something: capitalised ones and numbers."""
    # "Will" may be capitalised and no term all the same.
    return {words.key(term) for term in query.terms if term in query.capitals or any(map(str.isdigit, term))}


def term_weights(index: Index, terms: frozenset[int]) -> dict[int, float]:
    """How much terms say. Speakers' names say nothing here: nearly every question holds one."""
    keys = np.fromiter(terms, np.uint64, len(terms))
    # A word no grain holds tells two questions apart like the rarest one.
    rarest = float(np.log1p((index.size + 0.5) / 0.5))
    found = {key: weight or rarest for key, weight in zip(terms, bm25.idf(index, keys).tolist(), strict=True)}
    for names in index.speakers.values():
        for name in names:
            if name in found:
                found[name] = 0.0
    return found


def shared_weight(weights: dict[int, float], one: frozenset[int], other: frozenset[int]) -> float:
    """Weight of the terms both have ÷ weight of those either has."""
    joint = sum(weights[term] for term in one | other)
    return sum(weights[term] for term in one & other) / joint if joint > 0 else 0.0


def nearest_by_meaning(
    learned: Learned, vector: Floats | None, nearest: int, common: float, common_weight: int
) -> dict[int, float]:
    """The judged questions nearest in meaning, and how alike each is: 0 no more than any two, 1 the same.

    `common` is the mean cosine of two questions where few are judged, and `common_weight` how many outweigh it.
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
    alike = (cosines.astype(np.float64) - level) / (1 - level)
    return {learned.slots[slot]: float(z) for slot, z in zip(slots.tolist(), alike, strict=True)}


def sharing_words(learned: Learned, keys: frozenset[int]) -> list[int]:
    """Judged questions that share a word, through the words fewest of them hold."""
    found: dict[int, None] = {}
    together = sorted(
        (some for term in keys if (some := learned.by_term.get(term))), key=lambda some: (len(some), some)
    )
    for some in together:
        if len(some) <= _MOST_TOGETHER and len(found) < _MOST_TOGETHER:
            found |= dict.fromkeys(some)
    return list(found)
