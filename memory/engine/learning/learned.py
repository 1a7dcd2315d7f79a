"""Learned state of a space, from votes: sums of integers, so that undoing a vote restores the earlier state exactly.

- judged questions: vector, terms, and the credit of each grain that was judged for it;
- links from a term to a grain, from questions the grain was useful for.

`vote_sums.py` adds votes up and writes the sums here; `vote_boost.py` computes their effect on a question.
"""

from __future__ import annotations

from bisect import insort
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memory.engine.index.dense import Dense

Keys = NDArray[np.uint64]

FULL_CREDIT = 1 << 16  # credit of one vote of full strength; credits are fixed-point integers
MISSED_PLACE = 20  # place of a grain that was not in the answer
GRID = 1 << 20  # factor that turns numbers of vectors into integers, for the sum from which their mean is computed


@dataclass
class QuestionCredits:
    """One question with the credit of each grain judged for it, in units of 1 / FULL_CREDIT; never 0."""

    terms: frozenset[int]
    slot: int  # row of its vector, -1 without one
    credits: dict[int, int]
    places: dict[int, int]  # by row: its lowest place in an answer in which it was judged


@dataclass
class Learned:
    """Sums of all votes, updated question by question; the same votes in any order give the same `arrays`."""

    questions: dict[int, QuestionCredits] = field(default_factory=dict)  # by the key of a question
    by_terms: dict[frozenset[int], set[int]] = field(default_factory=dict)  # questions with exactly these terms
    by_term: dict[int, list[int]] = field(default_factory=dict)  # questions with the term, ascending
    links: dict[int, dict[int, int]] = field(default_factory=dict)  # term -> row -> credit
    useful: dict[int, int] = field(default_factory=dict)  # row -> questions it was useful for
    useless: dict[int, int] = field(default_factory=dict)  # row -> questions it was not useful for
    behind: dict[int, dict[int, int]] = field(default_factory=dict)  # row -> place at which it was useful -> questions
    vectors: Dense | None = None
    slots: list[int] = field(default_factory=list)  # slot -> question, 0 where it is free
    free: list[int] = field(default_factory=list)
    total: NDArray[np.int64] = field(
        default_factory=lambda: np.zeros(0, np.int64)
    )  # sum of all vectors, in units of 1 / GRID
    encoded: int = 0

    @classmethod
    def empty(cls) -> Learned:
        return cls()

    def __bool__(self) -> bool:
        return bool(self.questions)

    def put(
        self, key: int, keys: Keys, data: NDArray[np.int8] | None, scale: float, judged: dict[int, tuple[int, int]]
    ) -> None:
        """Set the credits and places by row of one question; without credits the question is removed."""
        self._remove_question(key)
        credits = {row: credit for row, (credit, _) in judged.items() if credit}
        if not credits:
            return
        slot = self._store_vector(key, data, scale) if data is not None else -1
        question = QuestionCredits(frozenset(keys.tolist()), slot, credits, {row: judged[row][1] for row in credits})
        self.questions[key] = question
        self.by_terms.setdefault(question.terms, set()).add(key)
        for term in question.terms:
            insort(self.by_term.setdefault(term, []), key)
        self._count_question(question, 1)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Everything learned as arrays in a canonical order: equal votes give equal arrays."""
        order = sorted(self.questions)
        judged = [self.questions[key] for key in order]
        credits = [
            [(*pair, question.places[pair[0]]) for pair in sorted(question.credits.items())] for question in judged
        ]
        slots = [question.slot for question in judged]
        dense = self.vectors
        return {
            "questions": np.array(order, np.uint64),
            "terms": np.array([term for question in judged for term in sorted(question.terms)], np.uint64),
            "term_counts": np.array([len(question.terms) for question in judged], np.int32),
            "credits": np.array([triple for triples in credits for triple in triples], np.int64).reshape(-1, 3),
            "credit_counts": np.array([len(triples) for triples in credits], np.int32),
            "data": np.stack([dense.data[slot] for slot in slots if slot >= 0])
            if dense is not None and self.encoded
            else np.empty((0, 0), np.int8),
            "encoded": np.array([slot >= 0 for slot in slots], np.bool_),
            "total": self.total if self.encoded else np.zeros(0, np.int64),
            "links": np.array(
                [(term, *pair) for term, rows in sorted(self.links.items()) for pair in sorted(rows.items())], np.uint64
            ).reshape(-1, 3),
        }

    def _remove_question(self, key: int) -> None:
        question = self.questions.pop(key, None)
        if question is None:
            return
        self._count_question(question, -1)
        self.by_terms[question.terms].discard(key)
        if not self.by_terms[question.terms]:
            del self.by_terms[question.terms]
        for term in question.terms:
            self.by_term[term].remove(key)
            if not self.by_term[term]:
                del self.by_term[term]
        if question.slot >= 0 and self.vectors is not None:
            self.total = self.total - _fixed_point(self.vectors, question.slot)
            self.vectors.drop(question.slot)
            self.slots[question.slot] = 0
            self.free.append(question.slot)
            self.encoded -= 1

    def _store_vector(self, key: int, data: NDArray[np.int8], scale: float) -> int:
        if self.vectors is None or (self.vectors.dimension != len(data) and not self.encoded):
            self.vectors = Dense.empty(len(data), 64)
            self.slots, self.free, self.total = [], [], np.zeros(len(data), np.int64)
        if self.vectors.dimension != len(data):
            return -1  # a vector of another encoder: only terms are compared
        slot = self.free.pop() if self.free else len(self.slots)
        if slot == len(self.slots):
            self.slots.append(0)
        self.slots[slot] = key
        self.vectors.put(slot, data, scale)
        self.total = self.total + _fixed_point(self.vectors, slot)
        self.encoded += 1
        return slot

    def _count_question(self, question: QuestionCredits, sign: int) -> None:
        """Link the terms of a question to the grains useful for it; not useful ones only raise `useless`.

        A negative link would harm other questions with the same term.
        """
        for row, credit in question.credits.items():
            if credit <= 0:
                if credit <= -FULL_CREDIT // 2:  # weak negative votes are ignored
                    add_count(self.useless, row, sign)
                continue
            add_count(self.useful, row, sign)
            places = self.behind.setdefault(row, {})
            add_count(places, question.places[row], sign)
            if not places:
                del self.behind[row]
            for term in question.terms:
                rows = self.links.setdefault(term, {})
                add_count(rows, row, sign * credit)
                if not rows:
                    del self.links[term]


def add_count(counts: dict[int, int], row: int, amount: int) -> None:
    """Add to a sum; a sum of 0 is removed."""
    counts[row] = counts.get(row, 0) + amount
    if not counts[row]:
        del counts[row]


def _fixed_point(vectors: Dense, slot: int) -> NDArray[np.int64]:
    return np.rint(vectors.vector(slot).astype(np.float64) * GRID).astype(np.int64)
