"""Which grains may answer a question: found by words, by meaning, by names and dates, by links, by standing beside
a find, and rules and preferences that hold whatever is asked. Everything after this looks at these rows alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memory.engine.graph.conduit_graph import NOWHERE
from memory.engine.index import bm25, top_k
from memory.engine.index.space_index import NO_ROW, SECOND, Index
from memory.engine.text import words
from memory.engine.text.marks import PREFERENCE, STANDING
from memory.engine.text.question import Query

Rows = NDArray[np.int32]
Places = NDArray[np.int64]
Floats = NDArray[np.float32]
Mask = NDArray[np.bool_]

# What brought a row, strongest reason first: an answer names the first that is true of it.
SOURCES = ("words", "vector", "link", "learning", "standing", "session")
BY_WORDS, BY_MEANING, BY_LINK, BY_LEARNING, BY_STANDING, BY_SESSION = (1 << n for n in range(6))
REACH = 2  # turns before and after that are looked at
_NO_ROWS = np.empty(0, np.int32)


@dataclass
class Candidates:
    """Rows in ascending order with what words and meaning say of each; neighbours of the finds are among them."""

    rows: Rows
    source: NDArray[np.uint8]
    asked: bm25.Terms
    counts: Floats  # [terms, rows]: how often each term stands in each row
    words: Floats  # BM25
    meaning: Floats  # cosine, 0 without a vector
    has: Mask  # has a vector
    low: float  # of cosines, on a sample of the space
    mean: float
    deviation: float
    best_words: float
    best_meaning: float
    seen: bool  # whether any row has a vector
    links: Floats = field(default_factory=lambda: np.empty(0, np.float32))  # activation through conduits, 0 to 1
    hop: Floats = field(default_factory=lambda: np.empty(0, np.float32))  # its title is named by a find
    cites: Floats = field(default_factory=lambda: np.empty(0, np.float32))  # it names the title of a find
    doors: Floats = field(default_factory=lambda: np.empty(0, np.float32))  # share of the question's names it holds

    def at(self, rows: NDArray[np.integer]) -> Places:
        """Where rows stand in the scene; -1 for those that do not."""
        place = np.minimum(self.rows.searchsorted(rows), len(self.rows) - 1)
        return np.where((self.rows[place] == rows) & (rows >= 0), place, -1)

    def words_share(self) -> Floats:
        """BM25 between 0 and the best of the space."""
        return self.words / np.float32(self.best_words) if self.best_words > 0 else np.zeros_like(self.words)

    def meaning_share(self) -> Floats:
        """Cosine between the lowest of a sample and the best of the space."""
        span = self.best_meaning - self.low
        if span <= 1e-6:
            return np.zeros_like(self.meaning)
        share: Floats = (self.meaning - np.float32(self.low)) / np.float32(span)
        np.maximum(share, 0, out=share)
        np.minimum(share, 1, out=share)
        share *= self.has
        return share


@dataclass
class SearchMatches:
    """Rows by what found them, before anything is looked at twice."""

    asked: bm25.Terms
    words: tuple[Rows, Floats]
    meaning: tuple[NDArray[np.int64], Floats]
    statistics: tuple[float, float, float]
    standing: Rows = field(default_factory=lambda: _NO_ROWS)


def search(
    index: Index,
    query: Query,
    vector: Floats | None,
    allowed: Mask | None,
    *,
    depth: int,
    standing: int,
    caps: list[str],
) -> SearchMatches:
    """The best `depth` rows by words and by meaning, and the standing rules and preferences nearest to the question."""
    asked = bm25.terms(index, query.keys)
    by_words = top_k.search_top_k(index, asked, allowed=allowed, k=depth, caps=caps)
    by_meaning: tuple[NDArray[np.int64], Floats] = (np.empty(0, np.int64), np.empty(0, np.float32))
    statistics = (0.0, 0.0, 0.0)
    if vector is not None and index.dense is not None:
        statistics = index.dense.statistics(vector)
        by_meaning = index.dense.search(vector, allowed=allowed, k=depth)
    return SearchMatches(
        asked, by_words, by_meaning, statistics, _standing(index, query, asked, vector, allowed, standing)
    )


def _standing(
    index: Index, query: Query, asked: bm25.Terms, vector: Floats | None, allowed: Mask | None, most: int
) -> Rows:
    """Rules hold whatever is asked; preferences count when the question is after one."""
    rows = _marked(index, STANDING | PREFERENCE)
    if not len(rows):
        return _NO_ROWS
    if not query.wants_preference:
        rows = _marked(index, STANDING)
    if allowed is not None:
        rows = rows[allowed[rows]]
    rows = rows[-_MOST_STANDING:]  # of very many, the newest
    if len(rows) > most:
        if vector is not None and index.dense is not None:
            rows = rows[rows < index.dense.size]
            scores = index.dense.scores(vector, rows)
        else:
            scores = bm25.scores(index, asked, rows)
        rows = rows[np.lexsort((index.columns["id"][rows], -scores))[:most]]
    return rows.astype(np.int32)


_MOST_STANDING = 128


def _marked(index: Index, wanted: int) -> NDArray[np.int64]:
    """The newest rows with such marks. A row's marks never change, so they are kept until the index grows."""
    held: dict[int, tuple[int, NDArray[np.int64]]] = vars(index).setdefault("_marked", {})
    found = held.get(wanted)
    if found is None or found[0] != index.size:
        rows = (index.column("marks") & np.uint16(wanted)).nonzero()[0]
        found = held[wanted] = index.size, rows[-_FEW_OF_MANY:]
    return found[1]


