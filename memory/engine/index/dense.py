"""Vectors of the grains of one space: one bit per dimension to find near ones, int8 to score them.

A score is the cosine of the query and a grain. The query is rounded to whole numbers so small that every
sum stays below 2^24: float32 then adds exactly, and a score depends neither on the order of the sum nor on
the row it stands in. Equal vectors always tie, and ties go to the lower row.
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

EXACT_ROWS = 4_096  # up to here every row is scored; above, bits choose whom to score
RESCORED = 400  # rows the bits let through: recall@10 .98 on sentence vectors, .96 with 200
LISTED_ROWS = 300_000  # from here on `build_ivf` pays
SAMPLE = 256  # rows that tell how near any row is to a query
_BLOCK = 8_192
_SCORED = 512  # rows in one product: they stay in the cache, and BLAS does not wake its threads
_EXACT_SUM = 2.0**24


def quantise(matrix: Floats) -> tuple[NDArray[np.int8], Floats]:
    """Each row as int8 numbers and the scale that makes them a unit vector again; a row that is no direction: zeros."""
    rows = np.asarray(matrix, np.float32)
    rows = np.where(np.isfinite(rows).all(axis=1, keepdims=True), rows, np.float32(0))
    peak = np.abs(rows).max(axis=1, initial=0)[:, None]
    data = np.rint(np.divide(rows, peak, out=np.zeros_like(rows), where=peak > 0) * 127).astype(np.int8)
    length = np.sqrt(np.square(data, dtype=np.float32).sum(axis=1))
    return data, np.divide(1, length, out=np.zeros_like(length), where=length > 0)


class Dense:
    """One row per grain, with room to grow; a grain without a vector has False in `has`.

    `bits` holds one uint64 word of all rows after the other, so that a scan reads memory in order. They say
    which side of `centre`, the mean at build time, a number lies on.
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
        # Worked out once for a query and a state of the rows: one question asks three times.
        self._asked: tuple[Floats, Floats, float] | None = None
        self._sampled: tuple[int, Floats, Floats] | None = None
        self._opened: tuple[NDArray[np.bool_] | None, int, NDArray[np.bool_], int] | None = None

    @classmethod
    def build(cls, data: NDArray[np.int8], scale: Floats, has: NDArray[np.bool_], capacity: int | None = None) -> Dense:
        """Rows 0..n in one go; `capacity` leaves room behind them."""
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
            total += dense._unit(slice(at, min(at + _BLOCK, count))).sum(axis=0, dtype=np.float64)
        if filled:
            dense.centre = (total / filled).astype(np.float32)
        for at in range(0, count, _BLOCK):
            block = slice(at, min(at + _BLOCK, count))
            dense.bits[:, block] = dense._cut(dense._unit(block)).T
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
        self.bits[:, row] = self._cut(self._unit(slice(row, row + 1)))[0]
        self.has[row] = True
        self._sampled = self._opened = None
        self.size = max(self.size, row + 1)
        if self.listed is not None:
            self.listed.put(row)

    def drop(self, row: int) -> None:
        """The grain of this row has no vector any more."""
        if row < self.size:
            self.has[row] = False
            self._sampled = self._opened = None

    def grow(self, capacity: int) -> None:
        """Room for `capacity` rows; copies every array, so leave slack where they are built."""
        if capacity > self.capacity:
            self.data, self.scale = _padded(self.data, capacity), _padded(self.scale, capacity)
            bits = np.zeros((len(self.bits), capacity), np.uint64)
            bits[:, : self.bits.shape[1]] = self.bits
            self.bits, self.has = bits, _padded(self.has, capacity)
            self._opened = None

    def vector(self, row: int) -> Floats:
        vector: Floats = self._unit(slice(row, row + 1))[0]
        return vector

    def scores(self, query: Floats, rows: Rows) -> Floats:
        """Cosine of the query with each of these rows; 0 where there is no vector."""
        whole, length = self._whole(query)
        return np.where(self.has[rows], self._scores(whole, length, rows), np.float32(0))

    def search(
        self,
        query: Floats,
        *,
        allowed: NDArray[np.bool_] | None = None,
        k: int = 400,
        exact: int = EXACT_ROWS,
        rescored: int = RESCORED,
    ) -> tuple[Rows, Floats]:
        """The k nearest rows, best first. `allowed` masks rows; rows it does not reach are not allowed."""
        whole, length = self._whole(query)
        if length == 0 or k < 1:
            return np.zeros(0, np.int64), np.zeros(0, np.float32)
        open_rows, count = self._open(allowed)
        size = len(open_rows)
        if count <= exact:
            rows = open_rows.nonzero()[0]
        elif self.listed is not None and 2 * count > size:
            # Lists are probed by nearness alone: where a filter leaves little, they could miss all of it.
            rows = self._probe(self.listed, query, open_rows, max(k, rescored) * size // count)
        else:
            rows = self._scan(query, open_rows, None if count == size else open_rows, max(k, rescored))
        scores = self._scores(whole, length, rows)
        best = (-scores).argsort(kind="stable")[:k]
        return rows[best], scores[best]

    def _open(self, allowed: NDArray[np.bool_] | None) -> tuple[NDArray[np.bool_], int]:
        """Which rows may be found, and how many; kept for no mask and for one that nobody may write into."""
        held = self._opened
        if held is not None and held[0] is allowed and held[1] == self.size:
            return held[2], held[3]
        open_rows = self.has[: self.size]
        if allowed is not None:
            open_rows = open_rows[: len(allowed)] & allowed[: len(open_rows)]
        count = int(np.count_nonzero(open_rows))
        if allowed is None or not allowed.flags.writeable:
            self._opened = allowed, self.size, open_rows, count
        return open_rows, count

    def statistics(self, query: Floats) -> tuple[float, float, float]:
        """Lowest score, mean and standard deviation over a fixed sample of rows.

        The sample follows from the rows alone (every 2^n-th), so processes with other histories agree.
        """
        matrix, scale = self._sample()
        whole, length = self._whole(query)
        if not len(scale) or length == 0:
            return 0.0, 0.0, 0.0
        scores = (matrix @ whole) * (scale * np.float32(1 / length))
        mean = float(np.add.reduce(scores, dtype=np.float64)) / len(scale)
        square = float(scores @ scores) / len(scale)
        return float(np.minimum.reduce(scores)), mean, max(square - mean * mean, 0.0) ** 0.5

    def _sample(self) -> tuple[Floats, Floats]:
        """The numbers and scales of a few hundred rows, as the product wants them; kept until one of them changes."""
        held = self._sampled
        if held is None or held[0] != self.size:
            stride = 1
            while self.size > SAMPLE * stride:
                stride *= 2
            rows = np.arange(0, self.size, stride, dtype=np.int64)
            rows = rows[self.has[rows]]
            if len(rows) < min(SAMPLE // 8, self.size):  # few are encoded: it may have missed them all
                rows = self.has[: self.size].nonzero()[0][: 4 * SAMPLE]
            held = self._sampled = self.size, self.data[rows].astype(np.float32), self.scale[rows]
        return held[1], held[2]

    def build_ivf(self, count: int | None = None) -> None:
        """Sort the rows of now into lists around centroids: seconds of work, for the background."""
        rows = self.has[: self.size].nonzero()[0]
        self.listed = ivf.build_lists(self._unit, self.bits, rows, self.size, count) if len(rows) else None

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Everything, whole capacity included, so that a mapped file leaves room to append."""
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
        """Takes the arrays as they are: mapped copy-on-write they stay shared until written."""
        return cls(
            arrays["data"],
            arrays["scale"],
            arrays["has"],
            arrays["bits"],
            arrays["centre"],
            int(arrays["size"][0]),
            ivf.from_arrays(arrays),
        )

    def _whole(self, query: Floats) -> tuple[Floats, float]:
        """The query in whole numbers and their length; length 0 for a query without direction."""
        held = self._asked
        if held is not None and held[0] is query:
            return held[1], held[2]
        length = math.sqrt(float(query @ query))
        if not math.isfinite(length) or length == 0:
            return np.zeros(self.dimension, np.float32), 0.0
        root = self.dimension**0.5
        whole = np.rint(query * np.float32((_EXACT_SUM / (127 * root) - root) / length)).astype(np.float32, copy=False)
        exact = whole.astype(np.float64)
        length = math.sqrt(float(exact @ exact))
        if not query.flags.writeable:  # another question would have another array
            self._asked = query, whole, length
        return whole, length

    def _scores(self, whole: Floats, length: float, rows: Rows) -> Floats:
        if len(rows) <= _SCORED:
            near: Floats = self.data.take(rows, axis=0).astype(np.float32) @ whole
            near *= self.scale[rows] * np.float32(1 / length)
            return near
        dots = np.empty(len(rows), np.float32)
        first = int(rows[0])
        # Without gaps a slice saves the copy.
        gaps = int(rows[-1]) - first + 1 != len(rows) or bool((rows[1:] - rows[:-1] != 1).any())
        for at in range(0, len(rows), _SCORED):
            end = min(at + _SCORED, len(rows))
            part = self.data[rows[at:end]] if gaps else self.data[first + at : first + end]
            dots[at:end] = part.astype(np.float32) @ whole
        return dots * (self.scale[rows] * np.float32(1 / length))

    def _unit(self, rows: slice | Rows) -> Floats:
        return self.data[rows].astype(np.float32) * self.scale[rows][:, None]

    def _cut(self, units: Floats) -> NDArray[np.uint64]:
        return np.packbits(units > self.centre, axis=1, bitorder="little").view(np.uint64)

    def _query_bits(self, query: Floats) -> NDArray[np.uint64]:
        unit = (query / np.float32(math.sqrt(float(query @ query)))).astype(np.float32, copy=False)
        bits: NDArray[np.uint64] = self._cut(unit[None, :])[0]
        return bits

    def _scan(self, query: Floats, open_rows: NDArray[np.bool_], mask: NDArray[np.bool_] | None, wanted: int) -> Rows:
        distance = hamming([self.bits[:, : len(open_rows)]], self._query_bits(query))
        if mask is not None:
            distance = distance.astype(np.uint16, copy=False)  # a byte has no room for one that is too far
            distance[~mask] = self.dimension + 1
        return _within(distance, self.dimension, wanted)

    def _probe(self, listed: ivf.IvfLists, query: Floats, open_rows: NDArray[np.bool_], wanted: int) -> Rows:
        near = listed.near(query, self.bits[:, : len(open_rows)])
        # Closed rows are dropped from the few that are near, which is why more of them are wanted.
        found = _within(hamming(near.bits, self._query_bits(query)), self.dimension, wanted)
        rows = np.unique(near.rows(found))
        rows = rows[: rows.searchsorted(len(open_rows))]
        return rows[open_rows[rows]]


def _within(distance: NDArray[np.unsignedinteger], furthest: int, wanted: int) -> Rows:
    """At least `wanted` of the nearest, lower rows first where many are equally far.

    Counting how many lie at each distance finds the cut in one pass; a partition of all rows costs five times more.
    Of very many rows a sample tells how near the nearest must be, and only those are counted.
    """
    if len(distance) > _SAMPLED * wanted:
        counts = np.bincount(distance[::_STRIDE], minlength=furthest + 2).cumsum()
        about = int(counts.searchsorted(3 * wanted // _STRIDE + 8))
        near = (distance <= min(about, furthest)).nonzero()[0]
        if len(near) >= wanted:
            return near[_nearest(distance[near], furthest, wanted)]
    return _nearest(distance, furthest, wanted)


_SAMPLED, _STRIDE = 16, 16


def _nearest(distance: NDArray[np.unsignedinteger], furthest: int, wanted: int) -> Rows:
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
