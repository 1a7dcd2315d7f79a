"""Rows that a question reaches through links: of the dates and entries it names, and of the titles in its best matches.

An entry is a name, number or date that grains share. A title is the line a passage begins with, as an entry.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from memory.engine.graph.conduit_graph import NOWHERE
from memory.engine.index.space_index import SECOND, Index
from memory.engine.ranking.candidates import NO_ROWS, Floats, Mask, Places, Rows
from memory.engine.text import words
from memory.engine.text.question import Query


def rows_said_in(
    index: Index, spans: Iterable[tuple[int, int, float]], vector: Floats | None, allowed: Mask | None, most: int
) -> Rows:
    """Rows said in the time a question names: of many those nearest in meaning, without vectors the newest."""
    said = index.column("said")
    for begin, end, _ in sorted(spans, key=lambda span: span[1] - span[0]):  # the shortest period
        rows = ((said >= begin * SECOND) & (said < end * SECOND)).nonzero()[0]
        if allowed is not None:
            rows = rows[allowed[rows]]
        rows = rows[-_MOST_DATED:]
        if len(rows) > most and vector is not None and index.dense is not None:
            rows = rows[rows < index.dense.size]
            rows = rows[(-index.dense.scores(vector, rows)).argsort(kind="stable")]
            return rows[:most].astype(np.int32)
        return rows[-most:].astype(np.int32)
    return NO_ROWS


_MOST_DATED = 2_048  # rows of a period that are scored


def rows_by_entries(
    index: Index, query: Query, allowed: Mask | None, most: int
) -> tuple[Rows, Floats, NDArray[np.uint64]]:
    """Rows of the entries (names, numbers, dates) of the question, the share of entries each has, and entry keys.

    An entry of few grains counts more than one of many.
    """
    keys = words.keys([f"{mention.kind}:{mention.feature}" for mention in query.mentions])
    if not len(keys):
        return NO_ROWS, np.empty(0, np.float32), keys
    nodes = index.graph.entry_node(keys)
    known = nodes != NOWHERE
    nodes = nodes[known]
    if not len(nodes):
        return NO_ROWS, np.empty(0, np.float32), keys
    links = index.graph.out(nodes, most)
    weight = 1 / np.log2(2 + np.bincount(links.which, minlength=len(nodes)))
    rows = index.graph.target[links.position]
    unique, inverse = np.unique(rows, return_inverse=True)
    share = np.bincount(inverse, weight[links.which]) / weight.sum()
    if allowed is not None:
        open_rows = allowed[unique]
        unique, share = unique[open_rows], share[open_rows]
    return unique.astype(np.int32), share.astype(np.float32), keys


def rows_titled(
    index: Index, matches: Rows, strength: Floats, asked: NDArray[np.uint64], allowed: Mask | None, most: int
) -> tuple[Rows, Floats]:
    """Rows whose title is mentioned by the best matches but not by the question: the next step of a chain."""
    into = index.graph.into(matches.astype(np.int64))
    source = index.graph.source(into.position) if len(into.position) else np.empty(0, np.int64)
    named = source < 0
    unique, inverse = np.unique(source[named], return_inverse=True)
    signal = np.zeros(len(unique), np.float32)
    np.maximum.at(signal, inverse, strength[into.which[named]])
    keys = np.array([index.graph.entry_key(int(node)) for node in unique], np.uint64)
    return _rows_of_entries(index, unique, keys, signal, matches, asked, allowed, most, entitled=True)


def rows_citing(
    index: Index, matches: Rows, strength: Floats, asked: NDArray[np.uint64], allowed: Mask | None, most: int
) -> tuple[Rows, Floats]:
    """Rows that mention the title of a best match, if the question does not mention it."""
    titles = index.columns["title"][matches]
    keys, first = np.unique(titles, return_index=True)
    nodes = index.graph.entry_node(keys)
    known = (keys != 0) & (nodes != NOWHERE)
    return _rows_of_entries(
        index, nodes[known], keys[known], strength[first][known], matches, asked, allowed, most, entitled=False
    )


def _rows_of_entries(
    index: Index,
    nodes: Places,
    keys: NDArray[np.uint64],
    signal: Floats,
    matches: Rows,
    asked: NDArray[np.uint64],
    allowed: Mask | None,
    most: int,
    *,
    entitled: bool,
) -> tuple[Rows, Floats]:
    """Grains of entries that are not in the question, each with its strongest signal."""
    is_new = ~np.isin(keys, asked)
    nodes, keys, signal = nodes[is_new], keys[is_new], signal[is_new]
    if not len(nodes):
        return NO_ROWS, np.empty(0, np.float32)
    links = index.graph.out(nodes, most)
    rows = index.graph.target[links.position]
    if entitled:
        fits = index.columns["title"][rows] == keys[links.which]
    else:
        # An entry of many grains counts less.
        signal = signal / np.log2(1 + np.maximum(np.bincount(links.which, minlength=len(nodes)), 1)).astype(np.float32)
        fits = np.ones(len(rows), np.bool_)
    if allowed is not None:
        fits &= allowed[rows]
    fits &= ~np.isin(rows, matches)
    rows, strength = rows[fits], signal[links.which][fits]
    unique, inverse = np.unique(rows, return_inverse=True)
    best = np.zeros(len(unique), np.float32)
    np.maximum.at(best, inverse, strength)
    return unique.astype(np.int32), best
