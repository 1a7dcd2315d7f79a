"""Sums of votes, from which `Learned` is computed: a pure function of the votes that were not undone, in any order.

Credits are integers. A caller counts at most once for a grain and a question, however often it votes; all callers
together count at most once too. So repeating a vote has no effect, one caller can outvote another but not several, and
undoing a vote restores every array.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memory.engine.index.dense import quantise
from memory.engine.learning.learned import FULL_CREDIT, MISSED_PLACE, Learned, add_count


@dataclass(frozen=True)
class VoteSample:
    """One grain judged for one question by one caller."""

    keys: NDArray[np.uint64]  # the question's terms
    vector: NDArray[np.float32] | None
    caller: int
    row: int
    strength: float  # -1 not useful at all, 1 useful
    place: int = 1  # its place in the answer; MISSED_PLACE if it was missing and the caller named it


class VoteSums:
    """Votes added up, and the result as `learned`; the cost of a vote does not depend on the number of earlier ones."""

    def __init__(self, votes: Iterable[VoteSample] = ()) -> None:
        self.learned = Learned.empty()
        self._sums: dict[int, dict[int, dict[int, int]]] = {}  # question -> row -> caller -> sum
        self._places: dict[tuple[int, int], dict[int, int]] = {}  # question and row -> place -> votes
        self._asked: dict[int, tuple[NDArray[np.uint64], NDArray[np.int8] | None, float]] = {}
        changed = {self._count_vote(vote, 1) for vote in votes}
        for key in sorted(changed):
            self._update_learned(key)

    def add(self, vote: VoteSample) -> None:
        self._update_learned(self._count_vote(vote, 1))

    def remove(self, vote: VoteSample) -> None:
        """Undo exactly what `add` did."""
        self._update_learned(self._count_vote(vote, -1))

    def _count_vote(self, vote: VoteSample, sign: int) -> int:
        key, keys, data, scale = question_identity(vote.keys, vote.vector)
        self._asked[key] = keys, data, scale
        callers = self._sums.setdefault(key, {}).setdefault(vote.row, {})
        strength = min(max(vote.strength, -1.0), 1.0) if np.isfinite(vote.strength) else 0.0
        callers[vote.caller] = callers.get(vote.caller, 0) + sign * round(strength * FULL_CREDIT)
        if not callers[vote.caller]:
            del callers[vote.caller]
        if not callers:
            del self._sums[key][vote.row]
        place = min(max(vote.place, 1), MISSED_PLACE)
        places = self._places.setdefault((key, vote.row), {})
        add_count(places, place, sign)
        if not places:
            del self._places[key, vote.row]
        return key

    def _update_learned(self, key: int) -> None:
        rows = self._sums.get(key, {})
        self.learned.put(
            key,
            *self._asked[key],
            {row: (_bounded_credit(callers.values()), max(self._places[key, row])) for row, callers in rows.items()},
        )
        if not rows:
            self._sums.pop(key, None)
            self._asked.pop(key, None)


def learn_votes(votes: Iterable[VoteSample]) -> Learned:
    """Everything learned from these votes."""
    return VoteSums(votes).learned


def _bounded_credit(sums: Iterable[int]) -> int:
    """Sum of the callers' credits: each bounded, then the sum bounded."""
    return min(max(sum(min(max(credit, -FULL_CREDIT), FULL_CREDIT) for credit in sums), -FULL_CREDIT), FULL_CREDIT)


def question_identity(
    terms: NDArray[np.uint64], vector: NDArray[np.float32] | None
) -> tuple[int, NDArray[np.uint64], NDArray[np.int8] | None, float]:
    """Key of a question, with its unique terms and quantised vector: equal terms and vectors have equal keys."""
    keys = np.unique(terms.astype(np.uint64))
    digest = hashlib.blake2b(keys.tobytes(), digest_size=8)
    data, scale = None, 0.0
    if vector is not None:
        quantised, scales = quantise(vector[None, :])
        if scales[0] > 0:
            data, scale = quantised[0], float(scales[0])
            digest.update(data.tobytes())
    return int.from_bytes(digest.digest(), "little") or 1, keys, data, scale
