"""Sorted conduits of one node that are updated when single conduits change.

The order is that of a new build. Changed conduits are removed and inserted again at their place, found key by key, so
that a hub of a hundred thousand conduits is not sorted again for one of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memory.engine.graph.conduits import Numbers

_FEW = 16  # with more changes than this, sorting the whole list is faster

Key = Callable[[Numbers], NDArray[Any]]  # sort key of conduits at given positions, ascending


@dataclass(slots=True)
class SortedConduits:
    """Positions of a node's conduits as last sorted, and the positions that changed since."""

    at: Numbers
    changed: set[int] = field(default_factory=set)

    def now(self, weight: NDArray[np.float32], keys: Sequence[Key]) -> SortedConduits:
        """Sorted anew after changes, without conduits of weight 0. The first key is the most significant."""
        changed = sorted(self.changed)
        at = self.at[~np.isin(self.at, changed)]
        living = [position for position in changed if weight[position] > 0]
        if len(living) > _FEW:
            at = np.concatenate((at, np.array(living, np.int64)))
            return SortedConduits(at[np.lexsort([key(at) for key in reversed(keys)])])
        for position in living:
            at = np.insert(at, _find_place(at, position, keys), position)
        return SortedConduits(at)


def _find_place(at: Numbers, position: int, keys: Sequence[Key]) -> int:
    """Index at which a position belongs in a sorted list."""
    begin, end = 0, len(at)
    for key in keys:
        run, own = key(at[begin:end]), key(np.array([position], np.int64))[0]
        begin, end = begin + int(run.searchsorted(own)), begin + int(run.searchsorted(own, side="right"))
        if begin == end:
            break
    return begin


def sorted_lists(
    nodes: Numbers, own: dict[int, SortedConduits], weight: NDArray[np.float32], keys: Sequence[Key]
) -> dict[int, Numbers]:
    """Sorted lists of those nodes that have one, by the index of the node; lists with changes are updated first."""
    found: dict[int, Numbers] = {}
    for place, node in enumerate(nodes.tolist()):
        conduits = own.get(node)
        if conduits is not None:
            if conduits.changed:
                conduits = own[node] = conduits.now(weight, keys)
            found[place] = conduits.at
    return found
