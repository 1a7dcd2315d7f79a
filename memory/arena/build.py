"""An arena from nothing: the space's rows are read once, in a few streaming statements."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fluxcore import events
from memory.arena import grain_rows, queries
from memory.arena.arena import Arena
from memory.arena.changes import CONDUIT
from memory.arena.grain_rows import GrainRecord
from memory.arena.votes import VoteRow
from memory.engine.graph.conduit_graph import ConduitGraph
from memory.engine.index.dense import LISTED_ROWS, Dense
from memory.engine.index.postings import Postings
from memory.engine.index.space_index import NO_ROW, Index
from memory.engine.text import words


def build_arena(space: int, encoder: str) -> Arena:
    """Read a space. `encoder` names the vectors to take; "" takes none."""
    # Before the rows: what is written while they are read is then replayed, which does no harm twice.
    position = events.head()
    index = assemble_index(
        ([GrainRecord(*row) for row in chunk] for chunk in queries.read_grains(space, encoder)), _conduits(space)
    )
    arena = Arena(space, index, position, encoder)
    arena.teach([VoteRow(*row) for row in queries.read_votes(space)])
    arena.attune(queries.read_attunement(space))
    arena.exploring = queries.is_exploring(space)
    return arena


def assemble_index(chunks: Iterable[list[GrainRecord]], conduits: Iterable[NDArray[np.void]] = ()) -> Index:
    """The arrays of grains that come in the order of their numbers, and of their conduits."""
    reading = _RowReader()
    postings = Postings.build(reading.terms(chunks))
    columns, size = reading.columns, reading.size
    grain_rows.link_sessions(columns, size)
    ids = columns["id"][:size]
    return Index(columns, postings, reading.dense(), _graph(conduits, ids), size, reading.speakers)


class _RowReader:
    """What is known of the rows read so far."""

    def __init__(self) -> None:
        self.columns = grain_rows.new_columns(grain_rows.capacity_for(0))
        self.size = 0
        self.speakers: dict[int, tuple[int, ...]] = {}
        self._vectors: list[tuple[NDArray[np.int32], NDArray[np.int8], NDArray[np.float32]]] = []
        self._dimension: int | None = None

    def terms(self, chunks: Iterable[list[GrainRecord]]) -> Iterator[Counter[int]]:
        """The terms of each row, with everything else kept on the way."""
        for chunk in chunks:
            read = [grain_rows.analyse_record(record) for record in chunk]
            if self.size + len(read) > len(self.columns["id"]):
                self._grow(grain_rows.capacity_for((self.size + len(read)) * 5 // 4))
            self._keep_vectors(chunk)
            self.size = grain_rows.fill_columns(self.columns, self.size, read)
            for row in read:
                if row.speaker:
                    self.speakers.setdefault(int(row.values["speaker"]), row.speaker)
                yield row.terms
        self._grow(grain_rows.capacity_for(self.size))

    def _grow(self, capacity: int) -> None:
        for name, column in self.columns.items():
            wider = np.zeros(capacity, column.dtype)
            wider[: self.size] = column[: self.size]
            self.columns[name] = wider

    def _keep_vectors(self, chunk: list[GrainRecord]) -> None:
        found: list[tuple[int, NDArray[np.int8], float]] = []
        for row, record in enumerate(chunk, self.size):
            vector = record.vector(self._dimension)
            if vector is not None and record.scale is not None:
                self._dimension = len(vector)
                found.append((row, vector, record.scale))
        if found:
            at, vectors, scales = zip(*found, strict=True)
            self._vectors.append((np.array(at, np.int32), np.stack(vectors), np.array(scales, np.float32)))

    def dense(self) -> Dense | None:
        if self._dimension is None:
            return None
        data = np.zeros((len(self.columns["id"]), self._dimension), np.int8)
        scale, has = np.zeros(len(data), np.float32), np.zeros(len(data), np.bool_)
        while self._vectors:  # each part is let go as it is copied
            at, vectors, scales = self._vectors.pop()
            data[at], scale[at], has[at] = vectors, scales, True
        dense = Dense.build(data, scale, has)
        dense.size = self.size
        if self.size >= LISTED_ROWS:
            dense.build_ivf()
        return dense


def _conduits(space: int) -> Iterator[NDArray[np.void]]:
    keys = {
        number: words.key(f"{kind}:{feature}")
        for chunk in queries.read_entries(space)
        for number, kind, feature in chunk
    }
    for chunk in queries.read_conduits(space):
        found = np.zeros(len(chunk), CONDUIT)
        for name, values in zip(_FIELDS, zip(*chunk, strict=True), strict=True):
            found[name] = values
        # An entry that was made after the entries were read comes by the log.
        found["entry_key"] = [keys.get(number, 0) for number in found["from_entry"].tolist()]
        yield found[(found["entry_key"] != 0) | (found["from_entry"] == 0)]


_FIELDS = [name for name in CONDUIT.names or () if name != "entry_key"]


def _graph(conduits: Iterable[NDArray[np.void]], ids: NDArray[Any]) -> ConduitGraph:
    """Conduits of grains that are not here are left out: the log brings both."""
    found = [*conduits]
    every = np.concatenate(found) if found else np.empty(0, CONDUIT)
    found.clear()
    return ConduitGraph.build(
        every, _rows_of(ids, every["from_grain"]), _rows_of(ids, every["to_grain"]), rows=len(ids)
    )


def _rows_of(ids: NDArray[Any], wanted: NDArray[np.int64]) -> NDArray[np.int32]:
    if not len(ids):
        return np.full(len(wanted), NO_ROW, np.int32)
    at = np.minimum(np.searchsorted(ids, wanted), len(ids) - 1)
    return np.where(ids[at] == wanted, at, NO_ROW).astype(np.int32)
