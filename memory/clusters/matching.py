"""Matching of old and new clusters: which new one keeps an id, and where the uses of the others move. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

# A smaller share of a cluster that moves is drift: its uses are not moved.
DRIFT = 0.05
# Least share of a cluster that lost its id in another one to continue in it; without such a cluster it has dissolved.
MERGED = 0.5

Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class ClusterMatch:
    """`keeps`: new label → old cluster. `moves`: old cluster → [(new label, factor)], for those that changed."""

    keeps: dict[int, int] = field(default_factory=dict)
    moves: dict[int, list[tuple[int, float]]] = field(default_factory=dict)
    gone: list[int] = field(default_factory=list)


def match(old: Numbers, new: Numbers, *, least: float, dissolved: float) -> ClusterMatch:
    """`old` and `new` say by node its cluster and its label; -1 where it had or has none.

    Greedy by overlap |both| / |either|, at least `least`. Of two equal ones the older cluster goes first.
    """
    held, held_sizes = np.unique(old[old >= 0], return_counts=True)
    size_before = dict(zip(held.tolist(), held_sizes.tolist(), strict=True))
    size_now = np.bincount(new[new >= 0]) if (new >= 0).any() else np.empty(0, np.int64)
    both = (old >= 0) & (new >= 0)
    pairs, shared = np.unique(np.stack((old[both], new[both]), 1), axis=0, return_counts=True)
    flows = [(int(one), int(two), int(count)) for (one, two), count in zip(pairs, shared, strict=True)]
    overlap = sorted((-count / (size_before[one] + int(size_now[two]) - count), one, two) for one, two, count in flows)
    found = ClusterMatch()
    taken: set[int] = set()
    for less, one, two in overlap:
        if -less >= least and one not in taken and two not in found.keeps:
            found.keeps[two] = one
            taken.add(one)
    went: dict[int, list[tuple[int, float]]] = {one: [] for one in size_before}
    for one, two, count in flows:
        went[one].append((two, count / size_before[one]))
    for one, to in went.items():
        _move(found, one, to, one in taken, dissolved)
    return found


def _move(found: ClusterMatch, one: int, to: list[tuple[int, float]], kept: bool, dissolved: float) -> None:
    """Factors by share of members: 1 if all moved together, less in sum if a part has dissolved."""
    to = [(two, share) for two, share in to if share >= DRIFT]
    whole = sum(share for _, share in to)
    lives = kept or any(share >= MERGED for _, share in to)
    if not kept:
        found.gone.append(one)
    if kept and len(to) == 1:
        return
    found.moves[one] = [(two, share / whole * (1.0 if lives else dissolved)) for two, share in to]
