"""Top-k search by words (BM25) with early stopping.

Few postings are all added up. Of many, those of the rarest terms are read first, until the unread ones cannot change
the best rows any more.
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

# Number of postings up to which all are added up. Above it, rare terms are read first, until a bound shows that the
# unread postings cannot change the result.
FIRST_READ = 24_000
# Number of postings after which the search stops, whatever the bound says.
LAST_READ = 300_000
# Number of best rows that are exact: the same that scoring every row would find. Further requested rows are nearly so,
# because reading until hundreds are exact would cost many times more, and the last of them hardly matter.
SURE = 50
# Number of terms of a question that are searched, the rarest ones: a whole page as a question must not take a minute.
MOST_TERMS = 256
# Number of allowed rows up to which they are scored directly instead of searched.
FEW_ROWS = 2_048
# Number of postings whose reading costs about as much as looking up one unread term for the bound.
_WORTH = 64
# Rows of the rarest terms that the bound is computed from, and how many of them are fully scored for it.
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
    """The best k rows that have any of the terms, best first, ties by row; the first `sure` of them are exact.

    Few postings are simply added up. If there are many, those of the rarest terms are read until the unread terms could
    add less than the score of the last exact row; then the rows that can still be among the best are scored fully. So
    after the first `sure` rows one that has only common terms may be missing. At most LAST_READ postings of MOST_TERMS
    terms are read. If that is not enough, the name of the limit is added to `caps`, and the newest rows are read.
    """
    known = asked.spans.frequency.nonzero()[0]
    if not len(known) or k < 1:
        return np.empty(0, np.int32), np.empty(0, np.float32)
    known = known[asked.spans.frequency[known].argsort(kind="stable")]
    if allowed is not None and index.open(allowed) <= FEW_ROWS:
        rows = allowed.nonzero()[0].astype(np.int32)
        return _take_best(rows, bm25.scores(index, asked, rows), k)
    if index.size <= FIRST_READ and int(asked.spans.frequency.sum()) <= 2 * FIRST_READ:
        return _take_best(*_search_few(index, asked, known, allowed, k), k)
    if len(known) > MOST_TERMS:
        _add_cap(caps, "terms")
    return _take_best(*_search_many(index, asked, known[:MOST_TERMS], allowed, k, min(sure, k), caps), k)


def _take_best(rows: Rows, scores: Scores, k: int) -> tuple[Rows, Scores]:
    """The best k by score, ties by row."""
    keep = scores >= max(_kth_bound(scores, k), _FAINTEST)
    rows, scores = rows[keep], scores[keep]
    order = np.lexsort((rows, -scores))[:k]
    return rows[order], scores[order]


def _kth_bound(values: NDArray[np.floating], k: int) -> float:
    """A lower bound of the k-th best of many values, and close to it; 0 for few values.

    It is the k-th best among the maxima of 2 k parts: one sequential pass costs less than a partition. Parts are
    blocks, or every n-th value if blocks would be short, so that the inner loop is the longer one.
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


_WIDE = 4  # values per part below which the bound is not computed
_FAINTEST = 1e-30  # lower scores count as 0
_ROUNDED = 1 - 1e-6  # margin for rounding to float32


def _search_few(
    index: Index, asked: Terms, known: NDArray[np.int64], allowed: Mask | None, k: int
) -> tuple[Rows, Scores]:
    """All postings added up: every row that may be among the best k, and few others, with its score."""
    weights = asked.idf[known] * np.float32(bm25.bm25_parameters(index).k1 + 1)
    rows, contribution, _ = _read(index, asked.spans, known.tolist(), weights)
    sums: Sums = np.asarray(np.bincount(rows, contribution, minlength=index.size), np.float64)
    if allowed is not None:
        sums *= allowed
    rows_found = (sums >= max(_kth_bound(sums, k) * _ROUNDED, _FAINTEST)).nonzero()[0]
    return rows_found.astype(np.int32), sums[rows_found].astype(np.float32)


