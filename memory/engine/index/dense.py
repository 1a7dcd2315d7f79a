"""Vector index of one space: one bit per dimension to find near rows, int8 numbers to score them.

A score is the cosine of the query and a grain. The query is rounded to integers so small that every sum is below 2^24:
float32 then adds exactly, and a score depends neither on the order of the sum nor on the row. Equal vectors always tie,
and ties go to the lower row.
"""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from memory.engine.index import ivf
from memory.engine.index.hamming import hamming

Floats: TypeAlias = NDArray[np.float32]
Rows: TypeAlias = NDArray[np.int64]

EXACT_ROWS = 4_096  # number of rows up to which all are scored; above it, Hamming distance selects the rows to score
RESCORED = 400  # rows selected by Hamming distance: recall@10 .98 on sentence vectors, .96 with 200
LISTED_ROWS = 300_000  # rows from which on `build_ivf` is worth its cost
SAMPLE = 256  # rows that estimate the distribution of scores for a query
_BLOCK = 8_192  # rows converted to float32 at once
_SCORED = 512  # rows in one product: they fit into the CPU cache, and BLAS starts no threads for so few
_EXACT_SUM = 2.0**24  # float32 represents all integers up to here


def quantise(matrix: Floats) -> tuple[NDArray[np.int8], Floats]:
    """Each row as int8 numbers and the scale that gives a unit vector; zeros for a row that is zero or not finite."""
    rows = np.asarray(matrix, np.float32)
    rows = np.where(np.isfinite(rows).all(axis=1, keepdims=True), rows, np.float32(0))
    peak = np.abs(rows).max(axis=1, initial=0)[:, None]
    data = np.rint(np.divide(rows, peak, out=np.zeros_like(rows), where=peak > 0) * 127).astype(np.int8)
    length = np.sqrt(np.square(data, dtype=np.float32).sum(axis=1))
    return data, np.divide(1, length, out=np.zeros_like(length), where=length > 0)


