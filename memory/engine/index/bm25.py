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
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from memory.engine.index.postings import Spans
from memory.engine.index.space_index import Index

Scores = NDArray[np.float32]


class Bm25Parameters(NamedTuple):
    """The two numbers that follow from how long the collection's texts are."""

    b: float
    k1: float


class Terms(NamedTuple):
    """The distinct terms of a question in its order: where they first stand in it, what they say, where rows are."""

    keys: NDArray[np.uint64]
    places: NDArray[np.int64]
    idf: Scores
    spans: Spans


def bm25_parameters(index: Index) -> Bm25Parameters:
    """Kept beside the index until it grows."""
    held: tuple[int, Bm25Parameters] | None = vars(index).get("_shape")
    if held is None or held[0] != index.size:
        _, characters = index.totals()
        mean = max(characters / index.size, 1.0) if index.size else 140.0
        b = min(max(0.4 + 0.2 * math.log(mean / 140), 0.4), 0.95)
        held = index.size, Bm25Parameters(b, min(max(0.9 + 0.3 * (b - 0.4) / 0.35, 0.9), 1.2))
        vars(index)["_shape"] = held
    return held[1]


def terms(index: Index, keys: NDArray[np.uint64]) -> Terms:
    """A term that is repeated counts where it first stands."""
    listed = keys.tolist()
    if len(set(listed)) == len(listed):
        once, places = keys, np.arange(len(keys))
    else:
        first: dict[int, int] = {}
        for place, key in enumerate(listed):
            first.setdefault(key, place)
        once, places = np.array([*first], np.uint64), np.array([*first.values()], np.int64)
    spans = index.postings.spans(once)
    return Terms(once, places, _idf(index.size, spans.frequency), spans)


def idf(index: Index, keys: NDArray[np.uint64]) -> Scores:
    """How much it says that a text holds the term: 0 only for what nobody has."""
    return _idf(index.size, index.postings.spans(np.asarray(keys, np.uint64)).frequency)


def _idf(size: int, frequency: NDArray[np.int64]) -> Scores:
    weight: Scores = np.log1p((size - frequency + 0.5) / (frequency + 0.5)).astype(np.float32)
    if not np.logical_and.reduce(frequency):
        weight[frequency == 0] = 0
    return weight


def by_term(
    index: Index,
    rows: NDArray[np.integer],
    counts: Scores,
    idf: Scores,
    shape: Bm25Parameters,
    lengths: Scores | None = None,
) -> Scores:
    """What each term brings each row, from counts that are known already: both [terms, rows]."""
    if lengths is None:
        lengths = index.columns["length"][rows].astype(np.float32)
    parts: Scores = counts / (counts + length_norm(index, lengths, shape))
    parts *= (idf * np.float32(shape.k1 + 1))[:, None]
    return parts


def score_counts(
    index: Index,
    rows: NDArray[np.integer],
    counts: Scores,
    idf: Scores,
    shape: Bm25Parameters,
    lengths: Scores | None = None,
) -> Scores:
    """BM25 from counts that are known already: [rows]. Row by row the same sum, so that equal texts tie."""
    summed: Scores = np.add.reduce(by_term(index, rows, counts, idf, shape, lengths), axis=0)
    return summed


def score_counts_each(
    index: Index, counts: Scores, idf: Scores, shapes: Sequence[Bm25Parameters], lengths: Scores
) -> Scores:
    """The same for several shapes in one go: [shapes, rows]."""
    slopes = np.array([_slope(index, shape) for shape in shapes], np.float32)[:, None, None]
    parts: Scores = lengths * slopes
    parts = parts + np.array([shape.k1 * (1 - shape.b) for shape in shapes], np.float32)[:, None, None]
    parts = counts / (counts + parts)
    parts *= (idf * np.array([shape.k1 + 1 for shape in shapes], np.float32)[:, None])[:, :, None]
    summed: Scores = np.add.reduce(parts, axis=1)
    return summed


def scores(index: Index, asked: Terms, rows: NDArray[np.integer]) -> Scores:
    """BM25 of the given rows."""
    counts = index.postings.counts_of(asked.spans, rows).astype(np.float32)
    parts = by_term(index, rows, counts, asked.idf, bm25_parameters(index))
    summed: Scores = parts.sum(axis=0, dtype=np.float64).astype(np.float32)
    return summed


def length_norm(index: Index, lengths: Scores, shape: Bm25Parameters) -> Scores:
    """k1 (1 - b + b length / mean length)."""
    norms: Scores = lengths * np.float32(_slope(index, shape))
    norms += np.float32(shape.k1 * (1 - shape.b))
    return norms


def _slope(index: Index, shape: Bm25Parameters) -> float:
    terms, _ = index.totals()
    return shape.k1 * shape.b / (max(terms / index.size, 1.0) if index.size else 1.0)
