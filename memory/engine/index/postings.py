"""Which rows hold a term, and how often: sorted arrays for what was there at the build, lists for what came since."""

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

MOST = 255  # a count says "many" from here on
_COMMON = 32  # a term that more than one row in so many holds is common
_SEARCHED = 4_096  # rows in which a few are found by searching as fast as through bits
_MOST_COMMON = 64  # terms that are kept as bits: a quarter of a byte a row and term
_OFTEN = 3  # what two bits say of this count and every higher one
_NO_ROWS, _NO_COUNTS = np.empty(0, np.int32), np.empty(0, np.uint8)


class Spans(NamedTuple):
    """Where terms stand in the arrays: looked up once for all that is asked about them."""

    keys: Keys
    at: Numbers  # place among the keys; -1 for a term that only the delta may have
    begin: Numbers
    end: Numbers
    frequency: Numbers  # rows that hold the term, those of the delta included

    def take(self, places: NDArray[np.integer] | slice) -> Spans:
        return Spans(self.keys[places], self.at[places], self.begin[places], self.end[places], self.frequency[places])


class CommonTerm(NamedTuple):
    """A term of very many rows: two bits for each row say how often, and the few with more than those can say."""

    bits: NDArray[np.uint8]
    rows: Rows
    counts: Counts

    def holds(self, wanted: NDArray[np.integer]) -> NDArray[np.bool_]:
        """Which rows hold it. Rows beyond the bits may get anything."""
        shown: NDArray[np.uint8] = self.bits.take(wanted >> 2, mode="clip")
        shown >>= ((wanted & 3) << 1).astype(np.uint8)
        shown &= _OFTEN
        held: NDArray[np.bool_] = shown != 0
        return held


