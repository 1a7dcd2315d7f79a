"""Words: BM25 over the postings, with length normalisation that follows the collection.

    score(q, d) = sum over the distinct terms t of q:
        idf(t) (k1 + 1) n / (n + k1 (1 - b + b len(d) / mean len)),   n = count of t in d
    idf(t) = ln(1 + (N - df + .5) / (df + .5)),   natural logarithm, N rows, df of them hold t
    b  = clip(.4 + .2 ln(mean characters / 140), .4, .95)
    k1 = clip(.9 + .3 (b - .4) / .35, .9, 1.2)

Short turns want little normalisation, long messages nearly all of it. What one term brings is a float32, and sums
of those are made in float64, where so few of them add up exactly: the order of the terms decides nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from memory.engine.index import Index
from memory.engine.postings import Spans

Scores = NDArray[np.float32]
Sums = NDArray[np.float64]
Rows = NDArray[np.int32]
Places = NDArray[np.intp]
Mask = NDArray[np.bool_]

# Postings up to here are all added up; of more, rare terms are read until a bound says that the others change nothing.
FIRST_READ = 24_000
# Postings after which the search stops reading whatever the bound says.
LAST_READ = 300_000
# So many of the best are exactly those that scoring every row would find, even when more are asked for: reading on
# until that holds for hundreds of them would cost many times more, and nobody looks at the last of those.
SURE = 50
# So few rows are scored one by one rather than found.
FEW_ROWS = 2_048
# Rows of the rarest terms among which a bound is looked for, and how many of them are scored in full for it.
_LEADERS, _SCORED = 2_048, 96


class Shape(NamedTuple):
    """The two numbers that follow from how long the collection's texts are."""

    b: float
    k1: float


class Terms(NamedTuple):
    """The distinct terms of a question in its order: where they first stand in it, what they say, where rows are."""

    keys: NDArray[np.uint64]
    places: NDArray[np.int64]
    idf: Scores
    spans: Spans


def shape(index: Index) -> Shape:
    """Kept beside the index until it grows."""
    held: tuple[int, Shape] | None = vars(index).get("_shape")
    if held is None or held[0] != index.size:
        _, characters = index.totals()
        mean = max(characters / index.size, 1.0) if index.size else 140.0
        b = min(max(0.4 + 0.2 * math.log(mean / 140), 0.4), 0.95)
        held = index.size, Shape(b, min(max(0.9 + 0.3 * (b - 0.4) / 0.35, 0.9), 1.2))
        vars(index)["_shape"] = held
    return held[1]


def terms(index: Index, keys: NDArray[np.uint64]) -> Terms:
    """A term that is repeated counts where it first stands."""
    first: dict[int, int] = {}
    for place, key in enumerate(keys.tolist()):
        first.setdefault(key, place)
    once = np.array([*first], np.uint64)
    spans = index.postings.spans(once)
    return Terms(once, np.array([*first.values()], np.int64), _idf(index.size, spans.frequency), spans)


def idf(index: Index, keys: NDArray[np.uint64]) -> Scores:
    """How much it says that a text holds the term: 0 only for what nobody has."""
    return _idf(index.size, index.postings.spans(np.asarray(keys, np.uint64)).frequency)


def _idf(size: int, frequency: NDArray[np.int64]) -> Scores:
    weight = np.log1p((size - frequency + 0.5) / (frequency + 0.5))
    return np.where(frequency > 0, weight, 0.0).astype(np.float32)


def by_term(
    index: Index, rows: NDArray[np.integer], counts: Scores, idf: Scores, shape: Shape, lengths: Scores | None = None
) -> Scores:
    """What each term brings each row, from counts that are known already: both [terms, rows]."""
    if lengths is None:
        lengths = index.columns["length"][rows].astype(np.float32)
    parts: Scores = counts / (counts + _normed(index, lengths, shape))
    parts *= (idf * np.float32(shape.k1 + 1))[:, None]
    return parts


