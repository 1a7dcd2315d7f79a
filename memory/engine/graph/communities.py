"""Communities of a weighted graph: Louvain, and Leiden for large graphs. Both can start from an earlier partition.

This is the only file of the engine that needs more than numpy. The libraries are imported when it is called; recall
never calls it.
"""

from __future__ import annotations

import random
import threading
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Nodes above which Leiden is used: python-louvain would take minutes, igraph takes seconds.
LARGE = 50_000
NO_COMMUNITY = -1
# Iterations of Leiden: a second one still improves a fresh partition, an earlier one needs only one.
_SWEEPS, _SWEEPS_AGAIN = 2, 1
# igraph has one random number generator for the whole process.
_igraph_random = threading.Lock()

Labels = NDArray[np.int32]
Ends = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Communities:
    """Community number of each node, from 0; NO_COMMUNITY for a node that is connected to too few others."""

    of: Labels
    modularity: float

    @property
    def count(self) -> int:
        return int(self.of.max(initial=NO_COMMUNITY)) + 1


def communities(
    count: int,
    first: NDArray[Any],
    second: NDArray[Any],
    weight: NDArray[Any],
    *,
    before: NDArray[Any] | None = None,
    resolution: float = 1.0,
    seed: int = 42,
    smallest: int = 3,
    large: int = LARGE,
) -> Communities:
    """Communities of the nodes 0 to count - 1 with undirected links from `first` to `second`.

    `before` is an earlier partition with NO_COMMUNITY for new nodes. The same input gives the same result. Communities
    of fewer than `smallest` nodes are merged into the one they have the strongest links to.
    """
    first, second, weight = merge_links(count, first, second, weight)
    if not len(first):
        return Communities(np.full(count, NO_COMMUNITY, np.int32), 0.0)
    start = None if before is None else _fill_labels(np.asarray(before, np.int64))
    partition = (_leiden if count > large else _louvain)(count, first, second, weight, start, resolution, seed)
    labels = _renumber(_merge_small(partition, first, second, weight, smallest), smallest)
    return Communities(labels, modularity(labels, first, second, weight, resolution))


def merge_links(
    count: int, first: NDArray[Any], second: NDArray[Any], weight: NDArray[Any]
) -> tuple[Ends, Ends, Floats]:
    """Unique pairs with the sum of their weights, without loops and without pairs of no weight."""
    first, second, weight = np.asarray(first, np.int64), np.asarray(second, np.int64), np.asarray(weight, np.float64)
    real = (first != second) & (weight > 0)
    key = np.minimum(first, second)[real] * np.int64(count) + np.maximum(first, second)[real]
    if not len(key):
        return key, key, np.empty(0)
    order = key.argsort()  # four times faster than a stable sort; repeated pairs are few
    key = key[order]
    repeated = key[1:] == key[:-1]
    twice = np.concatenate(([False], repeated)) | np.concatenate((repeated, [False]))
    # Repeated pairs are put into a fixed order, because sums of floats depend on it.
    order[twice] = order[twice][np.lexsort((order[twice], key[twice]))]
    starts = np.flatnonzero(np.concatenate(([True], key[1:] != key[:-1])))
    return key[starts] // count, key[starts] % count, np.add.reduceat(weight[real][order], starts)


def modularity(labels: NDArray[Any], first: Ends, second: Ends, weight: Floats, resolution: float = 1.0) -> float:
    """Modularity: share of weight inside communities above the expected one. Unlabelled nodes count as single ones."""
    total = float(weight.sum())
    if not total:
        return 0.0
    of = _fill_labels(np.asarray(labels, np.int64))
    inside = float(weight[of[first] == of[second]].sum()) / total
    ends = np.bincount(of[first], weight, of.max() + 1) + np.bincount(of[second], weight, of.max() + 1)
    return inside - resolution * float(((ends / (2 * total)) ** 2).sum())


def shares(count: int, labels: NDArray[Any], first: Ends, second: Ends, weight: Floats) -> tuple[Ends, Ends, Floats]:
    """(node, community, share): division of a node's link weight among communities; shares of a node sum to 1."""
    labels = np.asarray(labels, np.int64)
    most = int(labels.max(initial=NO_COMMUNITY)) + 1
    node = np.concatenate((first, second))
    to = labels[np.concatenate((second, first))]
    both = np.concatenate((weight, weight))
    kept = to != NO_COMMUNITY
    if not kept.any():
        return np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0)
    key, inverse = np.unique(node[kept] * most + to[kept], return_inverse=True)
    sums = np.bincount(inverse, both[kept])
    nodes = key // most
    return nodes, key % most, sums / np.bincount(nodes, sums, count)[nodes]


