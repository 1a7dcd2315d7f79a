"""BM25 over the postings, with length normalisation that depends on the collection.

    score(q, d) = sum over the distinct terms t of q:
        idf(t) (k1 + 1) n / (n + k1 (1 - b + b len(d) / mean len)),   n = count of t in d
    idf(t) = ln(1 + (N - df + .5) / (df + .5)),   natural logarithm, N rows, df of them contain t
    b  = clip(.4 + .2 ln(mean characters / 140), .4, .95)
    k1 = clip(.9 + .3 (b - .4) / .35, .9, 1.2)

Short turns need little normalisation, long messages nearly full normalisation. The score of one term is a float32;
sums are made in float64, where so few float32 add up exactly: the order of the terms does not matter.
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
    """b and k1, which depend on the mean length of the texts."""

    b: float
    k1: float


class Terms(NamedTuple):
    """Distinct terms of a question in its order: keys, first places in the question, idf, and spans of postings."""

    keys: NDArray[np.uint64]
    places: NDArray[np.int64]
    idf: Scores
    spans: Spans


def bm25_parameters(index: Index) -> Bm25Parameters:
    """Parameters of the index; cached on it until it grows."""
    cached: tuple[int, Bm25Parameters] | None = vars(index).get("_shape")
    if cached is None or cached[0] != index.size:
        _, characters = index.totals()
        mean = max(characters / index.size, 1.0) if index.size else 140.0
        b = min(max(0.4 + 0.2 * math.log(mean / 140), 0.4), 0.95)
        cached = index.size, Bm25Parameters(b, min(max(0.9 + 0.3 * (b - 0.4) / 0.35, 0.9), 1.2))
        vars(index)["_shape"] = cached
    return cached[1]


def terms(index: Index, keys: NDArray[np.uint64]) -> Terms:
    """Terms of a question with idf and spans; a repeated term counts once, at its first place."""
    key_list = keys.tolist()
    if len(set(key_list)) == len(key_list):
        unique, places = keys, np.arange(len(keys))
    else:
        first: dict[int, int] = {}
        for place, key in enumerate(key_list):
            first.setdefault(key, place)
        unique, places = np.array([*first], np.uint64), np.array([*first.values()], np.int64)
    spans = index.postings.spans(unique)
    return Terms(unique, places, _compute_idf(index.size, spans.frequency), spans)


def idf(index: Index, keys: NDArray[np.uint64]) -> Scores:
    """Inverse document frequency of each term; 0 only for a term that no row has."""
    return _compute_idf(index.size, index.postings.spans(np.asarray(keys, np.uint64)).frequency)


def _compute_idf(size: int, frequency: NDArray[np.int64]) -> Scores:
    weight: Scores = np.log1p((size - frequency + 0.5) / (frequency + 0.5)).astype(np.float32)
    if not np.logical_and.reduce(frequency):
        weight[frequency == 0] = 0
    return weight


def by_term(
    index: Index,
    rows: NDArray[np.integer],
    counts: Scores,
    idf: Scores,
    parameters: Bm25Parameters,
    lengths: Scores | None = None,
) -> Scores:
    """BM25 of each term in each row, from known counts: both [terms, rows]."""
    if lengths is None:
        lengths = index.columns["length"][rows].astype(np.float32)
    parts: Scores = counts / (counts + length_norm(index, lengths, parameters))
    parts *= (idf * np.float32(parameters.k1 + 1))[:, None]
    return parts


def score_counts(
    index: Index,
    rows: NDArray[np.integer],
    counts: Scores,
    idf: Scores,
    parameters: Bm25Parameters,
    lengths: Scores | None = None,
) -> Scores:
    """BM25 from known counts: [rows]. Every row is summed in the same order, so that equal texts tie."""
    summed: Scores = np.add.reduce(by_term(index, rows, counts, idf, parameters, lengths), axis=0)
    return summed


def score_counts_each(
    index: Index, counts: Scores, idf: Scores, parameter_list: Sequence[Bm25Parameters], lengths: Scores
) -> Scores:
    """`score_counts` for several parameters at once: [parameters, rows]."""
    slopes = np.array([_slope(index, parameters) for parameters in parameter_list], np.float32)[:, None, None]
    parts: Scores = lengths * slopes
    parts = (
        parts
        + np.array([parameters.k1 * (1 - parameters.b) for parameters in parameter_list], np.float32)[:, None, None]
    )
    parts = counts / (counts + parts)
    parts *= (idf * np.array([parameters.k1 + 1 for parameters in parameter_list], np.float32)[:, None])[:, :, None]
    summed: Scores = np.add.reduce(parts, axis=1)
    return summed


def scores(index: Index, asked: Terms, rows: NDArray[np.integer]) -> Scores:
    """BM25 of the given rows."""
    counts = index.postings.counts_of(asked.spans, rows).astype(np.float32)
    parts = by_term(index, rows, counts, asked.idf, bm25_parameters(index))
    summed: Scores = parts.sum(axis=0, dtype=np.float64).astype(np.float32)
    return summed


def length_norm(index: Index, lengths: Scores, parameters: Bm25Parameters) -> Scores:
    """k1 (1 - b + b length / mean length)."""
    norms: Scores = lengths * np.float32(_slope(index, parameters))
    norms += np.float32(parameters.k1 * (1 - parameters.b))
    return norms


def _slope(index: Index, parameters: Bm25Parameters) -> float:
    """Factor of the length in `length_norm`."""
    terms, _ = index.totals()
    return parameters.k1 * parameters.b / (max(terms / index.size, 1.0) if index.size else 1.0)