def _read(
    index: Index, spans: Spans, places: Sequence[int], weights: Scores, last: int | None = None
) -> tuple[Places, Scores, list[int]]:
    """Rows of several terms concatenated, the contribution of the term to each, and the end of each term.

    `last` limits the postings of one term: of a longer list the newest are read.
    """
    postings = index.postings
    lists = [postings.read(spans, place) for place in places]
    if last is not None and any(len(counts) > last for _, counts in lists):
        lists = [(rows[-last:], counts[-last:]) for rows, counts in lists]
    rows = np.concatenate([rows for rows, _ in lists], dtype=np.intp)
    counts = np.concatenate([counts for _, counts in lists])
    contribution = _single_contribution(index)[rows]
    often = (counts > 1).nonzero()[0]
    if len(often):
        contribution[often] = _contribution(index, rows[often], counts[often])
    lengths = [len(counts) for _, counts in lists]
    contribution *= weights.repeat(lengths)
    return rows, contribution, list(accumulate(lengths))


def _contribution(index: Index, rows: NDArray[np.integer], counts: NDArray[np.uint8]) -> Scores:
    """n / (n + norm): contribution of a term before its weight."""
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
    """Early stopping: every row that may be among the best k, and few others, with its score.

    `known` begins with the rarest term.
    """
    parameters = bm25.bm25_parameters(index)
    spans = asked.spans.take(known)
    weights = asked.idf[known] * np.float32(parameters.k1 + 1)
    # Upper bound of the contribution of a term: its highest count, in the shortest possible text.
    most = index.postings.most(spans).astype(np.float32)
    unread = np.zeros(len(weights) + 1)
    peak = weights * most / (most + np.float32(parameters.k1 * (1 - parameters.b)))
    unread[:-1] = peak[::-1].cumsum(dtype=np.float64)[::-1]
    unread *= 1 + 1e-6  # margin for rounding
    search = _TopKSearch(index, spans, weights, unread, allowed)
    total = spans.frequency.cumsum().tolist()
    read, read_at_bound = search.read(sum(end <= FIRST_READ for end in total) or 1), 0
    while search.place < len(weights):
        frequency = int(spans.frequency[search.place])
        if read + frequency > LAST_READ:
            _add_cap(caps, "postings")
            break
        if read - read_at_bound >= _WORTH * (len(weights) - search.place):
            if search.kth(sure) >= unread[search.place]:
                break
            read_at_bound = read
        read += search.read()
    if total[0] > LAST_READ:
        _add_cap(caps, "postings")
    return search.finish(k)