def weigh(
    index: Index, rows: NDArray[np.integer], counts: Scores, idf: Scores, shape: Shape, lengths: Scores | None = None
) -> Scores:
    """BM25 from counts that are known already: [rows]. Row by row the same sum, so that equal texts tie."""
    summed: Scores = np.add.reduce(by_term(index, rows, counts, idf, shape, lengths), axis=0)
    return summed


def scores(index: Index, asked: Terms, rows: NDArray[np.integer]) -> Scores:
    """BM25 of the given rows."""
    counts = index.postings.counts_of(asked.spans, rows).astype(np.float32)
    parts = by_term(index, rows, counts, asked.idf, shape(index))
    summed: Scores = parts.sum(axis=0, dtype=np.float64).astype(np.float32)
    return summed


def search(
    index: Index, asked: Terms, *, allowed: Mask | None = None, k: int = 400, sure: int = SURE,
    caps: list[str] | None = None,
) -> tuple[Rows, Scores]:  # fmt: skip
    """The best k rows that hold any of the terms, best first, ties by row; exactly the best among the first `sure`.

    Few postings are simply added up. Of many, those of the rarest terms are, until what the unread ones could
    still bring is less than what the last of the sure ones has; then the rows that are still in the race are
    scored in full. So a row after those may be missing that holds common terms only. It reads at most
    LAST_READ postings: if that is not enough, `caps` is told, and of a list longer than that the newest
    rows are read.
    """
    known = asked.spans.frequency.nonzero()[0]
    if not len(known) or k < 1:
        return np.empty(0, np.int32), np.empty(0, np.float32)
    known = known[asked.spans.frequency[known].argsort(kind="stable")]
    if allowed is not None and index.open(allowed) <= FEW_ROWS:
        rows = allowed.nonzero()[0].astype(np.int32)
        return _first(rows, scores(index, asked, rows), k)
    if index.size <= FIRST_READ and int(asked.spans.frequency.sum()) <= 2 * FIRST_READ:
        return _first(*_added(index, asked, known, allowed, k), k)
    return _first(*_race(index, asked, known, allowed, k, min(sure, k), caps), k)


def _first(rows: Rows, found: Scores, k: int) -> tuple[Rows, Scores]:
    """The best k, ties by row."""
    hit = found >= max(_reached(found, k), _FAINTEST)
    rows, found = rows[hit], found[hit]
    order = np.lexsort((rows, -found))[:k]
    return rows[order], found[order]


def _reached(values: NDArray[np.floating], k: int) -> float:
    """No more than the k-th best of many values is, and near it; 0 of few.

    That is the k-th best among the peaks of 2 k blocks: a pass in order costs less than a partition.
    """
    width = len(values) // (2 * k)
    if width < _WIDE:
        return 0.0
    peaks = values[: 2 * k * width].reshape(2 * k, width).max(axis=1)
    peaks.partition(k)
    return float(peaks[k])


_WIDE = 4
_FAINTEST = 1e-30
_ROUNDED = 1 - 1e-6  # what rounding to float32 could add


def _added(index: Index, asked: Terms, known: NDArray[np.int64], allowed: Mask | None, k: int) -> tuple[Rows, Scores]:
    """Every row that may be among the best k, and not many more, with its score."""
    rows, brought, _ = _read(index, asked.spans, known.tolist(), asked.idf[known] * np.float32(shape(index).k1 + 1))
    sums: Sums = np.asarray(np.bincount(rows, brought, minlength=index.size), np.float64)
    if allowed is not None:
        sums *= allowed
    found = (sums >= max(_reached(sums, k) * _ROUNDED, _FAINTEST)).nonzero()[0]
    return found.astype(np.int32), sums[found].astype(np.float32)


