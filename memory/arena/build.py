"""Build an arena from the database: the rows of a space are read once, in a few streaming statements."""

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
    """Build the arena of a space with the vectors of `encoder`; "" for no vectors."""
    # The position is read before the rows: writes during the read are replayed later, and replaying twice is harmless.
    position = events.head()
    index = assemble_index(
        ([GrainRecord(*row) for row in chunk] for chunk in queries.read_grains(space, encoder)), _read_conduits(space)
    )
    arena = Arena(space, index, position, encoder)
    arena.teach([VoteRow(*row) for row in queries.read_votes(space)])
    arena.attune(queries.read_attunement(space))
    arena.exploring = queries.is_exploring(space)
    return arena


def assemble_index(chunks: Iterable[list[GrainRecord]], conduits: Iterable[NDArray[np.void]] = ()) -> Index:
    """Index from grains in the order of their ids, and from their conduits."""
    reader = _RowReader()
    postings = Postings.build(reader.terms(chunks))
    columns, size = reader.columns, reader.size
    grain_rows.link_sessions(columns, size)
    ids = columns["id"][:size]
    return Index(columns, postings, reader.dense(), _build_graph(conduits, ids), size, reader.speakers)


class _RowReader:
    """Collects columns, speakers and vectors of the rows read so far."""

    def __init__(self) -> None:
        self.columns = grain_rows.new_columns(grain_rows.capacity_for(0))
        self.size = 0
        self.speakers: dict[int, tuple[int, ...]] = {}
        self._vectors: list[tuple[NDArray[np.int32], NDArray[np.int8], NDArray[np.float32]]] = []
        self._dimension: int | None = None

    def terms(self, chunks: Iterable[list[GrainRecord]]) -> Iterator[Counter[int]]:
        """Terms of each row; columns, speakers and vectors are collected meanwhile."""
        for chunk in chunks:
            rows = [grain_rows.analyse_record(record) for record in chunk]
            if self.size + len(rows) > len(self.columns["id"]):
                self._grow(grain_rows.capacity_for((self.size + len(rows)) * 5 // 4))
            self._keep_vectors(chunk)
            self.size = grain_rows.fill_columns(self.columns, self.size, rows)
            for row in rows:
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
        usable: list[tuple[int, NDArray[np.int8], float]] = []
        for row, record in enumerate(chunk, self.size):
            vector = record.vector(self._dimension)
            if vector is not None and record.scale is not None:
                self._dimension = len(vector)
                usable.append((row, vector, record.scale))
        if usable:
            at, vectors, scales = zip(*usable, strict=True)
            self._vectors.append((np.array(at, np.int32), np.stack(vectors), np.array(scales, np.float32)))

    def dense(self) -> Dense | None:
        if self._dimension is None:
            return None
        data = np.zeros((len(self.columns["id"]), self._dimension), np.int8)
        scale, has = np.zeros(len(data), np.float32), np.zeros(len(data), np.bool_)
        while self._vectors:  # each part is freed once it is copied
            at, vectors, scales = self._vectors.pop()
            data[at], scale[at], has[at] = vectors, scales, True
        dense = Dense.build(data, scale, has)
        dense.size = self.size
        if self.size >= LISTED_ROWS:
            dense.build_ivf()
        return dense


def _read_conduits(space: int) -> Iterator[NDArray[np.void]]:
    keys = {
        number: words.key(f"{kind}:{feature}")
        for chunk in queries.read_entries(space)
        for number, kind, feature in chunk
    }
    for chunk in queries.read_conduits(space):
        records = np.zeros(len(chunk), CONDUIT)
        for name, values in zip(_FIELDS, zip(*chunk, strict=True), strict=True):
            records[name] = values
        # Entries created after the entries were read are replayed from the log.
        records["entry_key"] = [keys.get(number, 0) for number in records["from_entry"].tolist()]
        yield records[(records["entry_key"] != 0) | (records["from_entry"] == 0)]


_FIELDS = [name for name in CONDUIT.names or () if name != "entry_key"]


def _build_graph(conduits: Iterable[NDArray[np.void]], ids: NDArray[Any]) -> ConduitGraph:
    """Graph of the conduits whose grains are known; others are replayed from the log with their grains."""
    parts = [*conduits]
    records = np.concatenate(parts) if parts else np.empty(0, CONDUIT)
    parts.clear()
    return ConduitGraph.build(
        records, _rows_of(ids, records["from_grain"]), _rows_of(ids, records["to_grain"]), rows=len(ids)
    )


def _rows_of(ids: NDArray[Any], wanted: NDArray[np.int64]) -> NDArray[np.int32]:
    if not len(ids):
        return np.full(len(wanted), NO_ROW, np.int32)
    at = np.minimum(np.searchsorted(ids, wanted), len(ids) - 1)
    return np.where(ids[at] == wanted, at, NO_ROW).astype(np.int32)
