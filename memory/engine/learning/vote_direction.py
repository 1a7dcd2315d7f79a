"""Which way the answers of like questions lie.

A vote on one grain also says something of grains nobody judged. Where like questions had their answers, and what was
shown for them had not, differ in meaning; what lies the same way is a little likelier to answer now:

    d = sum over like questions of z (sum of useful vectors - their number · mean vector of what was shown in vain)

It is one step of the gradient by which a ranker of vectors would learn from these questions, so it needs no fit, and
taking a vote back takes its part of the sum. A question for which nothing was useful, or nothing in vain, has no such
contrast, and says nothing.
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
    """Of these questions, each with how alike it is; None if they say nothing of it."""
    dense = index.dense
    like = [(judged, alike) for judged, alike in questions if alike > 0]
    if dense is None or not like:
        return None
    rows = np.array([row for judged, _ in like for row in judged.credits], np.int64)
    credits = np.array([credit for judged, _ in like for credit in judged.credits.values()], np.float64)
    of = np.repeat(np.arange(len(like)), [len(judged.credits) for judged, _ in like])
    there = (rows >= 0) & (rows < min(index.size, dense.size))
    there[there] = dense.has[rows[there]] if allowed is None else dense.has[rows[there]] & allowed[rows[there]]
    order = np.lexsort((rows, of))  # in a fixed order: sums of floats depend on it
    order = order[there[order]]
    rows, credits, of = rows[order], credits[order], of[order]
    weights = np.array([alike for _, alike in like])[of] * _contrast(credits / FULL_CREDIT, of, len(like))
    if not weights.any():
        return None
    found: Floats = (weights * dense.scale[rows]).astype(np.float32) @ dense.data[rows].astype(np.float32)
    return found


def distance_along(toward: Floats, dense: Dense, rows: Rows) -> Floats:
    """How far each of these grains lies that way, from where they lie on average; 0 for one without a vector yet."""
    found = np.zeros(len(rows), np.float32)
    known = rows < dense.size
    known[known] = dense.has[rows[known]]
    if known.any():
        far = dense.scores(toward, rows[known].astype(np.int64)) * np.float32(np.linalg.norm(toward))
        found[known] = far - np.float32(far.mean())
    return found


def _contrast(credits: NDArray[np.float64], of: NDArray[np.int64], count: int) -> NDArray[np.float64]:
    """Credits by question, those of what was in vain scaled so that they weigh as much as what was useful."""
    useful = np.bincount(of, np.maximum(credits, 0), count)
    vain = np.bincount(of, np.maximum(-credits, 0), count)
    told = (useful > 0) & (vain > 0)
    balance = np.divide(useful, vain, out=np.zeros(count), where=told)
    return np.where(credits > 0, told[of] * credits, balance[of] * credits)
