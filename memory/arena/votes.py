"""What votes taught a space, beside its arrays: question by question, as SQL has them now."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from memory.engine.index.space_index import NO_ROW
from memory.engine.learning import vote_sums
from memory.engine.learning.learned import MISSED_PLACE, Learned
from memory.engine.text import words

UNKNOWN_PLACE = 2  # the place of what was judged before places were kept


class VoteRow(NamedTuple):
    """One vote with its question, in the order of `tables.LESSON_COLUMNS`."""

    question: int
    actor: str
    terms: bytes
    encoder: str
    scale: float | None
    data: bytes | None
    grain: int
    useful: bool
    strength: float
    missed: bool
    place: int | None

    def vector(self, encoder: str) -> NDArray[np.float32] | None:
        """As the arena's own encoder saw the question; words must do for those of another."""
        if self.data is None or self.scale is None or self.encoder != encoder:
            return None
        found: NDArray[np.float32] = np.frombuffer(bytes(self.data), np.int8).astype(np.float32)
        return found * np.float32(self.scale)


class VoteIndex:
    """Every question with its votes; a question that is read again takes the place of what it said before."""

    def __init__(self) -> None:
        self._lessons = vote_sums.VoteSums()
        self._said: dict[int, list[vote_sums.VoteSample]] = {}

    @property
    def learned(self) -> Learned:
        return self._lessons.learned

    def teach(
        self,
        questions: Iterable[int],
        lessons: Sequence[VoteRow],
        encoder: str,
        row_of: Callable[[Sequence[int]], NDArray[np.int32]],
    ) -> None:
        """These questions as they stand now; one without a vote is forgotten."""
        rows = dict(zip((one.grain for one in lessons), row_of([one.grain for one in lessons]).tolist(), strict=True))
        now: dict[int, list[vote_sums.VoteSample]] = {}
        for question, votes in groupby(lessons, key=lambda one: one.question):
            now[question] = [_vote(one, rows[one.grain], encoder) for one in votes if rows[one.grain] != NO_ROW]
        for question in questions:
            for vote in self._said.pop(question, ()):
                self._lessons.remove(vote)
            if now.get(question):
                self._said[question] = now[question]
                for vote in now[question]:
                    self._lessons.add(vote)


def _vote(one: VoteRow, row: int, encoder: str) -> vote_sums.VoteSample:
    return vote_sums.VoteSample(
        np.frombuffer(bytes(one.terms), "<u8").astype(np.uint64),
        one.vector(encoder),
        words.key(one.actor),
        row,
        one.strength if one.useful else -one.strength,
        MISSED_PLACE if one.missed else one.place or UNKNOWN_PLACE,
    )
