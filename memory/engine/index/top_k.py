"""Finding the best rows by words: postings are added up where they are few; where they are many, a race decides.

Of many postings those of the rarest terms are read first, until what the others could still bring changes nothing
among the best.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise

import numpy as np
from numpy.typing import NDArray

from memory.engine.index import bm25
from memory.engine.index.bm25 import Scores, Terms
from memory.engine.index.postings import Spans
from memory.engine.index.space_index import Index

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
# Terms of a question that race; of more, the rarest. A whole page as a question must not take a minute.
MOST_TERMS = 256
# So few rows are scored one by one rather than found.
FEW_ROWS = 2_048
# Postings whose reading costs about as much as looking up one unread term for the bound.
_WORTH = 64
# Rows of the rarest terms among which a bound is looked for, and how many of them are scored in full for it.
_LEADERS, _SCORED = 2_048, 96


def search_top_k(
    index: Index,
    asked: Terms,
    *,
    allowed: Mask | None = None,
    k: int = 400,
    sure: int = SURE,
    caps: list[str] | None = None,
) -> tuple[Rows, Scores]:
    """The best k rows that hold any of the terms, best first, ties by row; exactly the best among the first `sure`.

    Few postings are simply added up. Of many, those of the rarest terms are, until what the unread ones could
    still bring is less than what the last of the sure ones has; then the rows that are still in the race are
    scored in full. So a row after those may be missing that holds common terms only. It reads at most
    LAST_READ postings of MOST_TERMS terms: if that is not enough, `caps` is told, and of a list longer than that
    the newest rows are read.
    """
    known = asked.spans.frequency.nonzero()[0]
    if not len(known) or k < 1:
        return np.empty(0, np.int32), np.empty(0, np.float32)
    known = known[asked.spans.frequency[known].argsort(kind="stable")]
    if allowed is not None and index.open(allowed) <= FEW_ROWS:
        rows = allowed.nonzero()[0].astype(np.int32)
        return _first(rows, bm25.scores(index, asked, rows), k)
    if index.size <= FIRST_READ and int(asked.spans.frequency.sum()) <= 2 * FIRST_READ:
        return _first(*_added(index, asked, known, allowed, k), k)
    if len(known) > MOST_TERMS:
        _tell(caps, "terms")
    return _first(*_search_many(index, asked, known[:MOST_TERMS], allowed, k, min(sure, k), caps), k)


def _first(rows: Rows, found: Scores, k: int) -> tuple[Rows, Scores]:
    """The best k, ties by row."""
    hit = found >= max(_reached(found, k), _FAINTEST)
    rows, found = rows[hit], found[hit]
    order = np.lexsort((rows, -found))[:k]
    return rows[order], found[order]


def _reached(values: NDArray[np.floating], k: int) -> float:
    """No more than the k-th best of many values is, and near it; 0 of few.

    That is the k-th best among the peaks of 2 k parts: a pass in order costs less than a partition. Parts are
    blocks, or every n-th value where those would be short: the inner loop is the longer one.
    """
    width = len(values) // (2 * k)
    if width < _WIDE:
        return 0.0
    values = values[: 2 * k * width]
    if width < 2 * k:
        peaks = np.maximum.reduce(values.reshape(width, 2 * k), axis=0)
    else:
        peaks = np.maximum.reduce(values.reshape(2 * k, width), axis=1)
    peaks.partition(k)
    return float(peaks[k])


_WIDE = 4
_FAINTEST = 1e-30
_ROUNDED = 1 - 1e-6  # what rounding to float32 could add


def _added(index: Index, asked: Terms, known: NDArray[np.int64], allowed: Mask | None, k: int) -> tuple[Rows, Scores]:
    """Every row that may be among the best k, and not many more, with its score."""
    weights = asked.idf[known] * np.float32(bm25.bm25_parameters(index).k1 + 1)
    rows, brought, _ = _read(index, asked.spans, known.tolist(), weights)
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
    if last is not None and any(len(counts) > last for _, counts in read):
        read = [(rows[-last:], counts[-last:]) for rows, counts in read]
    rows = np.concatenate([rows for rows, _ in read], dtype=np.intp)
    counts = np.concatenate([counts for _, counts in read])
    brought = _usual(index)[rows]
    often = (counts > 1).nonzero()[0]
    if len(often):
        brought[often] = _share(index, rows[often], counts[often])
    lengths = [len(counts) for _, counts in read]
    brought *= weights.repeat(lengths)
    return rows, brought, list(accumulate(lengths))


def _share(index: Index, rows: NDArray[np.integer], counts: NDArray[np.uint8]) -> Scores:
    """n / (n + norm): what a term brings before its weight."""
    many: Scores = counts.astype(np.float32)
    many /= many + bm25.length_norm(
        index, index.columns["length"][rows].astype(np.float32), bm25.bm25_parameters(index)
    )
    return many


def _search_many(
    index: Index,
    asked: Terms,
    known: NDArray[np.int64],
    allowed: Mask | None,
    k: int,
    sure: int,
    caps: list[str] | None,
) -> tuple[Rows, Scores]:
    """Every row that may be among the best k, and not many more, with its score. `known` begins with the rarest."""
    given = bm25.bm25_parameters(index)
    spans = asked.spans.take(known)
    weights = asked.idf[known] * np.float32(given.k1 + 1)
    # The most a term could bring: as often as anywhere, in the shortest text there can be.
    most = index.postings.most(spans).astype(np.float32)
    unread = np.zeros(len(weights) + 1)
    peak = weights * most / (most + np.float32(given.k1 * (1 - given.b)))
    unread[:-1] = peak[::-1].cumsum(dtype=np.float64)[::-1]
    unread *= 1 + 1e-6  # what rounding could take away
    race = _TopKSearch(index, spans, weights, unread, allowed)
    reach = spans.frequency.cumsum().tolist()
    read, looked = race.read(sum(end <= FIRST_READ for end in reach) or 1), 0
    while race.place < len(weights):
        frequency = int(spans.frequency[race.place])
        if read + frequency > LAST_READ:
            _tell(caps, "postings")
            break
        if read - looked >= _WORTH * (len(weights) - race.place):
            if race.kth(sure) >= unread[race.place]:
                break
            looked = read
        read += race.read()
    if reach[0] > LAST_READ:
        _tell(caps, "postings")
    return race.finish(k)


class _TopKSearch:
    """Rows that hold a term, with what the terms read so far have brought them."""

    def __init__(
        self, index: Index, spans: Spans, weights: Scores, unread: NDArray[np.float64], allowed: Mask | None
    ) -> None:
        self.index, self.spans, self.weights, self.unread, self.allowed = index, spans, weights, unread, allowed
        self.shape = bm25.bm25_parameters(index)
        self.peaks = unread[:-1] - unread[1:]  # the most a term could bring
        self.place = 0  # terms read
        self._rows: list[Places] = []  # those of each term
        self._read: list[Places] = []  # those that were read together
        self._leading: tuple[int, Sums] | None = None
        self._sums: Sums = np.empty(0)

    def read(self, terms: int = 1) -> int:
        """Add up the next terms."""
        places = range(self.place, self.place + terms)
        rows, brought, ends = _read(self.index, self.spans, places, self.weights[places.start : places.stop], LAST_READ)
        parts = [*pairwise([0, *ends])]
        if not self._read and self.index.size < _KEPT:
            self._sums = np.asarray(np.bincount(rows, brought, minlength=self.index.size), np.float64)
        else:
            if not self._read:
                # Zeros for very many rows are kept: to make them costs more than to wipe what a race has written.
                kept: Sums | None = vars(self.index).pop("_sums", None)
                self._sums = kept if kept is not None and len(kept) == self.index.size else np.zeros(self.index.size)
            for begin, end in parts:
                self._sums[rows[begin:end]] += brought[begin:end]  # no row stands twice in one term
        self._read.append(rows)
        self._rows += [rows[begin:end] for begin, end in parts]
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
        rows = np.concatenate(self._read) if len(self._read) > 1 else self._read[0]
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
            for some in self._read:
                self._sums[some] = 0
            vars(self.index)["_sums"] = self._sums

    def _bring_rest(self, rows: Places, have: Sums) -> None:
        """Add what the unread terms bring these rows."""
        if self.place < len(self.weights):
            counts = self.index.postings.counts_of(self.spans.take(slice(self.place, None)), rows).astype(np.float32)
            lengths = self.index.columns["length"][rows].astype(np.float32)
            counts /= counts + bm25.length_norm(self.index, lengths, self.shape)
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
        held = index.size, np.reciprocal(1 + bm25.length_norm(index, lengths, bm25.bm25_parameters(index)))
        vars(index)["_usual"] = held
    return held[1]


def _tell(caps: list[str] | None, what: str) -> None:
    if caps is not None and what not in caps:
        caps.append(what)
