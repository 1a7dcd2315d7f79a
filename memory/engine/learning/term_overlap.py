"""Term overlap of a question with grains and with judged questions, weighted by idf."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from memory.engine.index.space_index import Index
from memory.engine.learning.learned import QuestionCredits
from memory.engine.text.question import Query

Floats = NDArray[np.float32]


class QuestionTerms:
    """Terms of a question, each with its share of the question's idf."""

    def __init__(self, index: Index, query: Query, weights: dict[int, float]) -> None:
        self.keys = np.unique(query.keys)
        weight = np.array([weights[term] for term in self.keys.tolist()], np.float32)
        self.share = weight / max(float(weight.sum()), 1e-9)
        self._index, self._spans = index, index.postings.spans(self.keys)

    def held(self, rows: NDArray[np.integer]) -> NDArray[np.bool_]:
        """Whether each term occurs in each of these grains: [terms, rows]."""
        found: NDArray[np.bool_] = self._index.postings.counts_of(self._spans, rows) > 0
        return found

    def cover(self, rows: NDArray[np.integer]) -> Floats:
        """Share of the question's idf in each of these grains."""
        found: Floats = self.share @ self.held(rows)
        return found


class TermDifference:
    """Terms of a question that only a judged question has, and terms that only a grain useful for that question has.

    A term in both needs no vote. A term only in the judged question is what matching the text of the grain could not
    know; a term only in the grain shows that it answers more than it was judged for.
    """

    def __init__(self, question: QuestionTerms, questions: Sequence[tuple[int, QuestionCredits]], size: int) -> None:
        useful = {row for _, judged in questions for row, credit in judged.credits.items() if credit > 0}
        rows = sorted(row for row in useful if 0 <= row < size)
        terms = question.keys.tolist()
        asked = np.array([[term in judged.terms for term in terms] for _, judged in questions], np.bool_)
        asked = asked.reshape(len(questions), len(terms))
        held = question.held(np.array(rows, np.int64))
        self._rows = {row: at for at, row in enumerate(rows)}
        self._questions = {key: at for at, (key, _) in enumerate(questions)}
        self._by_question = ((asked * question.share) @ ~held).tolist()
        self._by_grain = ((~asked * question.share) @ held).tolist()

    def shares(self, key: int, row: int) -> tuple[float, float]:
        """Shares of the question's idf: only in the judged question, and only in the grain."""
        if row not in self._rows:
            return 0.0, 0.0
        question, grain = self._questions[key], self._rows[row]
        return self._by_question[question][grain], self._by_grain[question][grain]
