"""Communities of a weighted graph: Louvain, and Leiden where the graph is large. Both can go on from an earlier answer.

The one file of the engine that needs more than numpy. The libraries are loaded when it is called: recall never does.
"""

from __future__ import annotations

import random
import threading
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

# From here on python-louvain takes minutes, igraph seconds.
LARGE = 50_000
NO_COMMUNITY = -1
# Sweeps of Leiden: a second one still gains, an earlier answer needs only one.
_SWEEPS, _SWEEPS_AGAIN = 2, 1
# igraph draws its random numbers from one source for the whole process.
_drawing = threading.Lock()

Labels = NDArray[np.int32]
Ends = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Communities:
    """By node its community, 0 up to the number of them; NONE for a node that hangs together with too few."""

    of: Labels
    modularity: float

    @property
    def count(self) -> int:
        return int(self.of.max(initial=NO_COMMUNITY)) + 1


def communities(
    count: int,
    one: NDArray[Any],
    two: NDArray[Any],
    weight: NDArray[Any],
    *,
    before: NDArray[Any] | None = None,
    resolution: float = 1.0,
    seed: int = 42,
    smallest: int = 3,
    large: int = LARGE,
) -> Communities:
    """The communities of nodes 0 to count - 1 under undirected links; `before` has NONE for nodes that are new.

    The same input gives the same answer. Communities of fewer than `smallest` join the one they are tied to most.
    """
    one, two, weight = merge_links(count, one, two, weight)
    if not len(one):
        return Communities(np.full(count, NO_COMMUNITY, np.int32), 0.0)
    start = None if before is None else _whole(np.asarray(before, np.int64))
    found = (_leiden if count > large else _louvain)(count, one, two, weight, start, resolution, seed)
    labels = _numbered(_joined(found, one, two, weight, smallest), smallest)
    return Communities(labels, modularity(labels, one, two, weight, resolution))


def merge_links(count: int, one: NDArray[Any], two: NDArray[Any], weight: NDArray[Any]) -> tuple[Ends, Ends, Floats]:
    """Each pair once with the sum of its weights; loops and what has no weight left out."""
    one, two, weight = np.asarray(one, np.int64), np.asarray(two, np.int64), np.asarray(weight, np.float64)
    real = (one != two) & (weight > 0)
    key = np.minimum(one, two)[real] * np.int64(count) + np.maximum(one, two)[real]
    if not len(key):
        return key, key, np.empty(0)
    order = key.argsort()  # four times faster than a stable one; pairs that come twice are few
    key = key[order]
    again = key[1:] == key[:-1]
    twice = np.concatenate(([False], again)) | np.concatenate((again, [False]))
    # Sums of floats depend on their order.
    order[twice] = order[twice][np.lexsort((order[twice], key[twice]))]
    first = np.flatnonzero(np.concatenate(([True], key[1:] != key[:-1])))
    return key[first] // count, key[first] % count, np.add.reduceat(weight[real][order], first)


def modularity(labels: NDArray[Any], one: Ends, two: Ends, weight: Floats, resolution: float = 1.0) -> float:
    """Share of weight inside communities above what chance would put there. A node without one stands alone."""
    total = float(weight.sum())
    if not total:
        return 0.0
    of = _whole(np.asarray(labels, np.int64))
    inside = float(weight[of[one] == of[two]].sum()) / total
    ends = np.bincount(of[one], weight, of.max() + 1) + np.bincount(of[two], weight, of.max() + 1)
    return inside - resolution * float(((ends / (2 * total)) ** 2).sum())


def shares(count: int, labels: NDArray[Any], one: Ends, two: Ends, weight: Floats) -> tuple[Ends, Ends, Floats]:
    """(node, community, share): how a node's links are divided among communities; the shares of a node add up to 1."""
    labels = np.asarray(labels, np.int64)
    most = int(labels.max(initial=NO_COMMUNITY)) + 1
    node = np.concatenate((one, two))
    to = labels[np.concatenate((two, one))]
    both = np.concatenate((weight, weight))
    kept = to != NO_COMMUNITY
    if not kept.any():
        return np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0)
    key, inverse = np.unique(node[kept] * most + to[kept], return_inverse=True)
    sums = np.bincount(inverse, both[kept])
    nodes = key // most
    return nodes, key % most, sums / np.bincount(nodes, sums, count)[nodes]