def _read(
    index: Index, spans: Spans, places: Sequence[int], weights: Scores, last: int | None = None
) -> tuple[Places, Scores, list[int]]:
    """The rows of several terms one after the other, what the terms bring them, and where each term ends.

    `last` bounds the postings of one term: the newest of a longer list.
    """
    postings = index.postings
    read = [postings.read(spans, place) for place in places]
    if last is not None:
        read = [(rows[-last:], counts[-last:]) for rows, counts in read]
    rows = np.concatenate([rows for rows, _ in read], dtype=np.intp)
    counts = np.concatenate([counts for _, counts in read])
    brought = _usual(index)[rows]
    often = (counts > 1).nonzero()[0]
    if len(often):
        brought[often] = _share(index, rows[often], counts[often])
    ends = list(accumulate(len(rows) for rows, _ in read))
    begin = 0
    for weight, end in zip(weights, ends, strict=True):
        brought[begin:end] *= weight
        begin = end
    return rows, brought, ends


def _share(index: Index, rows: NDArray[np.integer], counts: NDArray[np.uint8]) -> Scores:
    """n / (n + norm): what a term brings before its weight."""
    many: Scores = counts.astype(np.float32)
    many /= many + _normed(index, index.columns["length"][rows].astype(np.float32), shape(index))
    return many


def _race(
    index: Index, asked: Terms, known: NDArray[np.int64], allowed: Mask | None, k: int, sure: int,
    caps: list[str] | None,
) -> tuple[Rows, Scores]:  # fmt: skip
    """Every row that may be among the best k, and not many more, with its score. `known` begins with the rarest."""
    given = shape(index)
    spans = asked.spans.take(known)
    weights = asked.idf[known] * np.float32(given.k1 + 1)
    # The most a term could bring: as often as anywhere, in the shortest text there can be.
    most = index.postings.most(spans).astype(np.float32)
    unread = np.zeros(len(weights) + 1)
    peak = weights * most / (most + np.float32(given.k1 * (1 - given.b)))
    unread[:-1] = peak[::-1].cumsum(dtype=np.float64)[::-1]
    unread *= 1 + 1e-6  # what rounding could take away
    race = _Race(index, spans, weights, unread, allowed)
    reach = spans.frequency.cumsum().tolist()
    read = race.read(sum(end <= FIRST_READ for end in reach) or 1)
    while race.place < len(weights):
        frequency = int(spans.frequency[race.place])
        if read + frequency > LAST_READ:
            _tell(caps)
            break
        if race.kth(sure) >= unread[race.place]:
            break
        read += race.read()
    if reach[0] > LAST_READ:
        _tell(caps)
    return race.finish(k)