def _fill_labels(labels: Ends) -> Ends:
    """Labels without gaps; every node without a community gets one of its own."""
    unlabelled = labels < 0
    filled = labels.copy()
    filled[unlabelled] = labels.max(initial=NO_COMMUNITY) + 1 + np.arange(np.count_nonzero(unlabelled))
    return np.unique(filled, return_inverse=True)[1].astype(np.int64)


def _louvain(
    count: int, first: Ends, second: Ends, weight: Floats, start: Ends | None, resolution: float, seed: int
) -> Ends:
    import community as louvain
    import networkx

    graph: networkx.Graph[int] = networkx.Graph()
    nodes = np.unique(np.concatenate((first, second)))
    graph.add_nodes_from(nodes.tolist())
    graph.add_weighted_edges_from(zip(first.tolist(), second.tolist(), weight.tolist(), strict=True))
    start_partition = None if start is None else dict(zip(nodes.tolist(), start[nodes].tolist(), strict=True))
    partition = louvain.best_partition(graph, partition=start_partition, resolution=resolution, random_state=seed)
    labels = np.full(count, NO_COMMUNITY, np.int64)
    labels[list(partition)] = list(partition.values())
    return _fill_labels(labels)


def _leiden(
    count: int, first: Ends, second: Ends, weight: Floats, start: Ends | None, resolution: float, seed: int
) -> Ends:
    import igraph

    # igraph reads an iterator of pairs in a third of the time it needs for an array.
    graph = igraph.Graph(count, zip(first.tolist(), second.tolist(), strict=True))
    with _igraph_random:
        igraph.set_random_number_generator(random.Random(seed))  # noqa: S311  repeatable, not secret
        try:
            clustering = graph.community_leiden(
                "modularity",
                weights=weight.tolist(),
                resolution=resolution,
                n_iterations=_SWEEPS if start is None else _SWEEPS_AGAIN,
                initial_membership=None if start is None else start.tolist(),
            )
        finally:
            igraph.set_random_number_generator(random)
    return np.asarray(clustering.membership, np.int64)


def _merge_small(labels: Ends, first: Ends, second: Ends, weight: Floats, smallest: int) -> Ends:
    """Merge small communities into the one they have the strongest links to; large ones are preferred to small ones."""
    while True:
        size = np.bincount(labels)
        a, b = labels[first], labels[second]
        source, target = np.concatenate((a, b)), np.concatenate((b, a))
        leaving = (source != target) & (size[source] < smallest)
        if not leaving.any():
            return labels
        key, inverse = np.unique(source[leaving] * len(size) + target[leaving], return_inverse=True)
        link_weight = np.bincount(inverse, np.concatenate((weight, weight))[leaving])
        source, target = key // len(size), key % len(size)
        order = np.lexsort((target, -link_weight, size[target] < smallest, source))
        strongest = order[np.concatenate(([True], source[order][1:] != source[order][:-1]))]
        merged_into = np.arange(len(size))
        for small, to in zip(source[strongest].tolist(), target[strongest].tolist(), strict=True):
            if merged_into[small] == small and _follow_merges(merged_into, to) != small:
                merged_into[small] = to
        labels = np.array([_follow_merges(merged_into, label) for label in range(len(size))], np.int64)[labels]


def _follow_merges(merged_into: Ends, label: int) -> int:
    """The community that a chain of merges ends in."""
    while merged_into[label] != label:
        label = int(merged_into[label])
    return label


def _renumber(labels: Ends, smallest: int) -> Labels:
    """Numbers by first node; NO_COMMUNITY for components that are still too small, as no link leads out of them."""
    unique, first, inverse, size = np.unique(labels, return_index=True, return_inverse=True, return_counts=True)
    kept = size >= smallest
    number = np.full(len(unique), NO_COMMUNITY, np.int32)
    order = np.flatnonzero(kept)[first[kept].argsort(kind="stable")]
    number[order] = np.arange(len(order), dtype=np.int32)
    numbered: Labels = number[inverse]
    return numbered
