"""Conduits of a node in the order a build would give them, kept so while single ones change.

What was in order stays in order without those that changed; each of these is then put where it belongs, key by key. A
hub of a hundred thousand conduits is not sorted anew for one of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memory.engine.graph.conduits import Numbers

_FEW = 16  # more changes than that, and sorting the whole list is quicker

Key = Callable[[Numbers], NDArray[Any]]  # of conduits by their positions, lowest first


@dataclass(slots=True)
class SortedConduits:
    """As of the last reading, and which conduits of the node changed since."""

    at: Numbers
    changed: set[int] = field(default_factory=set)

    def now(self, weight: NDArray[np.float32], keys: Sequence[Key]) -> SortedConduits:
        """With everything that changed in its place, and what carries nothing left out. The first key counts most."""
        changed = sorted(self.changed)
        at = self.at[~np.isin(self.at, changed)]
        living = [one for one in changed if weight[one] > 0]
        if len(living) > _FEW:
            at = np.concatenate((at, np.array(living, np.int64)))
            return SortedConduits(at[np.lexsort([key(at) for key in reversed(keys)])])
        for one in living:
            at = np.insert(at, _place(at, one, keys), one)
        return SortedConduits(at)


def _place(at: Numbers, one: int, keys: Sequence[Key]) -> int:
    begin, end = 0, len(at)
    for key in keys:
        run, own = key(at[begin:end]), key(np.array([one], np.int64))[0]
        begin, end = begin + int(run.searchsorted(own)), begin + int(run.searchsorted(own, side="right"))
        if begin == end:
            break
    return begin


def sorted_lists(
    nodes: Numbers, own: dict[int, SortedConduits], weight: NDArray[np.float32], keys: Sequence[Key]
) -> dict[int, Numbers]:
    """The lists of those nodes that have one, by their place among the nodes; what changed is put in order first."""
    found: dict[int, Numbers] = {}
    for place, node in enumerate(nodes.tolist()):
        held = own.get(node)
        if held is not None:
            if held.changed:
                held = own[node] = held.now(weight, keys)
            found[place] = held.at
    return found
