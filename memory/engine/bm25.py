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
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from memory.engine.index import Index
from memory.engine.postings import Spans

Scores = NDArray[np.float32]
Rows = NDArray[np.int32]
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
# Rows of the rarest terms among which a bound is looked for before all are.
_LEADERS = 2_048
# Sums of float32 in another order differ by less than this, relatively.
_SLACK = 1e-5


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
    _, characters = index.totals()
    mean = max(characters / index.size, 1.0) if index.size else 140.0
    b = min(max(0.4 + 0.2 * math.log(mean / 140), 0.4), 0.95)
    return Shape(b, min(max(0.9 + 0.3 * (b - 0.4) / 0.35, 0.9), 1.2))


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
    parts: Scores = counts / (counts + _norms(index, rows, shape, lengths))
    parts *= (idf * np.float32(shape.k1 + 1))[:, None]
    return parts


def weigh(
    index: Index, rows: NDArray[np.integer], counts: Scores, idf: Scores, shape: Shape, lengths: Scores | None = None
) -> Scores:
    """BM25 from counts that are known already: [rows]. Row by row the same sum, so that equal texts tie."""
    summed: Scores = by_term(index, rows, counts, idf, shape, lengths).sum(axis=0)
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
    known = np.flatnonzero(asked.spans.frequency)
    if not len(known) or k < 1:
        return np.empty(0, np.int32), np.empty(0, np.float32)
    known = known[np.argsort(asked.spans.frequency[known], kind="stable")]
    if allowed is not None and np.count_nonzero(allowed) <= FEW_ROWS:
        rows = np.flatnonzero(allowed).astype(np.int32)
    elif int(asked.spans.frequency.sum()) <= FIRST_READ:
        return _first(*_added(index, asked, known, allowed), k)
    else:
        rows = _race(index, asked, known, allowed, k, min(sure, k), caps)
    found = scores(index, asked, rows)
    return _first(rows, found, k)


def _first(rows: Rows, found: Scores, k: int) -> tuple[Rows, Scores]:
    """The best k, ties by row."""
    hit = found > 0
    if len(rows) > 4 * k:
        hit &= found >= np.partition(found, len(found) - k)[len(found) - k]
    rows, found = rows[hit], found[hit]
    order = np.lexsort((rows, -found))[:k]
    return rows[order], found[order]


def _added(index: Index, asked: Terms, known: NDArray[np.int64], allowed: Mask | None) -> tuple[Rows, Scores]:
    """Every row that holds a term, with its score."""
    read = [index.postings.read(asked.spans, place) for place in known.tolist()]
    rows = np.concatenate([rows for rows, _ in read])
    many = np.concatenate([counts for _, counts in read]).astype(np.float32)
    given = shape(index)
    weights = asked.idf[known] * np.float32(given.k1 + 1)
    brought = many / (many + _norms(index, rows, given)) * np.repeat(weights, [len(rows) for rows, _ in read])
    sums = np.bincount(rows, brought, minlength=index.size)
    if allowed is not None:
        sums *= allowed
    found = np.flatnonzero(sums)
    return found.astype(np.int32), sums[found].astype(np.float32)


def _race(
    index: Index, asked: Terms, known: NDArray[np.int64], allowed: Mask | None, k: int, sure: int,
    caps: list[str] | None,
) -> Rows:  # fmt: skip
    """Every row that may be among the best k, and not many more. `known` are the terms from the rarest on."""
    given = shape(index)
    spans = asked.spans.take(known)
    weights = asked.idf[known] * np.float32(given.k1 + 1)
    # The most a term could bring: as often as anywhere, in the shortest text there can be.
    most = index.postings.most(spans).astype(np.float32)
    unread = np.r_[np.cumsum((weights * most / (most + given.k1 * (1 - given.b)))[::-1])[::-1], 0.0]
    sums = np.zeros(index.size, np.float32)
    race = _Race(sums, allowed)
    read = 0
    for place, frequency in enumerate(spans.frequency.tolist()):
        if read and read + frequency > LAST_READ:
            _tell(caps)
            break
        if read + frequency > FIRST_READ and race.kth(sure) >= unread[place]:
            break
        rows, counts = index.postings.read(spans, place)
        if len(rows) > LAST_READ:
            _tell(caps)
            rows, counts = rows[-LAST_READ:], counts[-LAST_READ:]
        read += len(rows)
        before = sums[rows]
        race.join(rows if place == 0 else rows[before == 0])
        many = counts.astype(np.float32)
        sums[rows] = before + weights[place] * many / (many + _norms(index, rows, given))
    else:
        place = len(weights)
    return _cut(index, race, k, spans.take(np.arange(place, len(weights))), weights[place:], unread[place:], given)


class _Race:
    """The rows that hold a term that was read."""

    def __init__(self, sums: Scores, allowed: Mask | None) -> None:
        self.sums, self.allowed = sums, allowed
        self._rows: list[Rows] = []

    def join(self, rows: Rows) -> None:
        self._rows.append(rows if self.allowed is None else rows[self.allowed[rows]])

    def kth(self, k: int) -> float:
        """No more than the k-th best so far, and near it: rows of the rarest terms lead, so a look at those will do."""
        leading: list[Rows] = []
        count = 0
        for rows in self._rows:
            leading.append(rows)
            count += len(rows)
            if count >= max(_LEADERS, k):
                break
        have = self.sums[np.concatenate(leading)] if leading else np.empty(0, np.float32)
        return float(np.partition(have, len(have) - k)[len(have) - k]) * (1 - _SLACK) if len(have) >= k else 0.0

    def still_in(self, least: float) -> tuple[Rows, Scores]:
        rows = np.concatenate(self._rows)
        have = self.sums[rows]
        stay = have >= least
        return rows[stay], have[stay]


def _cut(
    index: Index, race: _Race, k: int, spans: Spans, weights: Scores, unread: NDArray[np.float64], given: Shape
) -> Rows:
    """The rows that can still be among the best k, with the common terms looked up from the rarest on."""
    rows, have = race.still_in(race.kth(k) - unread[0])
    order = np.argsort(rows)  # in order, they are looked up several times faster
    rows, have = rows[order], have[order]
    norms = _norms(index, rows, given)
    for place in range(len(weights) + 1):
        if len(rows) > k:
            kth = np.partition(have, len(have) - k)[len(have) - k]
            stay = have + unread[place] >= kth * (1 - _SLACK)
            rows, have, norms = rows[stay], have[stay], norms[stay]
        if place == len(weights) or len(rows) <= 2 * k:
            break
        many = index.postings.counts_of(spans.take(np.array([place])), rows)[0].astype(np.float32)
        have = have + weights[place] * many / (many + norms)
    return rows


def _norms(index: Index, rows: NDArray[np.integer], shape: Shape, lengths: Scores | None = None) -> Scores:
    """k1 (1 - b + b length / mean length) of the rows, which may be told to be longer than they are."""
    terms, _ = index.totals()
    mean = max(terms / index.size, 1.0) if index.size else 1.0
    if lengths is None:
        lengths = index.columns["length"][rows].astype(np.float32)
    return np.float32(shape.k1 * (1 - shape.b)) + np.float32(shape.k1 * shape.b / mean) * lengths


def _tell(caps: list[str] | None) -> None:
    if caps is not None and "postings" not in caps:
        caps.append("postings")
