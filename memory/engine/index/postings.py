"""Inverted index: term -> rows and counts. Sorted arrays for rows at build time, a delta of lists for newer rows."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Keys = NDArray[np.uint64]
Rows = NDArray[np.int32]
Counts = NDArray[np.uint8]
Numbers = NDArray[np.int64]

MOST = 255  # highest stored count of a term in a row
_COMMON = 32  # a term is common if more than one row in 32 has it
_SEARCHED = 4_096  # rows of a term up to which a binary search is as fast as its bits
_MOST_COMMON = 64  # terms cached as bits: a quarter of a byte per row and term
_OFTEN = 3  # value of the two bits for this count and every higher one
_NO_ROWS, _NO_COUNTS = np.empty(0, np.int32), np.empty(0, np.uint8)


class Spans(NamedTuple):
    """Ranges of terms in the arrays, looked up once per question."""

    keys: Keys
    at: Numbers  # index in the keys; -1 for a term that only the delta may have
    begin: Numbers
    end: Numbers
    frequency: Numbers  # number of rows with the term, including the delta

    def take(self, places: NDArray[np.integer] | slice) -> Spans:
        return Spans(self.keys[places], self.at[places], self.begin[places], self.end[places], self.frequency[places])


class CommonTerm(NamedTuple):
    """Counts of a term of very many rows: two bits per row, and a list of the rows with higher counts."""

    bits: NDArray[np.uint8]
    rows: Rows
    counts: Counts

    def holds(self, wanted: NDArray[np.integer]) -> NDArray[np.bool_]:
        """Mask of rows that have the term; undefined for rows beyond the bits."""
        shown: NDArray[np.uint8] = self.bits.take(wanted >> 2, mode="clip")
        shown >>= ((wanted & 3) << 1).astype(np.uint8)
        shown &= _OFTEN
        held: NDArray[np.bool_] = shown != 0
        return held


class Postings:
    """Term key -> rows in ascending order with counts.

    The terms of a row never change and rows are added in ascending order, so a row below `size` is present already:
    adding it again does nothing.
    """

    def __init__(self, keys: Keys, starts: NDArray[np.int64], rows: Rows, counts: Counts, size: int) -> None:
        self.keys, self.starts, self.rows, self.counts = keys, starts, rows, counts
        self.base = size  # rows of the arrays; later rows are in the delta
        self.size = size
        self.added = 0  # entries of the delta
        self._delta: dict[int, tuple[array[int], array[int]]] = {}
        self._most: Counts | None = None
        self._commons: dict[int, CommonTerm] = {}  # by index of the term

    @classmethod
    def build(cls, rows_of_terms: Iterable[Mapping[int, int]]) -> Postings:
        """Postings from the terms (key -> count) of row 0, row 1, ..."""
        keys, counts, lengths = array("Q"), array("B"), array("i")
        for terms in rows_of_terms:
            keys.extend(terms.keys())
            counts.extend([min(count, MOST) for count in terms.values()])
            lengths.append(len(terms))
        flat = _as_numpy(keys, np.uint64)
        rows = np.arange(len(lengths), dtype=np.int32).repeat(_as_numpy(lengths, np.int32))
        order = flat.argsort(kind="stable")  # stable: rows stay ascending within a key
        flat = flat[order]
        first = np.r_[True, flat[1:] != flat[:-1]].nonzero()[0] if len(flat) else np.empty(0, np.int64)
        starts = np.r_[first, len(flat)].astype(np.int64)
        return cls(flat[first], starts, rows[order], _as_numpy(counts, np.uint8)[order], len(lengths))

    def add(self, row: int, terms: Mapping[int, int]) -> None:
        """Add the terms of a new row to the delta."""
        if row < self.size:
            return
        for key, count in terms.items():
            posting = self._delta.get(key)
            if posting is None:
                posting = self._delta[key] = (array("i"), array("B"))
            posting[0].append(row)
            posting[1].append(min(count, MOST))
        self.added += len(terms)
        self.size = row + 1

    def of(self, key: int) -> tuple[Rows, Counts]:
        """Rows and counts of one term by its key."""
        return self.read(self.spans(np.array([key], np.uint64)), 0)

    def spans(self, keys: Keys) -> Spans:
        """Ranges and frequencies of terms."""
        if len(self.keys):
            at = self.keys.searchsorted(keys)
            unknown = self.keys.take(at, mode="clip") != keys
            at[unknown] = -1
            begin, end = self.starts[at], self.starts[at + 1]  # the first of all starts is 0
            begin[unknown] = 0
        else:
            at = np.full(len(keys), -1, np.int64)
            begin = end = np.zeros(len(keys), np.int64)
        frequency = end - begin
        if self._delta:
            frequency += np.array([len(self._delta.get(key, ((), ()))[0]) for key in keys.tolist()], np.int64)
        return Spans(keys, at, begin, end, frequency)

    def read(self, spans: Spans, place: int) -> tuple[Rows, Counts]:
        """Rows and counts of the term at `place` of the spans."""
        begin, end = spans.begin[place], spans.end[place]
        rows, counts = self.rows[begin:end], self.counts[begin:end]
        if not self._delta:
            return rows, counts
        late_rows, late_counts = self._delta_of(int(spans.keys[place]))
        if not len(late_rows):
            return rows, counts
        if begin == end:
            return late_rows, late_counts
        return np.concatenate((rows, late_rows)), np.concatenate((counts, late_counts))

    def most(self, spans: Spans) -> Counts:
        """Highest count of each term in any row; 0 for unknown terms."""
        if self._most is None:
            self._most = np.maximum.reduceat(self.counts, self.starts[:-1]) if len(self.keys) else _NO_COUNTS
        highest = self._most[spans.at] if len(self._most) else np.zeros(len(spans.at), np.uint8)
        highest[spans.at < 0] = 0
        if self._delta:
            late = [max(self._delta[key][1]) if key in self._delta else 0 for key in spans.keys.tolist()]
            highest = np.maximum(highest, np.array(late, np.uint8))
        return highest

    def counts_of(self, spans: Spans, rows: NDArray[np.integer]) -> Counts:
        """Count of each term in each of these rows: [len(terms), len(rows)]."""
        counts = np.zeros((len(spans.keys), len(rows)), np.uint8)
        wanted = np.asarray(rows, np.int32)
        commons: dict[int, CommonTerm] = {}
        places = zip(spans.at.tolist(), spans.begin.tolist(), spans.end.tolist(), strict=True)
        for place, (at, begin, end) in enumerate(places):
            if _COMMON * (end - begin) > self.base and end - begin > _SEARCHED:
                commons[place] = self._common_term(at, begin, end)
            elif begin < end:
                _look_up_counts(self.rows[begin:end], self.counts[begin:end], wanted, counts[place])
        if commons:
            _look_up_common(commons, wanted, counts)
        if self._delta:
            self._look_up_delta(spans, wanted, counts)
        return counts

    def _look_up_delta(self, spans: Spans, wanted: Rows, counts: Counts) -> None:
        late = (wanted >= self.base).nonzero()[0]
        if not len(late):
            return
        counts[:, late] = 0
        for place, key in enumerate(spans.keys.tolist()):
            late_rows, late_counts = self._delta_of(key)
            if len(late_rows):
                into = np.zeros(len(late), np.uint8)
                _look_up_counts(late_rows, late_counts, wanted[late], into)
                counts[place, late] = into

    def counts_in(self, spans: Spans, place: int, rows: NDArray[np.integer]) -> Counts:
        """Count of one of the terms in each of these rows."""
        found: Counts = self.counts_of(spans.take(slice(place, place + 1)), rows)[0]
        return found

    def may_hold(self, spans: Spans, place: int, rows: NDArray[np.integer]) -> NDArray[np.bool_]:
        """Whether rows may have a term: exact for rows of the arrays, True for all rows of the delta."""
        at = int(spans.at[place])
        if at < 0:
            may = np.zeros(len(rows), np.bool_)
        else:
            may = self._common_term(at, int(spans.begin[place]), int(spans.end[place])).holds(rows)
        if self._delta:
            may |= rows >= self.base
        return may

    def _common_term(self, at: int, begin: int, end: int) -> CommonTerm:
        common = self._commons.get(at)
        if common is None:
            if len(self._commons) >= _MOST_COMMON:
                self._commons.clear()
            rows, counts = self.rows[begin:end], self.counts[begin:end]
            capped = np.zeros(-(-self.base // 4) * 4, np.uint8)
            capped[rows] = np.minimum(counts, _OFTEN)
            often = (counts >= _OFTEN).nonzero()[0]
            bits = np.bitwise_or.reduce(capped.reshape(-1, 4) << np.array([0, 2, 4, 6], np.uint8), axis=1)
            common = self._commons[at] = CommonTerm(bits, rows[often], counts[often])
        return common

    def merged(self) -> Postings:
        """The same postings with the delta merged into the arrays."""
        if not self._delta:
            return Postings(self.keys, self.starts, self.rows, self.counts, self.size)
        late = np.array(sorted(self._delta), np.uint64)
        late_lengths = np.array([len(self._delta[key][0]) for key in late.tolist()], np.int64)
        keys = np.union1d(self.keys, late)
        lengths, late_at = np.zeros(len(keys), np.int64), keys.searchsorted(late)
        base_at = keys.searchsorted(self.keys)
        base_lengths = np.diff(self.starts)
        lengths[base_at] = base_lengths
        lengths[late_at] += late_lengths
        starts = np.zeros(len(keys) + 1, np.int64)
        lengths.cumsum(out=starts[1:])
        rows, counts = np.empty(starts[-1], np.int32), np.empty(starts[-1], np.uint8)
        to = np.repeat(starts[base_at] - self.starts[:-1], base_lengths) + np.arange(len(self.rows))
        rows[to], counts[to] = self.rows, self.counts
        # Rows of the delta are higher than all rows of the arrays, so they are the end of the run of their key.
        for end, length, key in zip(starts[late_at + 1].tolist(), late_lengths.tolist(), late.tolist(), strict=True):
            rows[end - length : end], counts[end - length : end] = self._delta_of(key)
        return Postings(keys, starts, rows, counts, self.size)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Arrays to store, with the delta merged in."""
        whole = self.merged()
        return {"keys": whole.keys, "starts": whole.starts, "rows": whole.rows, "counts": whole.counts}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], size: int) -> Postings:
        return cls(arrays["keys"], arrays["starts"], arrays["rows"], arrays["counts"], size)

    @property
    def nbytes(self) -> int:
        """Memory in bytes, with an estimate of 300 bytes per key of the delta."""
        base = self.keys.nbytes + self.starts.nbytes + self.rows.nbytes + self.counts.nbytes
        return (
            base
            + 300 * len(self._delta)
            + 6 * self.added
            + sum(common.bits.nbytes for common in self._commons.values())
        )

    def _delta_of(self, key: int) -> tuple[Rows, Counts]:
        posting = self._delta.get(key)
        if posting is None:
            return _NO_ROWS, _NO_COUNTS
        # Copies, because an `array` whose memory numpy shares cannot grow.
        return np.array(posting[0], np.int32), np.array(posting[1], np.uint8)


