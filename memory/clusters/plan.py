"""Plan of the clusters of one layer, compared with the stored ones; writes nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from django.db.models import Sum
from numpy.typing import NDArray

from fluxcore import config
from memory.clusters import matching, naming
from memory.clusters.cluster_graph import ClusterGraph, find_places
from memory.clusters.matching import ClusterMatch
from memory.engine.graph import communities
from memory.engine.graph.communities import NO_COMMUNITY
from memory.grains.models import Cluster, ClusterUse, Entry, Grain, Member

# Share of an entry's links below which it is no member of a cluster.
LEAST_SHARE = 0.05
Layer = Cluster.Layer
Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class ClusterPlan:
    """`members`: (row, label) → weight. `held`: the members that are there, (row, cluster) → (number, weight)."""

    layer: Layer
    modularity: float
    members: dict[tuple[int, int], float]
    held: dict[tuple[int, int], tuple[int, float]]
    match: ClusterMatch
    terms: dict[int, list[str]]  # by label

    @property
    def sizes(self) -> dict[int, int]:
        found = dict.fromkeys(self.terms, 0)
        for _, label in self.members:
            found[label] += 1
        return found


def plan_layer(space: int, layer: Layer, graph: ClusterGraph) -> ClusterPlan:
    """Plan of one layer: communities with members and names, matched with the stored clusters."""
    settings = config.current()
    held = _held(space, layer)
    nodes, was = _main(np.array([(*key, weight) for key, (_, weight) in held.items()], np.float64).reshape(-1, 3))
    at = find_places(nodes, graph.numbers)
    before = np.where(at >= 0, was[at], NO_COMMUNITY) if len(nodes) else None
    found = communities.communities(
        len(graph.numbers),
        graph.one,
        graph.two,
        graph.weight,
        before=before,
        resolution=settings.LOUVAIN_RESOLUTION,
        seed=settings.LOUVAIN_SEED,
        smallest=settings.CLUSTER_MIN_SIZE,
    )
    if layer == Layer.GRAINS:
        table = _typical(space, graph, found.of)
        terms = _words(space, table)
    else:
        table = _shares(graph, found.of)
        terms = _features(space, graph, table)
    now, main = _main(table)
    every = np.union1d(nodes, now)
    match = matching.match(
        _of(every, nodes, was),
        _of(every, now, main),
        least=settings.CLUSTER_INHERIT_OVERLAP_MIN,
        dissolved=settings.CLUSTER_DISSOLVE_DECAY,
    )
    members = {(int(row), int(label)): float(weight) for row, label, weight in table}
    # A stored cluster without members is dissolved.
    empty = set(Cluster.objects.filter(space=space, layer=layer, dissolved_at=None).values_list("id", flat=True))
    match.gone.extend(sorted(empty - set(match.keeps.values()) - set(match.gone)))
    return ClusterPlan(layer, found.modularity, members, held, match, terms)


def _held(space: int, layer: Layer) -> dict[tuple[int, int], tuple[int, float]]:
    row = "grain_id" if layer == Layer.GRAINS else "entry_id"
    found = Member.objects.filter(space=space, **{f"{row}__isnull": False}).values_list(
        row, "cluster_id", "id", "weight"
    )
    return {(one, cluster): (number, weight) for one, cluster, number, weight in found.iterator(chunk_size=20_000)}


def _main(table: NDArray[np.float64]) -> tuple[Numbers, Numbers]:
    """Unique rows in ascending order, each with the cluster of its largest share."""
    order = np.lexsort((table[:, 1], -table[:, 2], table[:, 0]))
    rows = table[order, 0].astype(np.int64)
    first = np.flatnonzero(np.concatenate(([True], rows[1:] != rows[:-1]))) if len(rows) else np.empty(0, np.int64)
    return rows[first], table[order, 1].astype(np.int64)[first]


def _of(every: Numbers, rows: Numbers, cluster: Numbers) -> Numbers:
    at = find_places(rows, every)
    return np.where(at >= 0, cluster[at], NO_COMMUNITY) if len(rows) else np.full(len(every), NO_COMMUNITY, np.int64)


def _typical(space: int, graph: ClusterGraph, labels: NDArray[np.int32]) -> NDArray[np.float64]:
    """(grain, label, weight): link weight within its cluster · (1 + ln(1 + use)), 1 for the most typical."""
    inside = labels[graph.one] == labels[graph.two]
    tied = np.bincount(graph.one[inside], graph.weight[inside], len(labels))
    tied += np.bincount(graph.two[inside], graph.weight[inside], len(labels))
    touched = dict(ClusterUse.objects.filter(space=space).values_list("grain").annotate(Sum("weight")))
    if touched:
        at = find_places(graph.numbers, np.array(list(touched), np.int64))
        tied[at[at >= 0]] *= 1 + np.log1p(np.array(list(touched.values()))[at >= 0])
    kept = np.flatnonzero(labels != NO_COMMUNITY)
    most = np.zeros(int(labels.max(initial=NO_COMMUNITY)) + 1)
    np.maximum.at(most, labels[kept], tied[kept])
    # In hundredths: slight decay must not cause every row to be written again.
    weight = np.maximum(np.round(tied[kept] / np.maximum(most[labels[kept]], 1e-12), 2), 0.01)
    return np.stack((graph.numbers[kept].astype(np.float64), labels[kept].astype(np.float64), weight), 1)


def _shares(graph: ClusterGraph, labels: NDArray[np.int32]) -> NDArray[np.float64]:
    """(entry, label, share): the shares of an entry in hundredths, the largest of them taking what rounding leaves."""
    count = len(graph.numbers)
    node, label, share = communities.shares(count, labels, graph.one, graph.two, graph.weight)
    kept = share >= LEAST_SHARE
    node, label, share = node[kept], label[kept], share[kept]
    share = np.round(share / np.bincount(node, share, count)[node], 2)
    order = np.lexsort((label, -share, node))
    node, label, share = node[order], label[order], share[order]
    first = np.flatnonzero(np.concatenate(([True], node[1:] != node[:-1]))) if len(node) else np.empty(0, np.int64)
    share[first] += 1 - np.bincount(node, share, count)[node[first]]
    return np.stack((graph.numbers[node].astype(np.float64), label.astype(np.float64), np.round(share, 2)), 1)


def _best(table: NDArray[np.float64], most: int) -> dict[int, list[int]]:
    """By label, its members of the highest weight, highest first."""
    order = np.lexsort((table[:, 0], -table[:, 2], table[:, 1]))
    found: dict[int, list[int]] = {}
    for row, label in table[order, :2].astype(np.int64).tolist():
        held = found.setdefault(label, [])
        if len(held) < most:
            held.append(row)
    return found


def _words(space: int, table: NDArray[np.float64]) -> dict[int, list[str]]:
    best = _best(table, naming.SAMPLE)
    wanted = [row for rows in best.values() for row in rows]
    texts: dict[int, str] = {}
    for at in range(0, len(wanted), 500):
        texts.update(Grain.objects.filter(space=space, id__in=wanted[at : at + 500]).values_list("id", "text"))
    return naming.name_clusters({label: [texts[row] for row in rows if row in texts] for label, rows in best.items()})


def _features(space: int, graph: ClusterGraph, table: NDArray[np.float64]) -> dict[int, list[str]]:
    """Entries with the strongest links within a cluster; names and words before numbers and dates."""
    tied = np.bincount(graph.one, graph.weight, len(graph.numbers))
    tied += np.bincount(graph.two, graph.weight, len(graph.numbers))
    weighed = table.copy()
    weighed[:, 2] *= tied[find_places(graph.numbers, table[:, 0])]
    rows, main = _main(table)
    at_home = main[find_places(rows, table[:, 0])] == table[:, 1]
    best = _best(weighed[at_home], naming.SAMPLE)
    known: dict[int, tuple[str, str]] = {}
    wanted = sorted({row for rows_of in best.values() for row in rows_of})
    for at in range(0, len(wanted), 500):
        found = Entry.objects.filter(space=space, id__in=wanted[at : at + 500])
        known.update((number, (kind, feature)) for number, kind, feature in found.values_list("id", "kind", "feature"))
    every = {int(label): best.get(int(label), []) for label in np.unique(table[:, 1])}
    return {label: _called([known[row] for row in held if row in known]) for label, held in every.items()}


def _called(entries: Sequence[tuple[str, str]]) -> list[str]:
    """The first few names, without those that repeat a word of an earlier one."""
    plain = (Entry.Kind.NAME, Entry.Kind.TERM)
    found: list[str] = []
    used_words: set[str] = set()
    for _, feature in sorted(entries, key=lambda one: one[0] not in plain):  # stable: by weight within each
        if used_words.isdisjoint(feature.split()):
            found.append(feature)
            used_words.update(feature.split())
    return found[: naming.WORDS]
