"""Candidates of a question: rows matched by words, meaning, names, dates and links, their neighbours, and rules.

Neighbours are the turns before and after in the session; rules and preferences are candidates for any question. All
later steps work on these rows only.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memory.engine.index import bm25, top_k
from memory.engine.index.space_index import NO_ROW, Index
from memory.engine.text.marks import PREFERENCE, STANDING
from memory.engine.text.question import Query

Rows = NDArray[np.int32]
Places = NDArray[np.int64]
Floats = NDArray[np.float32]
Mask = NDArray[np.bool_]

# Sources of a candidate, strongest first: an answer names the first that applies.
SOURCES = ("words", "vector", "link", "learning", "standing", "session")
BY_WORDS, BY_MEANING, BY_LINK, BY_LEARNING, BY_STANDING, BY_SESSION = (1 << n for n in range(6))
REACH = 2  # turns before and after a match that become candidates
NO_ROWS = np.empty(0, np.int32)


@dataclass
class Candidates:
    """Table of candidates: rows in ascending order with their scores by words, by meaning and over links."""

    rows: Rows
    source: NDArray[np.uint8]
    asked: bm25.Terms
    counts: Floats  # [terms, rows]: count of each term in each row
    words: Floats  # BM25
    meaning: Floats  # cosine, 0 without a vector
    has: Mask  # whether the row has a vector
    low: float  # lowest cosine of a sample of the space
    mean: float  # of the same sample, like `deviation`
    deviation: float
    best_words: float
    best_meaning: float
    seen: bool  # whether any candidate has a vector
    links: Floats = field(default_factory=lambda: np.empty(0, np.float32))  # activation through conduits, 0 to 1
    hop: Floats = field(default_factory=lambda: np.empty(0, np.float32))  # its title is mentioned by a match
    cites: Floats = field(default_factory=lambda: np.empty(0, np.float32))  # it mentions the title of a match
    entry_links: Floats = field(default_factory=lambda: np.empty(0, np.float32))  # share of the question's entries

    def at(self, rows: NDArray[np.integer]) -> Places:
        """Index of each row in the table; -1 for rows that are no candidates."""
        place = np.minimum(self.rows.searchsorted(rows), len(self.rows) - 1)
        return np.where((self.rows[place] == rows) & (rows >= 0), place, -1)

    def words_share(self) -> Floats:
        """BM25 as a share of the best one."""
        return self.words / np.float32(self.best_words) if self.best_words > 0 else np.zeros_like(self.words)

    def meaning_share(self) -> Floats:
        """Cosine scaled so that the lowest of the sample is 0 and the best of the space 1."""
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
    """Results of the searches by words and by meaning, statistics of cosines, and standing rules."""

    asked: bm25.Terms
    words: tuple[Rows, Floats]
    meaning: tuple[NDArray[np.int64], Floats]
    statistics: tuple[float, float, float]
    standing: Rows = field(default_factory=lambda: NO_ROWS)


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
    """Search the best `depth` rows by words and by meaning, and the standing rules nearest to the question."""
    asked = bm25.terms(index, query.keys)
    by_words = top_k.search_top_k(index, asked, allowed=allowed, k=depth, caps=caps)
    by_meaning: tuple[NDArray[np.int64], Floats] = (np.empty(0, np.int64), np.empty(0, np.float32))
    statistics = (0.0, 0.0, 0.0)
    if vector is not None and index.dense is not None:
        statistics = index.dense.statistics(vector)
        by_meaning = index.dense.search(vector, allowed=allowed, k=depth)
    return SearchMatches(
        asked, by_words, by_meaning, statistics, _standing_rules(index, query, asked, vector, allowed, standing)
    )


def _standing_rules(
    index: Index, query: Query, asked: bm25.Terms, vector: Floats | None, allowed: Mask | None, most: int
) -> Rows:
    """Rules, for any question, and preferences, for a question that wants one; at most `most`, the nearest ones."""
    rows = _rows_with_marks(index, STANDING | PREFERENCE)
    if not len(rows):
        return NO_ROWS
    if not query.wants_preference:
        rows = _rows_with_marks(index, STANDING)
    if allowed is not None:
        rows = rows[allowed[rows]]
    rows = rows[-_MOST_STANDING:]  # if there are very many, only the newest
    if len(rows) > most:
        if vector is not None and index.dense is not None:
            rows = rows[rows < index.dense.size]
            scores = index.dense.scores(vector, rows)
        else:
            scores = bm25.scores(index, asked, rows)
        rows = rows[np.lexsort((index.columns["id"][rows], -scores))[:most]]
    return rows.astype(np.int32)


_MOST_STANDING = 128  # rules and preferences that are scored


def _rows_with_marks(index: Index, wanted: int) -> NDArray[np.int64]:
    """The newest rows with any of these marks. Marks never change, so the rows are cached until the index grows."""
    cache: dict[int, tuple[int, NDArray[np.int64]]] = vars(index).setdefault("_marked", {})
    cached = cache.get(wanted)
    if cached is None or cached[0] != index.size:
        rows = (index.column("marks") & np.uint16(wanted)).nonzero()[0]
        cached = cache[wanted] = index.size, rows[-_MOST_MARKED:]
    return cached[1]


_MOST_MARKED = 16_384  # cached rows: many, so that a filter leaves some


def neighbours(index: Index, rows: NDArray[np.integer], reach: int = REACH) -> list[Rows]:
    """Rows before and after each row in its session: [1 before, 1 after, 2 before, ...]; NO_ROW where there is none."""
    result: list[Rows] = []
    earlier = later = np.asarray(rows, np.int32)
    previous, following = index.columns["prev"], index.columns["next"]
    for _ in range(reach):
        earlier = np.where(earlier >= 0, previous[earlier], NO_ROW).astype(np.int32)
        later = np.where(later >= 0, following[later], NO_ROW).astype(np.int32)
        result += [earlier, later]
    return result


def gather_candidates(
    index: Index,
    query: Query,
    vector: Floats | None,
    matches: SearchMatches,
    allowed: Mask | None,
    more: Iterable[tuple[Rows, int]],
    *,
    sessions: bool = True,
) -> Candidates:
    """Table of all matches, with their neighbours if there are sessions, scored by words and by meaning."""
    groups: list[tuple[NDArray[Any], int]] = [
        (matches.words[0], BY_WORDS),
        (matches.meaning[0], BY_MEANING),
        (matches.standing, BY_STANDING),
        *more,
    ]
    if sessions:
        found = np.concatenate((matches.words[0], matches.meaning[0].astype(np.int32)))
        groups += [(rows, BY_SESSION) for rows in neighbours(index, found)]
    rows, source = _merge_groups(groups)
    if sessions:  # not every row has neighbours
        first = int(rows.searchsorted(0))
        rows, source = rows[first:], source[first:]
    if allowed is not None:
        known = allowed[rows]
        rows, source = rows[known], source[known]
    asked = matches.asked
    counts = index.postings.counts_of(asked.spans, rows).astype(np.float32)
    found_words = bm25.score_counts(index, rows, counts, asked.idf, bm25.bm25_parameters(index))
    meaning, has = np.zeros(len(rows), np.float32), np.zeros(len(rows), np.bool_)
    if vector is not None and index.dense is not None and len(rows):
        inside = slice(0, int(rows.searchsorted(index.dense.size)))  # rows are in ascending order
        has[inside] = index.dense.has[rows[inside]]
        meaning[inside] = index.dense.scores(vector, rows[inside].astype(np.int64))
    low, mean, deviation = matches.statistics
    best = matches.meaning[1]
    links, hop, cites, entry_links = np.zeros((4, len(rows)), np.float32)
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
        entry_links=entry_links,
    )


def _merge_groups(groups: list[tuple[NDArray[np.integer], int]]) -> tuple[Rows, NDArray[np.uint8]]:
    """Unique rows in ascending order, each with the bits of all its sources."""
    groups = [group for group in groups if len(group[0])]
    if not groups:
        return NO_ROWS, np.empty(0, np.uint8)
    rows = np.concatenate([group_rows for group_rows, _ in groups], dtype=np.int32, casting="unsafe")
    marks = np.array([mark for _, mark in groups], np.uint8).repeat([len(group_rows) for group_rows, _ in groups])
    order = rows.argsort(kind="stable")
    rows = rows[order]
    first = np.empty(len(rows), np.bool_)
    first[0] = True
    np.not_equal(rows[1:], rows[:-1], out=first[1:])
    begin = first.nonzero()[0]
    return rows[begin], np.bitwise_or.reduceat(marks[order], begin)


def best_matches(
    index: Index, matches: SearchMatches, named: NDArray[np.uint64], balance: float, speaker: float, most: int
) -> tuple[Rows, Floats]:
    """The best matches by the scores of the searches alone, with those scores: seeds for following links."""
    by_words, by_meaning = matches.words[0][:_HEAD].tolist(), matches.meaning[0][:_HEAD].tolist()
    if not by_words and not by_meaning:
        return NO_ROWS, np.empty(0, np.float32)
    weight, score_of = balance if by_meaning else 1.0, {}
    if by_words:
        scores = matches.words[1]
        score_of = dict(zip(by_words, (np.float32(weight) * scores[:_HEAD] / scores[0]).tolist(), strict=True))
    if by_meaning:
        scores, low = matches.meaning[1], min(matches.statistics[0], float(matches.meaning[1][-1]))
        span = max(float(scores[0]) - low, 1e-6)
        more = (np.float32((1 - weight) / span) * (scores[:_HEAD] - np.float32(low))).tolist()
        for row, part in zip(by_meaning, more, strict=True):
            score_of[row] = score_of.get(row, 0.0) + part
    rows, score = np.array([*score_of], np.int32), np.array([*score_of.values()], np.float32)
    if len(named) == 1:
        score += np.float32(speaker) * (index.columns["speaker"][rows] == named[0])
    best = np.lexsort((index.columns["id"][rows], -score))[:most]
    return rows[best], score[best]


_HEAD = 40  # results of each search that are considered
