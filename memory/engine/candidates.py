"""Which grains may answer a question: found by words, by meaning, by names and dates, by links, by standing beside
a find, and rules and preferences that hold whatever is asked. Everything after this looks at these rows alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from memory.engine import bm25, words
from memory.engine.graph import NOWHERE
from memory.engine.index import NO_ROW, Index
from memory.engine.marks import PREFERENCE, STANDING
from memory.engine.question import Query

Rows = NDArray[np.int32]
Places = NDArray[np.int64]
Floats = NDArray[np.float32]
Mask = NDArray[np.bool_]

# What brought a row, strongest reason first: an answer names the first that is true of it.
SOURCES = ("words", "vector", "link", "standing", "session")
BY_WORDS, BY_MEANING, BY_LINK, BY_STANDING, BY_SESSION = (1 << n for n in range(5))
REACH = 2  # turns before and after that are looked at
_NO_ROWS = np.empty(0, np.int32)


@dataclass
class Scene:
    """Rows in ascending order with what words and meaning say of each; neighbours of the finds are among them."""

    rows: Rows
    source: NDArray[np.uint8]
    keys: NDArray[np.uint64]  # the question's terms, each once
    places: Places  # where each of them first stands in the question
    idf: Floats
    counts: Floats  # [rows, terms]: how often each term stands in each row
    words: Floats  # BM25
    meaning: Floats  # cosine, 0 without a vector
    has: Mask  # has a vector
    low: float  # of cosines, on a sample of the space
    mean: float
    deviation: float
    best_words: float
    best_meaning: float
    links: Floats = field(default_factory=lambda: np.empty(0, np.float32))  # activation through conduits, 0 to 1
    hop: Floats = field(default_factory=lambda: np.empty(0, np.float32))  # named by the title of a find
    doors: Floats = field(default_factory=lambda: np.empty(0, np.float32))  # share of the question's names it holds

    def at(self, rows: NDArray[np.integer]) -> Places:
        """Where rows stand in the scene; -1 for those that do not."""
        place = np.minimum(np.searchsorted(self.rows, rows), len(self.rows) - 1)
        return np.where((self.rows[place] == rows) & (rows >= 0), place, -1)

    def words_share(self) -> Floats:
        """BM25 between 0 and the best of the space."""
        return self.words / np.float32(self.best_words) if self.best_words > 0 else np.zeros_like(self.words)

    def meaning_share(self) -> Floats:
        """Cosine between the lowest of a sample and the best of the space."""
        span = self.best_meaning - self.low
        if span <= 1e-6:
            return np.zeros_like(self.meaning)
        share = np.clip((self.meaning - np.float32(self.low)) / np.float32(span), 0, 1)
        return np.where(self.has, share, np.float32(0)).astype(np.float32)


@dataclass
class Finds:
    """Rows by what found them, before anything is looked at twice."""

    words: tuple[Rows, Floats]
    meaning: tuple[NDArray[np.int64], Floats]
    statistics: tuple[float, float, float]
    standing: Rows = field(default_factory=lambda: _NO_ROWS)


def search(
    index: Index, query: Query, vector: Floats | None, allowed: Mask | None, *, depth: int, standing: int, caps: list[str]
) -> Finds:
    """The best `depth` rows by words and by meaning, and the standing rules and preferences nearest to the question."""
    by_words = bm25.search(index, query.keys, allowed=allowed, k=depth, caps=caps)
    by_meaning: tuple[NDArray[np.int64], Floats] = (np.empty(0, np.int64), np.empty(0, np.float32))
    statistics = (0.0, 0.0, 0.0)
    if vector is not None and index.dense is not None:
        statistics = index.dense.statistics(vector)
        by_meaning = index.dense.search(vector, allowed=allowed, k=depth)
    return Finds(by_words, by_meaning, statistics, _standing(index, query, vector, allowed, standing))


def _standing(index: Index, query: Query, vector: Floats | None, allowed: Mask | None, most: int) -> Rows:
    """Rules hold whatever is asked; preferences count when the question is after one."""
    wanted = STANDING | PREFERENCE if query.wants_preference else STANDING
    rows = np.flatnonzero(index.column("marks") & np.uint16(wanted))
    if allowed is not None:
        rows = rows[allowed[rows]]
    rows = rows[-_MOST_STANDING:]  # of very many, the newest
    if len(rows) > most:
        scores = bm25.scores(index, query.keys, rows) / 10
        if vector is not None and index.dense is not None:
            scores = scores + index.dense.scores(vector, rows)
        rows = rows[np.lexsort((index.columns["id"][rows], -scores))[:most]]
    return rows.astype(np.int32)


_MOST_STANDING = 1_024


def neighbours(index: Index, rows: NDArray[np.integer], reach: int = REACH) -> list[Rows]:
    """The rows before and after each in its session: [1 before, 1 after, 2 before, ...]; NO_ROW where there is none."""
    found: list[Rows] = []
    before = after = np.asarray(rows, np.int32)
    prev, following = index.columns["prev"], index.columns["next"]
    for _ in range(reach):
        before = np.where(before >= 0, prev[before], NO_ROW).astype(np.int32)
        after = np.where(after >= 0, following[after], NO_ROW).astype(np.int32)
        found += [before, after]
    return found


def scene(
    index: Index, query: Query, vector: Floats | None, finds: Finds, allowed: Mask | None,
    more: Iterable[tuple[Rows, int]], *, beside: bool = True,
) -> Scene:  # fmt: skip
    """Everything found, with its neighbours, and words and meaning of all of them."""
    groups = [(finds.words[0], BY_WORDS), (finds.meaning[0], BY_MEANING), (finds.standing, BY_STANDING), *more]
    found = np.concatenate([np.asarray(rows, np.int32) for rows, _ in groups])
    rows = np.unique(np.concatenate((found, *neighbours(index, np.unique(found)))) if beside else found)
    rows = rows[rows >= 0]
    if allowed is not None:
        rows = rows[allowed[rows]]
    source = np.zeros(len(rows), np.uint8)
    for some, mark in groups:
        place = np.searchsorted(rows, some)
        place = place[(place < len(rows))]
        place = place[np.isin(rows[place], some)]
        source[place] |= mark
    source[source == 0] = BY_SESSION
    keys, first = np.unique(query.keys, return_index=True)
    order = np.argsort(first)
    keys, places = keys[order], first[order]
    b, k1 = bm25.shape(index)
    idf = bm25.idf(index, keys).astype(np.float32)
    counts = index.postings.counts_of(keys, rows).astype(np.float32)
    found_words = weigh(index, rows, counts, idf, b, k1)
    meaning, has = np.zeros(len(rows), np.float32), np.zeros(len(rows), np.bool_)
    if vector is not None and index.dense is not None and len(rows):
        inside = rows < index.dense.size
        has[inside] = index.dense.has[rows[inside]]
        meaning[inside] = index.dense.scores(vector, rows[inside].astype(np.int64))
    low, mean, deviation = finds.statistics
    best = finds.meaning[1]
    return Scene(
        rows=rows, source=source, keys=keys, places=places, idf=idf, counts=counts, words=found_words, meaning=meaning,
        has=has, low=min(low, float(best.min())) if len(best) else low, mean=mean, deviation=deviation,
        best_words=float(found_words.max(initial=0)), best_meaning=float(best.max(initial=low)),
        links=np.zeros(len(rows), np.float32), hop=np.zeros(len(rows), np.float32), doors=np.zeros(len(rows), np.float32),
    )  # fmt: skip


def weigh(
    index: Index, rows: Rows, counts: Floats, idf: Floats, b: float, k1: float, lengths: Floats | None = None
) -> Floats:
    """BM25 from counts that are known already."""
    terms, _ = index.totals()
    mean = max(terms / index.size, 1.0) if index.size else 1.0
    if lengths is None:
        lengths = index.columns["length"][rows].astype(np.float32)
    norm = np.float32(k1 * (1 - b)) + np.float32(k1 * b / mean) * lengths
    weighed: Floats = ((counts / (counts + norm[:, None])) @ (idf * np.float32(k1 + 1))).astype(np.float32)
    return weighed


def doors(index: Index, query: Query, allowed: Mask | None, most: int) -> tuple[Rows, Floats, NDArray[np.uint64]]:
    """Rows behind the names, numbers and dates of the question, how much of them each holds, and their keys.

    A name that leads to few grains says more than one that leads everywhere.
    """
    keys = words.keys([f"{mention.kind}:{mention.feature}" for mention in query.mentions])
    nodes = index.graph.entry_node(keys)
    known = nodes != NOWHERE
    nodes = nodes[known]
    if not len(nodes):
        return _NO_ROWS, np.empty(0, np.float32), keys
    links = index.graph.out(nodes, most)
    weight = 1 / np.log2(2 + np.bincount(links.which, minlength=len(nodes)))
    rows = index.graph.target[links.position]
    found, inverse = np.unique(rows, return_inverse=True)
    share = np.bincount(inverse, weight[links.which]) / weight.sum()
    if allowed is not None:
        open_rows = allowed[found]
        found, share = found[open_rows], share[open_rows]
    return found.astype(np.int32), share.astype(np.float32), keys


def titled(
    index: Index, heads: Rows, strength: Floats, asked: NDArray[np.uint64], allowed: Mask | None, most: int
) -> tuple[Rows, Floats]:
    """Rows whose title is a name that the best finds mention and the question does not: where a chain goes on."""
    nothing = (_NO_ROWS, np.empty(0, np.float32))
    into = index.graph.into(heads.astype(np.int64))
    source = index.graph.source(into.position) if len(into.position) else np.empty(0, np.int64)
    named = source < 0
    if not named.any():
        return nothing
    nodes, which = source[named], into.which[named]
    unique, inverse = np.unique(nodes, return_inverse=True)
    signal = np.zeros(len(unique), np.float32)
    np.maximum.at(signal, inverse, strength[which])
    keys = np.array([index.graph.entry_key(int(node)) for node in unique], np.uint64)
    fresh = ~np.isin(keys, asked)
    unique, keys, signal = unique[fresh], keys[fresh], signal[fresh]
    if not len(unique):
        return nothing
    links = index.graph.out(unique, most)
    rows = index.graph.target[links.position]
    fits = (index.columns["title"][rows] == keys[links.which]) & ~np.isin(rows, heads)
    if allowed is not None:
        fits &= allowed[rows]
    rows, given = rows[fits], signal[links.which][fits]
    found, inverse = np.unique(rows, return_inverse=True)
    best = np.zeros(len(found), np.float32)
    np.maximum.at(best, inverse, given)
    return found.astype(np.int32), best
