"""In-memory index of one space: columns, postings, vectors and graph as arrays, one row per grain.

A pure value without database, clock or files. The arena builds it, keeps it current and passes it to recall.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memory.engine.graph.conduit_graph import ConduitGraph
from memory.engine.index.dense import Dense
from memory.engine.index.postings import Postings
from memory.engine.kinds import MADE_KINDS
from memory.engine.learning.learned import Learned

END_OF_TIME = np.iinfo(np.int64).max
BEGINNING_OF_TIME = np.iinfo(np.int64).min
NO_ROW = -1
SECOND = 1_000_000  # one second in the unit of time columns, microseconds

# Times are microseconds since 1970: as exact as the database. Texts appear as 64-bit keys (`words.key`); 0: none.
COLUMNS: dict[str, type[np.generic]] = {
    "id": np.int64,  # primary key of the grain in the database
    "digest": np.uint64,  # key of the text: equal texts have equal ones
    "session": np.uint64,
    "ordinal": np.int32,  # place in the session
    "prev": np.int32,  # row before it in the session, or NO_ROW
    "next": np.int32,
    "speaker": np.uint64,  # key of the speaker's name as it was given, case folded
    "title": np.uint64,  # the title line a passage begins with, as the entry of that name: key("name:<folded>")
    "said": np.int64,  # when it was said, or recorded if that is unknown
    "recorded": np.int64,
    "valid_from": np.int64,  # BEGINNING_OF_TIME and END_OF_TIME where it is open
    "valid_to": np.int64,
    "length": np.int32,  # terms
    "chars": np.int32,
    "marks": np.uint16,  # `memory.engine.text.marks`
    "status": np.uint8,  # STATUSES
    "authority": np.uint8,  # 0 is the highest
    "decay": np.uint8,
    "pinned": np.uint8,
    "confidence": np.float32,
    "cluster": np.int32,  # 0: none
    "typical": np.float32,  # of its cluster, up to 1
}

# GONE: a deleted grain. Its row is kept until the next build, so that row numbers stay valid, but is never shown.
# Grains that are made from files, transcripts and keys have their kind in the place of a status.
STATUSES = ("active", "dormant", "archived", "quarantined", "pending_deletion", "gone", *MADE_KINDS)
ACTIVE, GONE = 0, 5


@dataclass(frozen=True)
class SpaceWeights:
    """Difference of a space's own ranker weights from the shipped ones (`memory.engine.learning.weight_fitting`)."""

    version: str  # of the shipped weights
    weights: NDArray[np.float32]  # difference for each feature
    questions: int  # judged questions it was fitted on


@dataclass
class Index:
    """Columns have spare capacity: only the first `size` rows of each are in use."""

    columns: dict[str, NDArray[Any]]
    postings: Postings
    dense: Dense | None  # None: no vectors yet, or only those of another encoder
    graph: ConduitGraph
    size: int = 0
    # Speakers of the space: key of the name -> term keys of its words, to find the speakers a question names.
    speakers: dict[int, tuple[int, ...]] = field(default_factory=dict)
    learned: Learned | None = None  # result of all votes
    own: SpaceWeights | None = None  # ranker weights fitted on votes
    version: int = 0  # raised by every change to a row: values computed from columns are valid until then
    _totals: tuple[int, int, int] = (0, 0, 0)

    def column(self, name: str) -> NDArray[Any]:
        return self.columns[name][: self.size]

    def open(self, allowed: NDArray[np.bool_]) -> int:
        """Number of rows a mask allows; cached for a read-only mask."""
        cached: tuple[NDArray[np.bool_], int] | None = vars(self).get("_open")
        if cached is None or cached[0] is not allowed:
            cached = allowed, int(np.count_nonzero(allowed))
            if not allowed.flags.writeable:
                vars(self)["_open"] = cached
        return cached[1]

    def totals(self) -> tuple[int, int]:
        """Number of terms and characters of all rows. Texts never change, so only new rows are counted."""
        counted, terms, characters = self._totals
        if counted != self.size:
            if counted > self.size:
                counted = terms = characters = 0
            terms += int(self.columns["length"][counted : self.size].sum(dtype=np.int64))
            characters += int(self.columns["chars"][counted : self.size].sum(dtype=np.int64))
            self._totals = (self.size, terms, characters)
        return terms, characters

    @property
    def nbytes(self) -> int:
        parts = sum(column.nbytes for column in self.columns.values()) + self.postings.nbytes + self.graph.nbytes
        return parts + (self.dense.nbytes if self.dense is not None else 0) + 200 * len(self.speakers)