class _Race:
    """Rows that hold a term, with what the terms read so far have brought them."""

    def __init__(
        self, index: Index, spans: Spans, weights: Scores, unread: NDArray[np.float64], allowed: Mask | None
    ) -> None:
        self.index, self.spans, self.weights, self.unread, self.allowed = index, spans, weights, unread, allowed
        self.shape = shape(index)
        self.peaks = unread[:-1] - unread[1:]  # the most a term could bring
        self.place = 0  # terms read
        self._rows: list[Places] = []  # those of each term
        self._leading: tuple[int, Sums] | None = None
        # Zeros for very many rows are kept: to make them costs more than to wipe what a race has written.
        kept: Sums | None = vars(index).pop("_sums", None)
        self._sums: Sums = kept if kept is not None and len(kept) == index.size else np.zeros(index.size)

    def read(self, terms: int = 1) -> int:
        """Add up the next terms."""
        places = range(self.place, self.place + terms)
        rows, brought, ends = _read(self.index, self.spans, places, self.weights[places.start : places.stop], LAST_READ)
        for begin, end in pairwise([0, *ends]):
            some = rows[begin:end]
            self._sums[some] += brought[begin:end]  # no row stands twice in one term
            self._rows.append(some)
        self.place += terms
        return len(rows)

    def kth(self, k: int) -> float:
        """No more than the k-th best score is, and near it."""
        leading = self._leaders(k)
        if len(leading) < k:
            return 0.0
        leading.partition(len(leading) - k)
        return float(leading[len(leading) - k])

    def _leaders(self, k: int) -> Sums:
        """The full scores of those that lead so far among the rows of the rarest terms."""
        if self._leading is None or self._leading[0] != self.place:
            leading: list[Places] = []
            count = 0
            for some in self._rows:
                leading.append(some if self.allowed is None else some[self.allowed[some]])
                count += len(leading[-1])
                if count >= max(_LEADERS, k):
                    break
            rows, most = np.concatenate(leading), max(k, _SCORED)
            have = self._sums[rows]
            # A row stands there once for each of its terms: so many places are of `most` rows at least.
            rows = _once(rows[have >= _reached(have, most * len(leading))])
            have = self._sums[rows]
            if len(rows) > most:
                best = have.argpartition(len(have) - most)[len(have) - most :]
                best.sort()
                rows, have = rows[best], have[best]
            self._bring_rest(rows, have)
            self._leading = self.place, have
        return self._leading[1]

    def finish(self, k: int) -> tuple[Rows, Scores]:
        """The rows that can still be among the best k, with the unread terms looked up from the rarest on."""
        least = self.kth(k)
        rows = np.concatenate(self._rows)
        have = self._sums[rows]
        near = (have >= least - self.unread[self.place]).nonzero()[0]
        rows, have = rows[near], have[near]
        if self.allowed is not None:
            near = self.allowed[rows].nonzero()[0]
            rows, have = rows[near], have[near]
        for place in range(self.place, len(self.weights)):
            if len(rows) <= _FEW:
                break
            have += self.index.postings.may_hold(self.spans, place, rows) * self.peaks[place]
            near = (have + self.unread[place + 1] >= least).nonzero()[0]
            rows, have = rows[near], have[near]
        rows = _once(rows)  # in order, they are looked up several times faster
        have = self._sums[rows]
        self._bring_rest(rows, have)
        self._give_back()
        return rows.astype(np.int32), have.astype(np.float32)

    def _give_back(self) -> None:
        if len(self._sums) >= _KEPT:
            for some in self._rows:
                self._sums[some] = 0
            vars(self.index)["_sums"] = self._sums

    def _bring_rest(self, rows: Places, have: Sums) -> None:
        """Add what the unread terms bring these rows."""
        if self.place < len(self.weights):
            counts = self.index.postings.counts_of(self.spans.take(slice(self.place, None)), rows).astype(np.float32)
            counts /= counts + _normed(self.index, self.index.columns["length"][rows].astype(np.float32), self.shape)
            counts *= self.weights[self.place :, None]
            have += np.add.reduce(counts, axis=0, dtype=np.float64)


_KEPT = 1 << 18
_FEW = 512  # rows that are looked up without asking first whether they can be there


def _once(rows: Places) -> Places:
    """Each row once, ascending."""
    rows.sort()
    keep = np.ones(len(rows), np.bool_)
    np.not_equal(rows[1:], rows[:-1], out=keep[1:])
    return rows[keep]


def _usual(index: Index) -> Scores:
    """What a term brings each row that holds it once, before its weight. Kept beside the index until it grows."""
    held: tuple[int, Scores] | None = vars(index).get("_usual")
    if held is None or held[0] != index.size:
        lengths: Scores = index.column("length").astype(np.float32)
        held = index.size, np.reciprocal(1 + _normed(index, lengths, shape(index)))
        vars(index)["_usual"] = held
    return held[1]


def _normed(index: Index, lengths: Scores, shape: Shape) -> Scores:
    """k1 (1 - b + b length / mean length)."""
    terms, _ = index.totals()
    mean = max(terms / index.size, 1.0) if index.size else 1.0
    norms: Scores = lengths * np.float32(shape.k1 * shape.b / mean)
    norms += np.float32(shape.k1 * (1 - shape.b))
    return norms


def _tell(caps: list[str] | None) -> None:
    if caps is not None and "postings" not in caps:
        caps.append("postings")
