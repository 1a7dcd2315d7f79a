"""Everything recall needs to know about the grains of one space, as arrays: one row per grain.

A pure value: no database, no clock, no files. The arena builds it, keeps it current and gives it away;
recall reads it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memory.engine.graph.conduit_graph import ConduitGraph
from memory.engine.index.dense import Dense
from memory.engine.index.postings import Postings
from memory.engine.learning.learned import Learned

END_OF_TIME = np.iinfo(np.int64).max
BEGINNING_OF_TIME = np.iinfo(np.int64).min
NO_ROW = -1
SECOND = 1_000_000  # in the unit of the columns

# Times are microseconds since 1970: as exact as the database. Texts appear as 64-bit keys (`words.key`); 0: none.
COLUMNS: dict[str, type[np.generic]] = {
    "id": np.int64,  # the grain's own number: what SQL knows it by
    "digest": np.uint64,  # equal texts are folded by it
    "session": np.uint64,
    "ordinal": np.int32,  # place in the session
    "prev": np.int32,  # row before it in the session, or NO_ROW
    "next": np.int32,
    "speaker": np.uint64,  # key of the speaker's name as it was given, case folded
    "title": np.uint64,  # the title line a passage begins with, as the entry of that name: key("name:<folded>")
    "said": np.int64,  # when it was said, or recorded if nobody told
    "recorded": np.int64,
    "valid_from": np.int64,  # EVER and FOREVER where it has no end
    "valid_to": np.int64,
    "length": np.int32,  # terms
    "chars": np.int32,
    "marks": np.uint16,  # `marks.py`
    "status": np.uint8,  # STATUSES
    "authority": np.uint8,  # 0 is the highest
    "decay": np.uint8,
    "pinned": np.uint8,
    "confidence": np.float32,
    "cluster": np.int32,  # 0: none
    "typical": np.float32,  # of its cluster, up to 1
}

# GONE: the row stays, so that numbers keep their meaning until the next build, but nothing may show it.
STATUSES = ("active", "dormant", "archived", "quarantined", "pending_deletion", "gone")
ACTIVE, GONE = 0, 5


@dataclass(frozen=True)
class SpaceWeights:
    """How far a space's weights lie from the shipped ones (`attune.py`)."""

    version: str  # of the shipped ones
    weights: NDArray[np.float32]  # a step for each feature
    questions: int  # judged ones that call for it


@dataclass
class Index:
    """Columns have room to grow: only the first `size` rows of each mean anything."""

    columns: dict[str, NDArray[Any]]
    postings: Postings
    dense: Dense | None  # None: nothing was encoded yet, or by another encoder
    graph: ConduitGraph
    size: int = 0
    # Speakers of the space: key of the name -> term keys of its words, to see whom a question names.
    speakers: dict[int, tuple[int, ...]] = field(default_factory=dict)
    learned: Learned | None = None  # what votes taught
    own: SpaceWeights | None = None  # how votes moved the weights
    version: int = 0  # moves with every change to a row: what was worked out from columns holds until then
    _totals: tuple[int, int, int] = (0, 0, 0)

    def column(self, name: str) -> NDArray[Any]:
        return self.columns[name][: self.size]

    def open(self, allowed: NDArray[np.bool_]) -> int:
        """How many rows a mask lets through; remembered for one that nobody may write into."""
        held: tuple[NDArray[np.bool_], int] | None = vars(self).get("_open")
        if held is None or held[0] is not allowed:
            held = allowed, int(np.count_nonzero(allowed))
            if not allowed.flags.writeable:
                vars(self)["_open"] = held
        return held[1]

    def totals(self) -> tuple[int, int]:
        """Terms and characters of all rows. A text never changes, so only rows that came since are added up."""
        seen, terms, characters = self._totals
        if seen != self.size:
            if seen > self.size:
                seen = terms = characters = 0
            terms += int(self.columns["length"][seen : self.size].sum(dtype=np.int64))
            characters += int(self.columns["chars"][seen : self.size].sum(dtype=np.int64))
            self._totals = (self.size, terms, characters)
        return terms, characters

    @property
    def nbytes(self) -> int:
        parts = sum(column.nbytes for column in self.columns.values()) + self.postings.nbytes + self.graph.nbytes
        return parts + (self.dense.nbytes if self.dense is not None else 0) + 200 * len(self.speakers)