class _TopKSearch:
    """State of a search: rows of the terms read so far, and their partial scores."""

    def __init__(
        self, index: Index, spans: Spans, weights: Scores, unread: NDArray[np.float64], allowed: Mask | None
    ) -> None:
        self.index, self.spans, self.weights, self.unread, self.allowed = index, spans, weights, unread, allowed
        self.parameters = bm25.bm25_parameters(index)
        self.peaks = unread[:-1] - unread[1:]  # upper bound of the contribution of each term
        self.place = 0  # number of terms read
        self._rows: list[Places] = []  # rows of each term
        self._read: list[Places] = []  # rows of each call of `read`
        self._leading: tuple[int, Sums] | None = None
        self._sums: Sums = np.empty(0)

    def read(self, terms: int = 1) -> int:
        """Add the next terms to the partial scores; returns the number of postings read."""
        places = range(self.place, self.place + terms)
        rows, contribution, ends = _read(
            self.index, self.spans, places, self.weights[places.start : places.stop], LAST_READ
        )
        parts = [*pairwise([0, *ends])]
        if not self._read and self.index.size < _KEPT:
            self._sums = np.asarray(np.bincount(rows, contribution, minlength=self.index.size), np.float64)
        else:
            if not self._read:
                # For very many rows an array of zeros is reused: clearing what was written is cheaper than a new one.
                zeros: Sums | None = vars(self.index).pop("_sums", None)
                self._sums = zeros if zeros is not None and len(zeros) == self.index.size else np.zeros(self.index.size)
            for begin, end in parts:
                self._sums[rows[begin:end]] += contribution[begin:end]  # a row occurs only once per term
        self._read.append(rows)
        self._rows += [rows[begin:end] for begin, end in parts]
        self.place += terms
        return len(rows)

    def kth(self, k: int) -> float:
        """A lower bound of the k-th best score, and close to it."""
        leading = self._leaders(k)
        if len(leading) < k:
            return 0.0
        leading.partition(len(leading) - k)
        return float(leading[len(leading) - k])

    def _leaders(self, k: int) -> Sums:
        """Full scores of the leading rows of the rarest terms; cached until more terms are read."""
        if self._leading is None or self._leading[0] != self.place:
            leading: list[Places] = []
            count = 0
            for term_rows in self._rows:
                leading.append(term_rows if self.allowed is None else term_rows[self.allowed[term_rows]])
                count += len(leading[-1])
                if count >= max(_LEADERS, k):
                    break
            rows, most = np.concatenate(leading), max(k, _SCORED)
            partial = self._sums[rows]
            # A row occurs once for each of its terms, so `most` times the number of terms are at least `most` rows.
            rows = _unique_rows(rows[partial >= _kth_bound(partial, most * len(leading))])
            partial = self._sums[rows]
            if len(rows) > most:
                best = partial.argpartition(len(partial) - most)[len(partial) - most :]
                best.sort()
                rows, partial = rows[best], partial[best]
            self._add_unread(rows, partial)
            self._leading = self.place, partial
        return self._leading[1]

    def finish(self, k: int) -> tuple[Rows, Scores]:
        """Rows that can still be among the best k, with their full scores."""
        least = self.kth(k)
        rows = np.concatenate(self._read) if len(self._read) > 1 else self._read[0]
        partial = self._sums[rows]
        near = (partial >= least - self.unread[self.place]).nonzero()[0]
        rows, partial = rows[near], partial[near]
        if self.allowed is not None:
            near = self.allowed[rows].nonzero()[0]
            rows, partial = rows[near], partial[near]
        for place in range(self.place, len(self.weights)):
            if len(rows) <= _FEW:
                break
            partial += self.index.postings.may_hold(self.spans, place, rows) * self.peaks[place]
            near = (partial + self.unread[place + 1] >= least).nonzero()[0]
            rows, partial = rows[near], partial[near]
        rows = _unique_rows(rows)  # sorted rows are looked up several times faster
        partial = self._sums[rows]
        self._add_unread(rows, partial)
        self._return_sums()
        return rows.astype(np.int32), partial.astype(np.float32)

    def _return_sums(self) -> None:
        """Clear the array of sums and leave it to the next search."""
        if len(self._sums) >= _KEPT:
            for rows in self._read:
                self._sums[rows] = 0
            vars(self.index)["_sums"] = self._sums

    def _add_unread(self, rows: Places, partial: Sums) -> None:
        """Add the contributions of the unread terms to the scores of these rows."""
        if self.place < len(self.weights):
            counts = self.index.postings.counts_of(self.spans.take(slice(self.place, None)), rows).astype(np.float32)
            lengths = self.index.columns["length"][rows].astype(np.float32)
            counts /= counts + bm25.length_norm(self.index, lengths, self.parameters)
            counts *= self.weights[self.place :, None]
            partial += np.add.reduce(counts, axis=0, dtype=np.float64)


_KEPT = 1 << 18  # rows from which on the array of sums is reused
_FEW = 512  # number of rows up to which they are scored without filtering them by bounds first


def _unique_rows(rows: Places) -> Places:
    """Unique rows in ascending order; sorts its argument."""
    rows.sort()
    keep = np.ones(len(rows), np.bool_)
    np.not_equal(rows[1:], rows[:-1], out=keep[1:])
    return rows[keep]


def _single_contribution(index: Index) -> Scores:
    """Contribution of a term to each row that has it once, before its weight; cached on the index until it grows."""
    cached: tuple[int, Scores] | None = vars(index).get("_single_contribution")
    if cached is None or cached[0] != index.size:
        lengths: Scores = index.column("length").astype(np.float32)
        cached = index.size, np.reciprocal(1 + bm25.length_norm(index, lengths, bm25.bm25_parameters(index)))
        vars(index)["_single_contribution"] = cached
    return cached[1]


def _add_cap(caps: list[str] | None, what: str) -> None:
    if caps is not None and what not in caps:
        caps.append(what)
