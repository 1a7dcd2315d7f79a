"""Words: BM25 over the postings, with length normalisation that follows the collection.

    score(q, d) = sum over the distinct terms t of q:
        idf(t) (k1 + 1) n / (n + k1 (1 - b + b len(d) / mean len)),   n = count of t in d
    idf(t) = ln(1 + (N - df + .5) / (df + .5)),   natural logarithm, N rows, df of them hold t
    b  = clip(.4 + .2 ln(mean characters / 140), .4, .95)
    k1 = clip(.9 + .3 (b - .4) / .35, .9, 1.2)

Short turns want little normalisation, long messages nearly all of it.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from memory.engine.index import Index

Scores = NDArray[np.float32]

# Postings read before the first look at a bound, and before the search stops reading whatever the bound says.
FIRST_READ = 60_000
LAST_READ = 300_000
# So many of the best are exactly those that scoring every row would find, even when more are asked for: reading on
# until that holds for hundreds of them would cost many times more, and nobody looks at the last of those.
SURE = 50
# So few rows are scored one by one rather than found.
FEW_ROWS = 2_048
# Sums of float32 in another order differ by less than this, relatively.
_SLACK = 1e-5


class Shape(NamedTuple):
    """The two numbers that follow from how long the collection's texts are."""

    b: float
    k1: float


def shape(index: Index) -> Shape:
    _, characters = index.totals()
    mean = max(characters / index.size, 1.0) if index.size else 140.0
    b = min(max(0.4 + 0.2 * math.log(mean / 140), 0.4), 0.95)
    return Shape(b, min(max(0.9 + 0.3 * (b - 0.4) / 0.35, 0.9), 1.2))


def idf(index: Index, keys: NDArray[np.uint64]) -> NDArray[np.float64]:
    """How much it says that a text holds the term: 0 only for what nobody has."""
    return _idf(index.size, index.postings.document_frequency(keys))


def _idf(size: int, frequency: NDArray[np.int64]) -> NDArray[np.float64]:
    return np.where(frequency > 0, np.log1p((size - frequency + 0.5) / (frequency + 0.5)), 0.0)


def term_scores(
    index: Index, keys: NDArray[np.uint64], rows: NDArray[np.integer], *, b: float | None = None,
    k1: float | None = None,
) -> Scores:  # fmt: skip
    """What each term brings each row: [len(rows), len(keys)]. A term that is repeated counts where it first stands."""
    keys = np.asarray(keys, np.uint64)
    rows = np.asarray(rows, np.int64)
    given = shape(index)
    b, k1 = given.b if b is None else b, given.k1 if k1 is None else k1
    _, first = np.unique(keys, return_index=True)
    found = np.zeros((len(rows), len(keys)), np.float32)
    if not len(rows) or not len(first):
        return found
    keys = keys[first]
    counts = index.postings.counts_of(keys, rows).astype(np.float64)
    norm = _norms(index, rows, b, k1)[:, None]
    found[:, first] = idf(index, keys) * (k1 + 1) * counts / (counts + norm)
    return found


def scores(
    index: Index, keys: NDArray[np.uint64], rows: NDArray[np.integer], *, b: float | None = None,
    k1: float | None = None,
) -> Scores:  # fmt: skip
    """BM25 of the given rows."""
    summed: Scores = term_scores(index, keys, rows, b=b, k1=k1).sum(axis=1, dtype=np.float64).astype(np.float32)
    return summed


def search(
    index: Index, keys: NDArray[np.uint64], *, allowed: NDArray[np.bool_] | None = None, k: int = 400,
    sure: int = SURE, caps: list[str] | None = None,
) -> tuple[NDArray[np.int32], Scores]:  # fmt: skip
    """The best k rows that hold any of the terms, best first, ties by row; exactly the best among the first `sure`.

    Two stages: postings are added up from the rarest term on, until what the unread ones could still
    bring is less than what the last of the sure ones has; then the rows that are still in the race are
    scored in full. So a row after those may be missing that holds common terms only. It reads at most
    LAST_READ postings: if that is not enough, `caps` is told, and of a list longer than that the newest
    rows are read.
    """
    keys = np.unique(np.asarray(keys, np.uint64))
    frequency = index.postings.document_frequency(keys)
    keys, frequency = keys[frequency > 0], frequency[frequency > 0]
    if not len(keys) or k < 1:
        return np.empty(0, np.int32), np.empty(0, np.float32)
    if allowed is not None and np.count_nonzero(allowed) <= FEW_ROWS:
        rows = np.flatnonzero(allowed).astype(np.int32)
        return _best(index, keys, rows, k)
    return _best(index, keys, _race(index, keys, frequency, allowed, k, min(sure, k), caps), k)