_FEW_OF_MANY = 16_384  # enough for a filter to leave some


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


def gather_candidates(
    index: Index,
    query: Query,
    vector: Floats | None,
    finds: SearchMatches,
    allowed: Mask | None,
    more: Iterable[tuple[Rows, int]],
    *,
    sessions: bool = True,
) -> Candidates:
    """Everything found, with its neighbours if there are sessions, and words and meaning of all of them."""
    groups: list[tuple[NDArray[Any], int]] = [
        (finds.words[0], BY_WORDS),
        (finds.meaning[0], BY_MEANING),
        (finds.standing, BY_STANDING),
        *more,
    ]
    if sessions:
        found = np.concatenate((finds.words[0], finds.meaning[0].astype(np.int32)))
        groups += [(rows, BY_SESSION) for rows in neighbours(index, found)]
    rows, source = _once(groups)
    if sessions:  # not every row has neighbours
        first = int(rows.searchsorted(0))
        rows, source = rows[first:], source[first:]
    if allowed is not None:
        known = allowed[rows]
        rows, source = rows[known], source[known]
    asked = finds.asked
    counts = index.postings.counts_of(asked.spans, rows).astype(np.float32)
    found_words = bm25.score_counts(index, rows, counts, asked.idf, bm25.bm25_parameters(index))
    meaning, has = np.zeros(len(rows), np.float32), np.zeros(len(rows), np.bool_)
    if vector is not None and index.dense is not None and len(rows):
        inside = slice(0, int(rows.searchsorted(index.dense.size)))  # rows come in order
        has[inside] = index.dense.has[rows[inside]]
        meaning[inside] = index.dense.scores(vector, rows[inside].astype(np.int64))
    low, mean, deviation = finds.statistics
    best = finds.meaning[1]
    links, hop, cites, doors = np.zeros((4, len(rows)), np.float32)
    return Candidates(
        rows=rows,
        source=source,
        asked=asked,
        counts=counts,
        words=found_words,
        meaning=meaning,
        has=has,
        low=min(low, float(best[-1])) if len(best) else low,
        mean=mean,
        deviation=deviation,
        best_words=float(np.maximum.reduce(found_words, initial=0)),
        best_meaning=max(float(best[0]), low) if len(best) else low,
        seen=bool(np.logical_or.reduce(has)),
        links=links,
        hop=hop,
        cites=cites,
        doors=doors,
    )


def _once(groups: list[tuple[NDArray[np.integer], int]]) -> tuple[Rows, NDArray[np.uint8]]:
    """Each row once, ascending, with everything that brought it."""
    groups = [group for group in groups if len(group[0])]
    if not groups:
        return _NO_ROWS, np.empty(0, np.uint8)
    rows = np.concatenate([some for some, _ in groups], dtype=np.int32, casting="unsafe")
    marks = np.array([mark for _, mark in groups], np.uint8).repeat([len(some) for some, _ in groups])
    order = rows.argsort(kind="stable")
    rows = rows[order]
    first = np.empty(len(rows), np.bool_)
    first[0] = True
    np.not_equal(rows[1:], rows[:-1], out=first[1:])
    begin = first.nonzero()[0]
    return rows[begin], np.bitwise_or.reduceat(marks[order], begin)


def best_matches(
    index: Index, finds: SearchMatches, named: NDArray[np.uint64], balance: float, speaker: float, most: int
) -> tuple[Rows, Floats]:
    """The best finds by what the searches alone tell, and how good each is: where links lead on from."""
    by_words, by_meaning = finds.words[0][:_HEAD].tolist(), finds.meaning[0][:_HEAD].tolist()
    if not by_words and not by_meaning:
        return _NO_ROWS, np.empty(0, np.float32)
    weight, found = balance if by_meaning else 1.0, {}
    if by_words:
        scores = finds.words[1]
        found = dict(zip(by_words, (np.float32(weight) * scores[:_HEAD] / scores[0]).tolist(), strict=True))
    if by_meaning:
        scores, low = finds.meaning[1], min(finds.statistics[0], float(finds.meaning[1][-1]))
        span = max(float(scores[0]) - low, 1e-6)
        more = (np.float32((1 - weight) / span) * (scores[:_HEAD] - np.float32(low))).tolist()
        for row, part in zip(by_meaning, more, strict=True):
            found[row] = found.get(row, 0.0) + part
    rows, good = np.array([*found], np.int32), np.array([*found.values()], np.float32)
    if len(named) == 1:
        good += np.float32(speaker) * (index.columns["speaker"][rows] == named[0])
    best = np.lexsort((index.columns["id"][rows], -good))[:most]
    return rows[best], good[best]