class Postings:
    """Term key -> rows in ascending order with counts.

    A row's terms never change and rows come in ascending order, so a row below `size` has been counted:
    adding it again does nothing.
    """

    def __init__(self, keys: Keys, starts: NDArray[np.int64], rows: Rows, counts: Counts, size: int) -> None:
        self.keys, self.starts, self.rows, self.counts = keys, starts, rows, counts
        self.base = size  # rows the arrays speak for; those from here on are in the delta
        self.size = size
        self.added = 0  # entries of the delta
        self._delta: dict[int, tuple[array[int], array[int]]] = {}
        self._most: Counts | None = None
        self._commons: dict[int, CommonTerm] = {}  # by place of the term

    @classmethod
    def build(cls, rows_of_terms: Iterable[Mapping[int, int]]) -> Postings:
        """From the terms (key -> count) of row 0, row 1, ..."""
        keys, counts, lengths = array("Q"), array("B"), array("i")
        for terms in rows_of_terms:
            keys.extend(terms.keys())
            counts.extend([min(count, MOST) for count in terms.values()])
            lengths.append(len(terms))
        flat = _numbers(keys, np.uint64)
        rows = np.arange(len(lengths), dtype=np.int32).repeat(_numbers(lengths, np.int32))
        order = flat.argsort(kind="stable")  # stable: rows stay ascending within a key
        flat = flat[order]
        first = np.r_[True, flat[1:] != flat[:-1]].nonzero()[0] if len(flat) else np.empty(0, np.int64)
        starts = np.r_[first, len(flat)].astype(np.int64)
        return cls(flat[first], starts, rows[order], _numbers(counts, np.uint8)[order], len(lengths))

    def add(self, row: int, terms: Mapping[int, int]) -> None:
        """Note the terms of a new row."""
        if row < self.size:
            return
        for key, count in terms.items():
            found = self._delta.get(key)
            if found is None:
                found = self._delta[key] = (array("i"), array("B"))
            found[0].append(row)
            found[1].append(min(count, MOST))
        self.added += len(terms)
        self.size = row + 1

    def of(self, key: int) -> tuple[Rows, Counts]:
        """The rows of one term and its counts in them."""
        return self.read(self.spans(np.array([key], np.uint64)), 0)

    def spans(self, keys: Keys) -> Spans:
        """Where each term stands."""
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
        """The rows of one of the terms and its counts in them."""
        begin, end = spans.begin[place], spans.end[place]
        rows, counts = self.rows[begin:end], self.counts[begin:end]
        if not self._delta:
            return rows, counts
        late_rows, late_counts = self._late(int(spans.keys[place]))
        if not len(late_rows):
            return rows, counts
        if begin == end:
            return late_rows, late_counts
        return np.concatenate((rows, late_rows)), np.concatenate((counts, late_counts))

    def most(self, spans: Spans) -> Counts:
        """The highest count of each term; 0 for unknown ones."""
        if self._most is None:
            self._most = np.maximum.reduceat(self.counts, self.starts[:-1]) if len(self.keys) else _NO_COUNTS
        found = self._most[spans.at] if len(self._most) else np.zeros(len(spans.at), np.uint8)
        found[spans.at < 0] = 0
        if self._delta:
            late = [max(self._delta[key][1]) if key in self._delta else 0 for key in spans.keys.tolist()]
            found = np.maximum(found, np.array(late, np.uint8))
        return found

    def counts_of(self, spans: Spans, rows: NDArray[np.integer]) -> Counts:
        """How often each term stands in each of these rows: [len(terms), len(rows)]."""
        found = np.zeros((len(spans.keys), len(rows)), np.uint8)
        wanted = np.asarray(rows, np.int32)
        commons: dict[int, CommonTerm] = {}
        places = zip(spans.at.tolist(), spans.begin.tolist(), spans.end.tolist(), strict=True)
        for place, (at, begin, end) in enumerate(places):
            if _COMMON * (end - begin) > self.base and end - begin > _SEARCHED:
                commons[place] = self._common(at, begin, end)
            elif begin < end:
                _look_up(self.rows[begin:end], self.counts[begin:end], wanted, found[place])
        if commons:
            _look_up_common(commons, wanted, found)
        if self._delta:
            self._look_up_late(spans, wanted, found)
        return found

    def _look_up_late(self, spans: Spans, wanted: Rows, found: Counts) -> None:
        late = (wanted >= self.base).nonzero()[0]
        if not len(late):
            return
        found[:, late] = 0
        for place, key in enumerate(spans.keys.tolist()):
            late_rows, late_counts = self._late(key)
            if len(late_rows):
                into = np.zeros(len(late), np.uint8)
                _look_up(late_rows, late_counts, wanted[late], into)
                found[place, late] = into

    def counts_in(self, spans: Spans, place: int, rows: NDArray[np.integer]) -> Counts:
        """How often one of the terms stands in each of these rows."""
        found: Counts = self.counts_of(spans.take(slice(place, place + 1)), rows)[0]
        return found

    def may_hold(self, spans: Spans, place: int, rows: NDArray[np.integer]) -> NDArray[np.bool_]:
        """Whether rows can hold a term: exactly for those of the arrays, True for all that came since."""
        at = int(spans.at[place])
        if at < 0:
            held = np.zeros(len(rows), np.bool_)
        else:
            held = self._common(at, int(spans.begin[place]), int(spans.end[place])).holds(rows)
        if self._delta:
            held |= rows >= self.base
        return held

    def _common(self, at: int, begin: int, end: int) -> CommonTerm:
        found = self._commons.get(at)
        if found is None:
            if len(self._commons) >= _MOST_COMMON:
                self._commons.clear()
            rows, counts = self.rows[begin:end], self.counts[begin:end]
            here = np.zeros(-(-self.base // 4) * 4, np.uint8)
            here[rows] = np.minimum(counts, _OFTEN)
            often = (counts >= _OFTEN).nonzero()[0]
            bits = np.bitwise_or.reduce(here.reshape(-1, 4) << np.array([0, 2, 4, 6], np.uint8), axis=1)
            found = self._commons[at] = CommonTerm(bits, rows[often], counts[often])
        return found

    def merged(self) -> Postings:
        """The same with everything in the arrays."""
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
        # The delta's rows are younger than all of the base: they end their key's run.
        for end, length, key in zip(starts[late_at + 1].tolist(), late_lengths.tolist(), late.tolist(), strict=True):
            rows[end - length : end], counts[end - length : end] = self._late(key)
        return Postings(keys, starts, rows, counts, self.size)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """What a file must hold. A delta is merged in."""
        whole = self.merged()
        return {"keys": whole.keys, "starts": whole.starts, "rows": whole.rows, "counts": whole.counts}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], size: int) -> Postings:
        return cls(arrays["keys"], arrays["starts"], arrays["rows"], arrays["counts"], size)

    @property
    def nbytes(self) -> int:
        """Memory, with about 300 bytes for a key of the delta."""
        base = self.keys.nbytes + self.starts.nbytes + self.rows.nbytes + self.counts.nbytes
        return base + 300 * len(self._delta) + 6 * self.added + sum(one.bits.nbytes for one in self._commons.values())

    def _late(self, key: int) -> tuple[Rows, Counts]:
        found = self._delta.get(key)
        if found is None:
            return _NO_ROWS, _NO_COUNTS
        # Copies: an array that lends out its memory could not grow.
        return np.array(found[0], np.int32), np.array(found[1], np.uint8)


def _look_up(rows: Rows, counts: Counts, wanted: Rows, into: Counts) -> None:
    at = rows.searchsorted(wanted)
    np.multiply(counts.take(at, mode="clip"), rows.take(at, mode="clip") == wanted, out=into)


def _look_up_common(commons: Mapping[int, CommonTerm], wanted: Rows, into: Counts) -> None:
    """The same for several terms by their bits: `into` has a row for each place."""
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


def _numbers(flat: array[int], kind: type[np.generic]) -> NDArray[Any]:
    return np.frombuffer(flat, kind) if len(flat) else np.empty(0, kind)
