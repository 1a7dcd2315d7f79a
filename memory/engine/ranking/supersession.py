"""Score penalties of superseded and contradicted grains."""

from __future__ import annotations

import numpy as np

from memory.engine.graph.conduits import CONTRADICTS, SUPERSEDES
from memory.engine.index.space_index import ACTIVE, Index
from memory.engine.ranking.candidates import Floats, Mask, Rows
from memory.engine.ranking.settings import Settings


def supersession_loss(index: Index, rows: Rows, allowed: Mask | None, settings: Settings) -> Floats:
    """Penalty of each row that a newer or more trusted grain supersedes or contradicts, if that grain may be shown."""
    loss = np.zeros(len(rows), np.float32)
    for relation, amount in ((SUPERSEDES, settings.superseded), (CONTRADICTS, settings.contradicted)):
        targets, sources, _ = index.graph.pairs(relation)
        if not len(targets):
            continue
        valid = index.columns["status"][sources] == ACTIVE if allowed is None else allowed[sources]
        if relation == CONTRADICTS:
            valid &= index.columns["authority"][sources] < index.columns["authority"][targets]
        loss[np.isin(rows, targets[valid])] += np.float32(amount)
    return loss


def successor_penalty(index: Index, rows: Rows, scores: Floats) -> Floats:
    """Penalty that ranks a superseded grain behind its successor if both are candidates."""
    penalty = np.zeros(len(rows), np.float32)
    old, new, _ = index.graph.pairs(SUPERSEDES)
    if not len(old):
        return penalty
    at_old, at_new = (np.minimum(rows.searchsorted(side), len(rows) - 1) for side in (old, new))
    both = (rows[at_old] == old) & (rows[at_new] == new) & (old != new)
    for _ in range(_VERSIONS):  # each round settles one more link of a chain of versions
        limit = np.full(len(rows), np.inf, np.float32)
        np.minimum.at(limit, at_old[both], (scores + penalty)[at_new[both]] - np.float32(0.01))
        penalty = np.minimum(penalty, limit - scores)
    return penalty


_VERSIONS = 4  # longest chain of versions that is ordered
