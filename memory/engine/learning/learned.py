"""What votes taught a space: two memories, both sums in whole numbers, so taking a vote back leaves no trace.

- judged questions: vector, terms, and the credit of each grain that was judged for it;
- links from a term to a grain, made by questions the grain was useful for.

`learn.py` adds votes up and puts the sums here; `boost.py` says what they are worth to a question asked now.
"""

from __future__ import annotations

from bisect import insort
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memory.engine.index.dense import Dense

Keys = NDArray[np.uint64]

FULL_CREDIT = 1 << 16  # a whole vote of full strength, in the fixed point that credits are counted in
MISSED_PLACE = 20  # the place of a grain that was not in the answer at all
GRID = 1 << 20  # the same for the numbers of a vector, in the sum that their mean is made of


@dataclass
class QuestionCredits:
    """One question with the credit of each grain judged for it, in units of ONE; never 0."""

    terms: frozenset[int]
    slot: int  # row of its vector, -1 without one
    credits: dict[int, int]
    places: dict[int, int]  # by row: how far behind it stood when it was judged, at the furthest


@dataclass
class Learned:
    """Grows and shrinks question by question; `arrays` is the same for the same votes, whatever came when."""

    questions: dict[int, QuestionCredits] = field(default_factory=dict)  # by the key of a question
    by_terms: dict[frozenset[int], set[int]] = field(default_factory=dict)  # the same terms
    by_term: dict[int, list[int]] = field(default_factory=dict)  # ascending
    links: dict[int, dict[int, int]] = field(default_factory=dict)  # term -> row -> credit
    useful: dict[int, int] = field(default_factory=dict)  # row -> questions it was useful for
    useless: dict[int, int] = field(default_factory=dict)  # row -> questions it was shown for in vain
    behind: dict[int, dict[int, int]] = field(default_factory=dict)  # row -> place it was useful from -> questions
    vectors: Dense | None = None
    slots: list[int] = field(default_factory=list)  # slot -> question, 0 where it is free
    free: list[int] = field(default_factory=list)
    total: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))  # of all vectors, in GRID
    encoded: int = 0

    @classmethod
    def empty(cls) -> Learned:
        return cls()

    def __bool__(self) -> bool:
        return bool(self.questions)

    def put(
        self, key: int, keys: Keys, data: NDArray[np.int8] | None, scale: float, judged: dict[int, tuple[int, int]]
    ) -> None:
        """What is known of one question from now on, credit and place by row; without credits it is forgotten."""
        self._forget(key)
        credits = {row: credit for row, (credit, _) in judged.items() if credit}
        if not credits:
            return
        slot = self._encode(key, data, scale) if data is not None else -1
        held = QuestionCredits(frozenset(keys.tolist()), slot, credits, {row: judged[row][1] for row in credits})
        self.questions[key] = held
        self.by_terms.setdefault(held.terms, set()).add(key)
        for term in held.terms:
            insort(self.by_term.setdefault(term, []), key)
        self._link(held, 1)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Everything that was learned, in an order that follows from what it is: equal votes, equal arrays."""
        order = sorted(self.questions)
        held = [self.questions[key] for key in order]
        credits = [[(*pair, one.places[pair[0]]) for pair in sorted(one.credits.items())] for one in held]
        slots = [one.slot for one in held]
        dense = self.vectors
        return {
            "questions": np.array(order, np.uint64),
            "terms": np.array([term for one in held for term in sorted(one.terms)], np.uint64),
            "term_counts": np.array([len(one.terms) for one in held], np.int32),
            "credits": np.array([triple for some in credits for triple in some], np.int64).reshape(-1, 3),
            "credit_counts": np.array([len(some) for some in credits], np.int32),
            "data": np.stack([dense.data[slot] for slot in slots if slot >= 0])
            if dense is not None and self.encoded
            else np.empty((0, 0), np.int8),
            "encoded": np.array([slot >= 0 for slot in slots], np.bool_),
            "total": self.total if self.encoded else np.zeros(0, np.int64),
            "links": np.array(
                [(term, *pair) for term, rows in sorted(self.links.items()) for pair in sorted(rows.items())], np.uint64
            ).reshape(-1, 3),
        }

    def _forget(self, key: int) -> None:
        held = self.questions.pop(key, None)
        if held is None:
            return
        self._link(held, -1)
        self.by_terms[held.terms].discard(key)
        if not self.by_terms[held.terms]:
            del self.by_terms[held.terms]
        for term in held.terms:
            self.by_term[term].remove(key)
            if not self.by_term[term]:
                del self.by_term[term]
        if held.slot >= 0 and self.vectors is not None:
            self.total = self.total - _on_grid(self.vectors, held.slot)
            self.vectors.drop(held.slot)
            self.slots[held.slot] = 0
            self.free.append(held.slot)
            self.encoded -= 1

    def _encode(self, key: int, data: NDArray[np.int8], scale: float) -> int:
        if self.vectors is None or (self.vectors.dimension != len(data) and not self.encoded):
            self.vectors = Dense.empty(len(data), 64)
            self.slots, self.free, self.total = [], [], np.zeros(len(data), np.int64)
        if self.vectors.dimension != len(data):
            return -1  # of another encoder: words must do
        slot = self.free.pop() if self.free else len(self.slots)
        if slot == len(self.slots):
            self.slots.append(0)
        self.slots[slot] = key
        self.vectors.put(slot, data, scale)
        self.total = self.total + _on_grid(self.vectors, slot)
        self.encoded += 1
        return slot

    def _link(self, held: QuestionCredits, sign: int) -> None:
        """Terms of a question lead to what was useful for it. What was not teaches no word: it would hurt others."""
        for row, credit in held.credits.items():
            if credit <= 0:
                if credit <= -FULL_CREDIT // 2:  # a weak hint says too little
                    add_count(self.useless, row, sign)
                continue
            add_count(self.useful, row, sign)
            places = self.behind.setdefault(row, {})
            add_count(places, held.places[row], sign)
            if not places:
                del self.behind[row]
            for term in held.terms:
                rows = self.links.setdefault(term, {})
                add_count(rows, row, sign * credit)
                if not rows:
                    del self.links[term]


def add_count(counts: dict[int, int], row: int, amount: int) -> None:
    """Add to a sum that is not kept where it is 0."""
    counts[row] = counts.get(row, 0) + amount
    if not counts[row]:
        del counts[row]


def _on_grid(vectors: Dense, slot: int) -> NDArray[np.int64]:
    return np.rint(vectors.vector(slot).astype(np.float64) * GRID).astype(np.int64)
