"""The words of a question by their weight, and who holds which of them: grains, and questions that were judged."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from memory.engine.index.space_index import Index
from memory.engine.learning.learned import QuestionCredits
from memory.engine.text.question import Query

Floats = NDArray[np.float32]


class QuestionTerms:
    """Each word's share of a question's weight."""

    def __init__(self, index: Index, query: Query, weights: dict[int, float]) -> None:
        self.keys = np.unique(query.keys)
        weight = np.array([weights[term] for term in self.keys.tolist()], np.float32)
        self.share = weight / max(float(weight.sum()), 1e-9)
        self._index, self._spans = index, index.postings.spans(self.keys)

    def held(self, rows: NDArray[np.integer]) -> NDArray[np.bool_]:
        """Which words stand in which of these grains: [words, rows]."""
        found: NDArray[np.bool_] = self._index.postings.counts_of(self._spans, rows) > 0
        return found

    def cover(self, rows: NDArray[np.integer]) -> Floats:
        """How much of the question's weight stands in each of these grains."""
        found: Floats = self.share @ self.held(rows)
        return found


class TermDifference:
    """What of a question only a judged one holds, and what only a grain that was useful for that one.

    A word in both needs no vote. One in the judged question alone is what matching the grain's text could not know;
    one in the grain alone says that the grain answers more than it was judged for.
    """

    def __init__(self, wording: QuestionTerms, questions: Sequence[tuple[int, QuestionCredits]], size: int) -> None:
        useful = {row for _, judged in questions for row, credit in judged.credits.items() if credit > 0}
        rows = sorted(row for row in useful if 0 <= row < size)
        terms = wording.keys.tolist()
        asked = np.array([[term in judged.terms for term in terms] for _, judged in questions], np.bool_)
        asked = asked.reshape(len(questions), len(terms))
        held = wording.held(np.array(rows, np.int64))
        self._rows = {row: at for at, row in enumerate(rows)}
        self._questions = {key: at for at, (key, _) in enumerate(questions)}
        self._by_question = ((asked * wording.share) @ ~held).tolist()
        self._by_grain = ((~asked * wording.share) @ held).tolist()

    def shares(self, key: int, row: int) -> tuple[float, float]:
        """Of the question's weight: in the judged question alone, and in the grain alone."""
        if row not in self._rows:
            return 0.0, 0.0
        question, grain = self._questions[key], self._rows[row]
        return self._by_question[question][grain], self._by_grain[question][grain]