_HEAD = 40


def rows_said_in(
    index: Index, spans: Iterable[tuple[int, int, float]], vector: Floats | None, allowed: Mask | None, most: int
) -> Rows:
    """Rows said in the time a question names: of many those nearest in meaning, without vectors the newest."""
    said = index.column("said")
    for begin, end, _ in sorted(spans, key=lambda span: span[1] - span[0]):  # the most exact one
        rows = ((said >= begin * SECOND) & (said < end * SECOND)).nonzero()[0]
        if allowed is not None:
            rows = rows[allowed[rows]]
        rows = rows[-_MOST_DATED:]
        if len(rows) > most and vector is not None and index.dense is not None:
            rows = rows[rows < index.dense.size]
            rows = rows[(-index.dense.scores(vector, rows)).argsort(kind="stable")]
            return rows[:most].astype(np.int32)
        return rows[-most:].astype(np.int32)
    return _NO_ROWS


_MOST_DATED = 2_048


def rows_by_entries(
    index: Index, query: Query, allowed: Mask | None, most: int
) -> tuple[Rows, Floats, NDArray[np.uint64]]:
    """Rows behind the names, numbers and dates of the question, how much of them each holds, and their keys.

    A name that leads to few grains says more than one that leads everywhere.
    """
    keys = words.keys([f"{mention.kind}:{mention.feature}" for mention in query.mentions])
    if not len(keys):
        return _NO_ROWS, np.empty(0, np.float32), keys
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


def rows_titled(
    index: Index, finds: Rows, strength: Floats, asked: NDArray[np.uint64], allowed: Mask | None, most: int
) -> tuple[Rows, Floats]:
    """Rows whose title is a name that the best finds mention and the question does not: where a chain goes on."""
    into = index.graph.into(finds.astype(np.int64))
    source = index.graph.source(into.position) if len(into.position) else np.empty(0, np.int64)
    named = source < 0
    unique, inverse = np.unique(source[named], return_inverse=True)
    signal = np.zeros(len(unique), np.float32)
    np.maximum.at(signal, inverse, strength[into.which[named]])
    keys = np.array([index.graph.entry_key(int(node)) for node in unique], np.uint64)
    return _behind(index, unique, keys, signal, finds, asked, allowed, most, entitled=True)


def rows_citing(
    index: Index, finds: Rows, strength: Floats, asked: NDArray[np.uint64], allowed: Mask | None, most: int
) -> tuple[Rows, Floats]:
    """Rows that mention what the best finds are titled, where the question does not."""
    titles = index.columns["title"][finds]
    keys, first = np.unique(titles, return_index=True)
    nodes = index.graph.entry_node(keys)
    known = (keys != 0) & (nodes != NOWHERE)
    return _behind(
        index, nodes[known], keys[known], strength[first][known], finds, asked, allowed, most, entitled=False
    )


def _behind(
    index: Index,
    nodes: Places,
    keys: NDArray[np.uint64],
    signal: Floats,
    finds: Rows,
    asked: NDArray[np.uint64],
    allowed: Mask | None,
    most: int,
    *,
    entitled: bool,
) -> tuple[Rows, Floats]:
    """The grains behind names that the question did not say, each with the strongest signal that leads to it."""
    fresh = ~np.isin(keys, asked)
    nodes, keys, signal = nodes[fresh], keys[fresh], signal[fresh]
    if not len(nodes):
        return _NO_ROWS, np.empty(0, np.float32)
    links = index.graph.out(nodes, most)
    rows = index.graph.target[links.position]
    if entitled:
        fits = index.columns["title"][rows] == keys[links.which]
    else:
        # A name that stands everywhere tells little.
        signal = signal / np.log2(1 + np.maximum(np.bincount(links.which, minlength=len(nodes)), 1)).astype(np.float32)
        fits = np.ones(len(rows), np.bool_)
    if allowed is not None:
        fits &= allowed[rows]
    fits &= ~np.isin(rows, finds)
    rows, given = rows[fits], signal[links.which][fits]
    found, inverse = np.unique(rows, return_inverse=True)
    best = np.zeros(len(found), np.float32)
    np.maximum.at(best, inverse, given)
    return found.astype(np.int32), best
