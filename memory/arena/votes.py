"""Votes of a space in memory, by question, as read from SQL."""

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

UNKNOWN_PLACE = 2  # assumed place of votes stored before places were recorded


class VoteRow(NamedTuple):
    """One vote with its question, in the order of `queries.VOTE_COLUMNS`."""

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
        """Vector of the question if it is of this encoder; None otherwise, then only terms are compared."""
        if self.data is None or self.scale is None or self.encoder != encoder:
            return None
        numbers: NDArray[np.float32] = np.frombuffer(bytes(self.data), np.int8).astype(np.float32)
        return numbers * np.float32(self.scale)


class VoteIndex:
    """Votes by question, and what is learned from them; a question that is read again replaces its earlier votes."""

    def __init__(self) -> None:
        self._sums = vote_sums.VoteSums()
        self._votes: dict[int, list[vote_sums.VoteSample]] = {}

    @property
    def learned(self) -> Learned:
        return self._sums.learned

    def teach(
        self,
        questions: Iterable[int],
        vote_rows: Sequence[VoteRow],
        encoder: str,
        row_of: Callable[[Sequence[int]], NDArray[np.int32]],
    ) -> None:
        """Replace the votes of these questions; a question without a vote is removed."""
        rows = dict(
            zip((vote.grain for vote in vote_rows), row_of([vote.grain for vote in vote_rows]).tolist(), strict=True)
        )
        samples: dict[int, list[vote_sums.VoteSample]] = {}
        for question, votes in groupby(vote_rows, key=lambda vote: vote.question):
            samples[question] = [
                _to_sample(vote, rows[vote.grain], encoder) for vote in votes if rows[vote.grain] != NO_ROW
            ]
        for question in questions:
            for sample in self._votes.pop(question, ()):
                self._sums.remove(sample)
            if samples.get(question):
                self._votes[question] = samples[question]
                for sample in samples[question]:
                    self._sums.add(sample)


def _to_sample(vote: VoteRow, row: int, encoder: str) -> vote_sums.VoteSample:
    return vote_sums.VoteSample(
        np.frombuffer(bytes(vote.terms), "<u8").astype(np.uint64),
        vote.vector(encoder),
        words.key(vote.actor),
        row,
        vote.strength if vote.useful else -vote.strength,
        MISSED_PLACE if vote.missed else vote.place or UNKNOWN_PLACE,
    )
