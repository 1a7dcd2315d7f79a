"""Vote direction: in vector space, from not useful to useful grains of similar questions.

Votes on some grains also say something about grains nobody judged: a grain that lies in the direction of the useful
ones is a little more likely to answer:

    d = sum over similar questions of z (sum of useful vectors - their number · mean vector of those not useful)

This is one gradient step of a vector ranker trained on these questions, so it needs no fit, and undoing a vote removes
its part of the sum. A question without useful, or without not useful grains has no such contrast and adds nothing.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from memory.engine.index.dense import Dense
from memory.engine.index.space_index import Index
from memory.engine.learning.learned import FULL_CREDIT, QuestionCredits

Rows = NDArray[np.int32]
Floats = NDArray[np.float32]


def direction(
    questions: Iterable[tuple[QuestionCredits, float]], index: Index, allowed: NDArray[np.bool_] | None
) -> Floats | None:
    """Direction from judged questions, each with its similarity; None if they have no contrast."""
    dense = index.dense
    similar = [(judged, similarity) for judged, similarity in questions if similarity > 0]
    if dense is None or not similar:
        return None
    rows = np.array([row for judged, _ in similar for row in judged.credits], np.int64)
    credits = np.array([credit for judged, _ in similar for credit in judged.credits.values()], np.float64)
    question_of = np.repeat(np.arange(len(similar)), [len(judged.credits) for judged, _ in similar])
    usable = (rows >= 0) & (rows < min(index.size, dense.size))
    usable[usable] = dense.has[rows[usable]] if allowed is None else dense.has[rows[usable]] & allowed[rows[usable]]
    order = np.lexsort((rows, question_of))  # in a fixed order: sums of floats depend on it
    order = order[usable[order]]
    rows, credits, question_of = rows[order], credits[order], question_of[order]
    weights = np.array([similarity for _, similarity in similar])[question_of] * _balance_credits(
        credits / FULL_CREDIT, question_of, len(similar)
    )
    if not weights.any():
        return None
    result: Floats = (weights * dense.scale[rows]).astype(np.float32) @ dense.data[rows].astype(np.float32)
    return result


def distance_along(toward: Floats, dense: Dense, rows: Rows) -> Floats:
    """Projection of each of these grains on the direction, minus their mean; 0 for a grain without a vector."""
    distances = np.zeros(len(rows), np.float32)
    known = rows < dense.size
    known[known] = dense.has[rows[known]]
    if known.any():
        projection = dense.scores(toward, rows[known].astype(np.int64)) * np.float32(np.linalg.norm(toward))
        distances[known] = projection - np.float32(projection.mean())
    return distances


def _balance_credits(credits: NDArray[np.float64], question_of: NDArray[np.int64], count: int) -> NDArray[np.float64]:
    """Credits with the negative ones scaled so that, by question, they weigh as much as the positive ones."""
    useful = np.bincount(question_of, np.maximum(credits, 0), count)
    not_useful = np.bincount(question_of, np.maximum(-credits, 0), count)
    has_both = (useful > 0) & (not_useful > 0)
    balance = np.divide(useful, not_useful, out=np.zeros(count), where=has_both)
    return np.where(credits > 0, has_both[question_of] * credits, balance[question_of] * credits)