def _whole(labels: Ends) -> Ends:
    """A community of its own for every node that has none, and numbers without gaps."""
    alone = labels < 0
    filled = labels.copy()
    filled[alone] = labels.max(initial=NO_COMMUNITY) + 1 + np.arange(np.count_nonzero(alone))
    return np.unique(filled, return_inverse=True)[1].astype(np.int64)


def _louvain(
    count: int, one: Ends, two: Ends, weight: Floats, start: Ends | None, resolution: float, seed: int
) -> Ends:
    import community as louvain
    import networkx

    graph: networkx.Graph[int] = networkx.Graph()
    nodes = np.unique(np.concatenate((one, two)))
    graph.add_nodes_from(nodes.tolist())
    graph.add_weighted_edges_from(zip(one.tolist(), two.tolist(), weight.tolist(), strict=True))
    known = None if start is None else dict(zip(nodes.tolist(), start[nodes].tolist(), strict=True))
    found = louvain.best_partition(graph, partition=known, resolution=resolution, random_state=seed)
    labels = np.full(count, NO_COMMUNITY, np.int64)
    labels[list(found)] = list(found.values())
    return _whole(labels)


def _leiden(count: int, one: Ends, two: Ends, weight: Floats, start: Ends | None, resolution: float, seed: int) -> Ends:
    import igraph

    # Pair by pair: igraph takes them in a third of the time it needs for an array.
    graph = igraph.Graph(count, zip(one.tolist(), two.tolist(), strict=True))
    with _drawing:
        igraph.set_random_number_generator(random.Random(seed))  # noqa: S311  repeatable, not secret
        try:
            found = graph.community_leiden(
                "modularity",
                weights=weight.tolist(),
                resolution=resolution,
                n_iterations=_SWEEPS if start is None else _SWEEPS_AGAIN,
                initial_membership=None if start is None else start.tolist(),
            )
        finally:
            igraph.set_random_number_generator(random)
    return np.asarray(found.membership, np.int64)


def _joined(labels: Ends, one: Ends, two: Ends, weight: Floats, smallest: int) -> Ends:
    """Small communities go to the one they are tied to most, a large one before another small one."""
    while True:
        size = np.bincount(labels)
        a, b = labels[one], labels[two]
        source, target = np.concatenate((a, b)), np.concatenate((b, a))
        leaving = (source != target) & (size[source] < smallest)
        if not leaving.any():
            return labels
        key, inverse = np.unique(source[leaving] * len(size) + target[leaving], return_inverse=True)
        tied = np.bincount(inverse, np.concatenate((weight, weight))[leaving])
        source, target = key // len(size), key % len(size)
        order = np.lexsort((target, -tied, size[target] < smallest, source))
        first = order[np.concatenate(([True], source[order][1:] != source[order][:-1]))]
        goes = np.arange(len(size))
        for small, to in zip(source[first].tolist(), target[first].tolist(), strict=True):
            if goes[small] == small and _end(goes, to) != small:
                goes[small] = to
        labels = np.array([_end(goes, label) for label in range(len(size))], np.int64)[labels]


def _end(goes: Ends, label: int) -> int:
    while goes[label] != label:
        label = int(goes[label])
    return label


def _numbered(labels: Ends, smallest: int) -> Labels:
    """Numbers in the order of the first node; NONE for what is still too small, because nothing leads out of it."""
    found, first, inverse, size = np.unique(labels, return_index=True, return_inverse=True, return_counts=True)
    kept = size >= smallest
    number = np.full(len(found), NO_COMMUNITY, np.int32)
    order = np.flatnonzero(kept)[first[kept].argsort(kind="stable")]
    number[order] = np.arange(len(order), dtype=np.int32)
    numbered: Labels = number[inverse]
    return numbered
