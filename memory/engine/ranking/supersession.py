"""What newer and more trusted grains take from older and less trusted ones that answer the same question."""

from __future__ import annotations

import numpy as np

from memory.engine.graph.conduits import CONTRADICTS, SUPERSEDES
from memory.engine.index.space_index import ACTIVE, Index
from memory.engine.ranking.candidates import Floats, Mask, Rows
from memory.engine.ranking.settings import Settings


def supersession_loss(index: Index, rows: Rows, allowed: Mask | None, settings: Settings) -> Floats:
    """What a newer or a more trusted grain takes from an older or less trusted one, if it may be shown itself."""
    taken = np.zeros(len(rows), np.float32)
    for relation, amount in ((SUPERSEDES, settings.superseded), (CONTRADICTS, settings.contradicted)):
        targets, sources, _ = index.graph.pairs(relation)
        if not len(targets):
            continue
        alive = index.columns["status"][sources] == ACTIVE if allowed is None else allowed[sources]
        if relation == CONTRADICTS:
            alive &= index.columns["authority"][sources] < index.columns["authority"][targets]
        taken[np.isin(rows, targets[alive])] += np.float32(amount)
    return taken


def successor_penalty(index: Index, rows: Rows, scores: Floats) -> Floats:
    """What puts a superseded grain behind its successor, where both are candidates."""
    truth = np.zeros(len(rows), np.float32)
    old, new, _ = index.graph.pairs(SUPERSEDES)
    if not len(old):
        return truth
    at_old, at_new = (np.minimum(rows.searchsorted(some), len(rows) - 1) for some in (old, new))
    both = (rows[at_old] == old) & (rows[at_new] == new) & (old != new)
    for _ in range(_VERSIONS):  # a chain of versions settles link by link
        limit = np.full(len(rows), np.inf, np.float32)
        np.minimum.at(limit, at_old[both], (scores + truth)[at_new[both]] - np.float32(0.01))
        truth = np.minimum(truth, limit - scores)
    return truth


_VERSIONS = 4