class Dense:
    """The vectors of a space: one row per grain, with spare capacity; a grain without a vector has False in `has`.

    `bits` is [words, rows], so that a scan reads memory sequentially. A bit tells whether a number is above `centre`,
    the mean at build time.
    """

    def __init__(
        self,
        data: NDArray[np.int8],
        scale: Floats,
        has: NDArray[np.bool_],
        bits: NDArray[np.uint64],
        centre: Floats,
        size: int,
        listed: ivf.IvfLists | None = None,
    ) -> None:
        self.data, self.scale, self.has, self.bits, self.centre = data, scale, has, bits, centre
        self.size = size
        self.listed = listed
        # Caches for one query and one state of the rows: a recall calls scores, search and statistics.
        self._asked: tuple[Floats, Floats, float] | None = None
        self._sampled: tuple[int, Floats, Floats] | None = None
        self._opened: tuple[NDArray[np.bool_] | None, int, NDArray[np.bool_], int] | None = None

    @classmethod
    def build(cls, data: NDArray[np.int8], scale: Floats, has: NDArray[np.bool_], capacity: int | None = None) -> Dense:
        """Index of rows 0..n; `capacity` leaves space for more rows."""
        count, dimension = data.shape
        if dimension % 64:
            raise ValueError(f"{dimension} dimensions: not a multiple of 64")
        room = max(count, capacity or 0)
        dense = cls(
            _padded(data, room),
            _padded(scale.astype(np.float32, copy=False), room),
            _padded(has, room),
            np.zeros((dimension // 64, room), np.uint64),
            np.zeros(dimension, np.float32),
            count,
        )
        total, filled = np.zeros(dimension, np.float64), int(np.count_nonzero(has))
        for at in range(0, count, _BLOCK):
            total += dense._unit_vectors(slice(at, min(at + _BLOCK, count))).sum(axis=0, dtype=np.float64)
        if filled:
            dense.centre = (total / filled).astype(np.float32)
        for at in range(0, count, _BLOCK):
            block = slice(at, min(at + _BLOCK, count))
            dense.bits[:, block] = dense._to_bits(dense._unit_vectors(block)).T
        return dense

    @classmethod
    def empty(cls, dimension: int, capacity: int = 0) -> Dense:
        return cls.build(np.zeros((0, dimension), np.int8), np.zeros(0, np.float32), np.zeros(0, np.bool_), capacity)

    @property
    def dimension(self) -> int:
        return int(self.data.shape[1])

    @property
    def capacity(self) -> int:
        return len(self.has)

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in self.arrays().values())

    def put(self, row: int, data: NDArray[np.int8], scale: float) -> None:
        """Append or replace one row; rows that were skipped have no vector."""
        if row >= self.capacity:
            self.grow(max(row + 1, self.capacity + self.capacity // 4 + 64))
        self.data[row], self.scale[row] = data, scale
        self.bits[:, row] = self._to_bits(self._unit_vectors(slice(row, row + 1)))[0]
        self.has[row] = True
        self._sampled = self._opened = None
        self.size = max(self.size, row + 1)
        if self.listed is not None:
            self.listed.put(row)

    def drop(self, row: int) -> None:
        """Remove the vector of a row."""
        if row < self.size:
            self.has[row] = False
            self._sampled = self._opened = None

    def grow(self, capacity: int) -> None:
        """Raise the capacity; copies every array, so builders should leave spare capacity."""
        if capacity > self.capacity:
            self.data, self.scale = _padded(self.data, capacity), _padded(self.scale, capacity)
            bits = np.zeros((len(self.bits), capacity), np.uint64)
            bits[:, : self.bits.shape[1]] = self.bits
            self.bits, self.has = bits, _padded(self.has, capacity)
            self._opened = None

    def vector(self, row: int) -> Floats:
        vector: Floats = self._unit_vectors(slice(row, row + 1))[0]
        return vector

    def scores(self, query: Floats, rows: Rows) -> Floats:
        """Cosine of the query with each of these rows; 0 for rows without a vector."""
        whole, length = self._round_query(query)
        return np.where(self.has[rows], self._cosines(whole, length, rows), np.float32(0))

    def search(
        self,
        query: Floats,
        *,
        allowed: NDArray[np.bool_] | None = None,
        k: int = 400,
        exact: int = EXACT_ROWS,
        rescored: int = RESCORED,
    ) -> tuple[Rows, Floats]:
        """The k nearest rows, best first. `allowed` is a mask of rows; rows beyond its end are not allowed."""
        whole, length = self._round_query(query)
        if length == 0 or k < 1:
            return np.zeros(0, np.int64), np.zeros(0, np.float32)
        open_rows, count = self._open_rows(allowed)
        size = len(open_rows)
        if count <= exact:
            rows = open_rows.nonzero()[0]
        elif self.listed is not None and 2 * count > size:
            # Probing ignores the filter: if the filter leaves few rows, the probed lists could have none of them.
            rows = self._probe(self.listed, query, open_rows, max(k, rescored) * size // count)
        else:
            rows = self._scan(query, open_rows, None if count == size else open_rows, max(k, rescored))
        scores = self._cosines(whole, length, rows)
        best = (-scores).argsort(kind="stable")[:k]
        return rows[best], scores[best]

    def _open_rows(self, allowed: NDArray[np.bool_] | None) -> tuple[NDArray[np.bool_], int]:
        """Mask and number of rows that may be found; cached for no mask and for a read-only mask."""
        cached = self._opened
        if cached is not None and cached[0] is allowed and cached[1] == self.size:
            return cached[2], cached[3]
        open_rows = self.has[: self.size]
        if allowed is not None:
            open_rows = open_rows[: len(allowed)] & allowed[: len(open_rows)]
        count = int(np.count_nonzero(open_rows))
        if allowed is None or not allowed.flags.writeable:
            self._opened = allowed, self.size, open_rows, count
        return open_rows, count

    def statistics(self, query: Floats) -> tuple[float, float, float]:
        """Lowest score, mean and standard deviation over a fixed sample of rows.

        The sample follows from the rows alone (every 2^n-th), so that all processes compute the same.
        """
        matrix, scale = self._sample()
        whole, length = self._round_query(query)
        if not len(scale) or length == 0:
            return 0.0, 0.0, 0.0
        scores = (matrix @ whole) * (scale * np.float32(1 / length))
        mean = float(np.add.reduce(scores, dtype=np.float64)) / len(scale)
        square = float(scores @ scores) / len(scale)
        return float(np.minimum.reduce(scores)), mean, max(square - mean * mean, 0.0) ** 0.5

    def _sample(self) -> tuple[Floats, Floats]:
        """Float32 numbers and scales of the sample; cached until a vector changes."""
        cached = self._sampled
        if cached is None or cached[0] != self.size:
            stride = 1
            while self.size > SAMPLE * stride:
                stride *= 2
            rows = np.arange(0, self.size, stride, dtype=np.int64)
            rows = rows[self.has[rows]]
            if len(rows) < min(SAMPLE // 8, self.size):  # few rows have vectors: the sample may have missed them
                rows = self.has[: self.size].nonzero()[0][: 4 * SAMPLE]
            cached = self._sampled = self.size, self.data[rows].astype(np.float32), self.scale[rows]
        return cached[1], cached[2]

    def build_ivf(self, count: int | None = None) -> None:
        """Build the IVF lists of the present rows; takes seconds, so call it in the background."""
        rows = self.has[: self.size].nonzero()[0]
        self.listed = ivf.build_lists(self._unit_vectors, self.bits, rows, self.size, count) if len(rows) else None

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All arrays with their spare capacity, so that a mapped file has space to append."""
        held: dict[str, NDArray[Any]] = {
            "data": self.data,
            "scale": self.scale,
            "has": self.has,
            "bits": self.bits,
            "centre": self.centre,
            "size": np.array([self.size], np.int64),
        }
        return held if self.listed is None else held | self.listed.arrays()

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray[Any]]) -> Dense:
        """Index on these arrays without a copy: arrays mapped copy-on-write stay shared until they are written."""
        return cls(
            arrays["data"],
            arrays["scale"],
            arrays["has"],
            arrays["bits"],
            arrays["centre"],
            int(arrays["size"][0]),
            ivf.from_arrays(arrays),
        )

    def _round_query(self, query: Floats) -> tuple[Floats, float]:
        """The query rounded to integers, and its Euclidean length; length 0 for a query that is zero or not finite."""
        cached = self._asked
        if cached is not None and cached[0] is query:
            return cached[1], cached[2]
        length = math.sqrt(float(query @ query))
        if not math.isfinite(length) or length == 0:
            return np.zeros(self.dimension, np.float32), 0.0
        root = self.dimension**0.5
        whole = np.rint(query * np.float32((_EXACT_SUM / (127 * root) - root) / length)).astype(np.float32, copy=False)
        exact = whole.astype(np.float64)
        length = math.sqrt(float(exact @ exact))
        if not query.flags.writeable:  # a read-only array stays the same query
            self._asked = query, whole, length
        return whole, length

    def _cosines(self, whole: Floats, length: float, rows: Rows) -> Floats:
        if len(rows) <= _SCORED:
            near: Floats = self.data.take(rows, axis=0).astype(np.float32) @ whole
            near *= self.scale[rows] * np.float32(1 / length)
            return near
        dots = np.empty(len(rows), np.float32)
        first = int(rows[0])
        # Consecutive rows are a slice, which saves a copy.
        gaps = int(rows[-1]) - first + 1 != len(rows) or bool((rows[1:] - rows[:-1] != 1).any())
        for at in range(0, len(rows), _SCORED):
            end = min(at + _SCORED, len(rows))
            part = self.data[rows[at:end]] if gaps else self.data[first + at : first + end]
            dots[at:end] = part.astype(np.float32) @ whole
        return dots * (self.scale[rows] * np.float32(1 / length))

    def _unit_vectors(self, rows: slice | Rows) -> Floats:
        return self.data[rows].astype(np.float32) * self.scale[rows][:, None]

    def _to_bits(self, units: Floats) -> NDArray[np.uint64]:
        return np.packbits(units > self.centre, axis=1, bitorder="little").view(np.uint64)

    def _query_bits(self, query: Floats) -> NDArray[np.uint64]:
        unit = (query / np.float32(math.sqrt(float(query @ query)))).astype(np.float32, copy=False)
        bits: NDArray[np.uint64] = self._to_bits(unit[None, :])[0]
        return bits

    def _scan(self, query: Floats, open_rows: NDArray[np.bool_], mask: NDArray[np.bool_] | None, wanted: int) -> Rows:
        distance = hamming([self.bits[:, : len(open_rows)]], self._query_bits(query))
        if mask is not None:
            distance = distance.astype(np.uint16, copy=False)  # a byte cannot represent a distance above all others
            distance[~mask] = self.dimension + 1
        return _nearest_rows(distance, self.dimension, wanted)

    def _probe(self, listed: ivf.IvfLists, query: Floats, open_rows: NDArray[np.bool_], wanted: int) -> Rows:
        near = listed.near(query, self.bits[:, : len(open_rows)])
        # Rows that are not open are dropped only after this; `wanted` is raised for that by the caller.
        found = _nearest_rows(hamming(near.bits, self._query_bits(query)), self.dimension, wanted)
        rows = np.unique(near.rows(found))
        rows = rows[: rows.searchsorted(len(open_rows))]
        return rows[open_rows[rows]]


def _nearest_rows(distance: NDArray[np.unsignedinteger], furthest: int, wanted: int) -> Rows:
    """At least `wanted` nearest rows; among equal distances lower rows first.

    A histogram of distances finds the cut in one pass; a partition of all rows costs five times more. Of very many
    rows a sample gives an upper bound of the cut, and only rows within it are counted.
    """
    if len(distance) > _SAMPLED * wanted:
        counts = np.bincount(distance[::_STRIDE], minlength=furthest + 2).cumsum()
        about = int(counts.searchsorted(3 * wanted // _STRIDE + 8))
        near = (distance <= min(about, furthest)).nonzero()[0]
        if len(near) >= wanted:
            return near[_cut_by_histogram(distance[near], furthest, wanted)]
    return _cut_by_histogram(distance, furthest, wanted)


_SAMPLED, _STRIDE = 16, 16  # a sample of every 16th is used from 16 times `wanted` rows on


def _cut_by_histogram(distance: NDArray[np.unsignedinteger], furthest: int, wanted: int) -> Rows:
    reached = (np.bincount(distance, minlength=furthest + 2)[: furthest + 1]).cumsum()
    cut = int(reached.searchsorted(wanted))
    if cut > furthest:
        return (distance <= furthest).nonzero()[0]
    if reached[cut] <= 2 * wanted:
        return (distance <= cut).nonzero()[0]
    equal = (distance == cut).nonzero()[0][: 2 * wanted - (int(reached[cut - 1]) if cut else 0)]
    return np.sort(np.concatenate(((distance < cut).nonzero()[0], equal)))


def _padded(array: NDArray[Any], room: int) -> NDArray[Any]:
    if len(array) == room:
        return array
    wider = np.zeros((room, *array.shape[1:]), array.dtype)
    wider[: len(array)] = array
    return wider
