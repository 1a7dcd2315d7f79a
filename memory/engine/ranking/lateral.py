"""Lateral candidates beside an answer of low confidence: linked rows, and rows typical of its clusters."""

from __future__ import annotations

import numpy as np

from memory.engine.index.space_index import Index
from memory.engine.ranking.candidates import Floats, Mask, Places, Rows
from memory.engine.ranking.settings import Settings

CLUSTERS = 3  # clusters that are used, those of the best results first


def expand_answer(
    index: Index, shown: Rows, rest: Rows, linked: Floats, allowed: Mask | None, settings: Settings
) -> tuple[Rows, list[int]]:
    """Rows to offer, and for each the cluster it was taken from, 0 for none.

    `rest` are the next rows by score and `linked` their signal over links. Linked rows and rows of clusters alternate,
    then the next rows by score follow.
    """
    best = np.lexsort((np.arange(len(rest)), -linked))
    by_link = [(int(rest[place]), 0) for place in best.tolist() if linked[place] > 0]
    by_score = [(row, 0) for row in rest.tolist()]
    by_cluster = _typical_of_clusters(index, shown, allowed, settings.per_cluster)
    alternating = [offer for pair in zip(by_link, by_cluster, strict=False) for offer in pair]
    longer = by_link[len(by_cluster) :] or by_cluster[len(by_link) :]
    chosen: dict[int, int] = {}
    for row, cluster in (*alternating, *longer, *by_score):
        if len(chosen) == settings.expansion:
            break
        chosen.setdefault(row, cluster)
    return np.array(list(chosen), np.int32), list(chosen.values())


def _typical_of_clusters(index: Index, shown: Rows, allowed: Mask | None, most: int) -> list[tuple[int, int]]:
    """The most typical other rows of the clusters of the best results, without repeating a text that is shown."""
    column: Places = index.column("cluster")
    clusters = [number for number in dict.fromkeys(column[shown].tolist()) if number][:CLUSTERS]
    shown_texts = index.columns["digest"][shown]
    found: list[tuple[int, int]] = []
    for cluster in clusters:
        rows = np.flatnonzero(column == cluster)
        if allowed is not None:
            rows = rows[allowed[rows]]
        rows = rows[~np.isin(rows, shown) & ~np.isin(index.columns["digest"][rows], shown_texts)]
        order = np.lexsort((index.columns["id"][rows], -index.columns["typical"][rows]))[:most]
        found += [(row, cluster) for row in rows[order].tolist()]
    return found