def _best(index: Index, keys: NDArray[np.uint64], rows: NDArray[np.int32], k: int) -> tuple[NDArray[np.int32], Scores]:
    rows = np.sort(rows)
    found = scores(index, keys, rows)
    hit = found > 0
    rows, found = rows[hit], found[hit]
    order = np.lexsort((rows, -found))[:k]
    return rows[order], found[order]


def _race(
    index: Index, keys: NDArray[np.uint64], frequency: NDArray[np.int64], allowed: NDArray[np.bool_] | None, k: int,
    sure: int, caps: list[str] | None,
) -> NDArray[np.int32]:  # fmt: skip
    """Every row that may be among the best k, and not many more."""
    order = np.lexsort((keys, frequency))
    keys, frequency = keys[order], frequency[order]
    b, k1 = shape(index)
    weights = _idf(index.size, frequency) * (k1 + 1)
    # The most a term could bring: as often as anywhere, in the shortest text there can be.
    most = index.postings.most(keys)
    unread = np.r_[np.cumsum((weights * most / (most + k1 * (1 - b)))[::-1])[::-1], 0.0]
    sums = np.zeros(index.size, np.float32)
    touched: list[NDArray[np.int32]] = []
    read, position = 0, 0
    while position < len(keys):
        if read and read + frequency[position] > LAST_READ:
            _tell(caps)
            break
        rows, counts = index.postings.of(int(keys[position]))
        if len(rows) > LAST_READ:
            _tell(caps)
            rows, counts = rows[-LAST_READ:], counts[-LAST_READ:]
        read += len(rows)
        if allowed is not None:
            fits = allowed[rows]
            rows, counts = rows[fits], counts[fits]
        before = sums[rows]
        touched.append(rows[before == 0])
        many = counts.astype(np.float32)
        sums[rows] = before + np.float32(weights[position]) * many / (many + _norms(index, rows, b, k1))
        position += 1
        following = read + (frequency[position] if position < len(keys) else 0)
        if following > FIRST_READ and position < len(keys) and _kth(sums, touched, sure) >= unread[position]:
            break
    return _cut(index, sums, touched, k, keys[position:], weights[position:], unread[position:], b, k1)


def _cut(
    index: Index, sums: Scores, touched: list[NDArray[np.int32]], k: int, keys: NDArray[np.uint64],
    weights: NDArray[np.float64], unread: NDArray[np.float64], b: float, k1: float,
) -> NDArray[np.int32]:  # fmt: skip
    """The touched rows that can still be among the best k, with the common terms looked up from the rarest on."""
    rows = np.concatenate(touched)
    have = sums[rows]
    norms: Scores | None = None
    for position in range(len(keys) + 1):
        if len(rows) > k:
            kth = np.partition(have, len(have) - k)[len(have) - k]
            stay = have + unread[position] >= kth * (1 - _SLACK)
            rows, have = rows[stay], have[stay]
            norms = norms[stay] if norms is not None else None
        if position == len(keys) or len(rows) <= 2 * k:
            break
        if norms is None:
            order = np.argsort(rows)  # in order, they are looked up several times faster
            rows, have = rows[order], have[order]
            norms = _norms(index, rows, b, k1)
        many = index.postings.counts_of(keys[position : position + 1], rows)[:, 0].astype(np.float32)
        have = have + np.float32(weights[position]) * many / (many + norms)
    return rows


def _kth(sums: Scores, touched: list[NDArray[np.int32]], k: int) -> float:
    """The k-th best so far. Only among touched rows: a partition over mostly zeros takes for ever."""
    have = sums[np.concatenate(touched)]
    return float(np.partition(have, len(have) - k)[len(have) - k]) * (1 - _SLACK) if len(have) >= k else 0.0


def _norms(index: Index, rows: NDArray[np.integer], b: float, k1: float) -> Scores:
    """k1 (1 - b + b length / mean length) of the rows."""
    terms, _ = index.totals()
    mean = max(terms / index.size, 1.0) if index.size else 1.0
    lengths: Scores = index.columns["length"][rows].astype(np.float32)
    return np.float32(k1 * (1 - b)) + np.float32(k1 * b / mean) * lengths


def _tell(caps: list[str] | None) -> None:
    if caps is not None and "postings" not in caps:
        caps.append("postings")