def _look_up_counts(rows: Rows, counts: Counts, wanted: Rows, into: Counts) -> None:
    at = rows.searchsorted(wanted)
    np.multiply(counts.take(at, mode="clip"), rows.take(at, mode="clip") == wanted, out=into)


def _look_up_common(commons: Mapping[int, CommonTerm], wanted: Rows, into: Counts) -> None:
    """`_look_up_counts` for several common terms by their bits: `into` has a row for each term."""
    byte, shift = (wanted >> 2).astype(np.intp), ((wanted & 3) << 1).astype(np.uint8)
    places = list(commons)
    shown = into if len(places) == len(into) else np.empty((len(places), len(wanted)), np.uint8)
    for row, common in zip(shown, commons.values(), strict=True):
        common.bits.take(byte, mode="clip", out=row)
    shown >>= shift
    shown &= _OFTEN
    often = shown == _OFTEN
    if np.logical_or.reduce(often, axis=None):
        for row, more, common in zip(shown, often, commons.values(), strict=True):
            if len(common.rows):
                which = more.nonzero()[0]
                row[which] = common.counts.take(common.rows.searchsorted(wanted[which]), mode="clip")
    if shown is not into:
        into[places] = shown


def _as_numpy(flat: array[int], kind: type[np.generic]) -> NDArray[Any]:
    return np.frombuffer(flat, kind) if len(flat) else np.empty(0, kind)
