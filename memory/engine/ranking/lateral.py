"""What to look at beside an answer that nobody is sure of: where links lead, and what is typical of its clusters."""

from __future__ import annotations

import numpy as np

from memory.engine.index.space_index import Index
from memory.engine.ranking.candidates import Floats, Mask, Places, Rows
from memory.engine.ranking.settings import Settings

CLUSTERS = 3  # of the best finds, in their order


def expand_answer(
    index: Index, shown: Rows, rest: Rows, linked: Floats, allowed: Mask | None, settings: Settings
) -> tuple[Rows, list[int]]:
    """Rows to offer, and for each the cluster it was taken from, 0 for none.

    `rest` are the next by score and `linked` what links give them. Links and clusters take turns, then the next come.
    """
    best = np.lexsort((np.arange(len(rest)), -linked))
    led = [(int(rest[place]), 0) for place in best.tolist() if linked[place] > 0]
    next_ones = [(row, 0) for row in rest.tolist()]
    mates = _mates(index, shown, allowed, settings.per_cluster)
    turns = [one for pair in zip(led, mates, strict=False) for one in pair]
    longer = led[len(mates) :] or mates[len(led) :]
    found: dict[int, int] = {}
    for row, cluster in (*turns, *longer, *next_ones):
        if len(found) == settings.expansion:
            break
        found.setdefault(row, cluster)
    return np.array(list(found), np.int32), list(found.values())


def _mates(index: Index, shown: Rows, allowed: Mask | None, most: int) -> list[tuple[int, int]]:
    """The most typical others of the clusters that the answer's first are in; none that says what is shown already."""
    column: Places = index.column("cluster")
    clusters = [one for one in dict.fromkeys(column[shown].tolist()) if one][:CLUSTERS]
    said = index.columns["digest"][shown]
    found: list[tuple[int, int]] = []
    for cluster in clusters:
        rows = np.flatnonzero(column == cluster)
        if allowed is not None:
            rows = rows[allowed[rows]]
        rows = rows[~np.isin(rows, shown) & ~np.isin(index.columns["digest"][rows], said)]
        order = np.lexsort((index.columns["id"][rows], -index.columns["typical"][rows]))[:most]
        found += [(row, cluster) for row in rows[order].tolist()]
    return found
