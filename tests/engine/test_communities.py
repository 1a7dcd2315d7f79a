"""Communities: what was planted is found, by both methods, again and again, and small ones go where they belong."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from memory.engine.graph import communities as engine
from memory.engine.graph.communities import NO_COMMUNITY, communities

METHODS = {"louvain": 10**9, "leiden": 0}


def planted(groups: int, each: int, seed: int = 1):
    """Dense groups with a few links between them."""
    chance = np.random.default_rng(seed)
    count = groups * each
    one, two = chance.integers(0, count, (2, 8 * count))
    inside = chance.random(len(one)) > 0.05
    two[inside] = one[inside] // each * each + two[inside] % each
    return count, one, two, chance.uniform(0.2, 1, len(one))


def chains(*sizes: int):
    """Chains that nothing connects, as (count, one, two, weight)."""
    one, first = [], 0
    for size in sizes:
        one += range(first, first + size - 1)
        first += size
    return first, np.array(one), np.array(one) + 1, np.ones(len(one))


@pytest.mark.parametrize("method", METHODS)
def test_planted_communities_are_found(method):
    count, *links = planted(8, 40)
    found = communities(count, *links, large=METHODS[method])
    assert found.count == 8
    assert found.of.tolist() == [node // 40 for node in range(count)]
    assert found.modularity > 0.7


@pytest.mark.parametrize("method", METHODS)
def test_the_same_graph_gives_the_same_answer(method):
    count, *links = planted(20, 15, seed=3)
    first = communities(count, *links, large=METHODS[method])
    again = communities(count, *links, large=METHODS[method])
    assert first.of.tolist() == again.of.tolist()
    assert first.modularity == again.modularity


@pytest.mark.parametrize("method", METHODS)
def test_an_earlier_partition_is_continued(method):
    count, one, two, weight = planted(8, 40)
    before = communities(count, one, two, weight, large=METHODS[method]).of
    grown = count + 2
    more = np.concatenate((one, [count, count, count + 1, count + 1])), np.concatenate((two, [1, 2, 41, 42]))
    weight = np.concatenate((weight, np.ones(4)))
    start = np.concatenate((before, [NO_COMMUNITY, NO_COMMUNITY]))
    found = communities(grown, *more, weight, before=start, large=METHODS[method])
    assert found.of[count] == found.of[0]
    assert found.of[count + 1] == found.of[40]
    assert found.of[:count].tolist() == before.tolist()


@pytest.mark.parametrize("method", METHODS)
def test_a_wrong_earlier_partition_is_corrected(method):
    count, *links = planted(4, 30)
    shuffled = np.random.default_rng(5).integers(0, 40, count)
    assert communities(count, *links, before=shuffled, large=METHODS[method]).modularity > 0.65


def test_a_small_community_joins_the_one_with_the_strongest_links():
    labels = np.array([0, 0, 0, 1, 1, 1, 2, 2])
    one, two = np.array([0, 1, 3, 4, 6, 6, 7]), np.array([1, 2, 4, 5, 7, 0, 3])
    joined = engine._merge_small(labels, one, two, np.array([1, 1, 1, 1, 5, 0.5, 2.0]), 3)
    assert joined[6] == joined[7] == joined[3] != joined[0]


def test_small_communities_linked_only_to_each_other_join():
    _, one, two, weight = chains(4)
    joined = engine._merge_small(np.array([0, 0, 1, 1]), one, two, weight, 3)
    assert len(set(joined.tolist())) == 1


def test_components_that_are_too_small_get_no_community():
    count, *links = chains(5, 2, 1)
    found = communities(count, *links)
    assert found.of.tolist() == [0, 0, 0, 0, 0, NO_COMMUNITY, NO_COMMUNITY, NO_COMMUNITY]
    assert found.count == 1


@pytest.mark.parametrize("count", [0, 1, 5])
def test_without_links_there_is_no_community(count):
    nothing = np.empty(0, np.int64)
    found = communities(count, nothing, nothing, np.empty(0))
    assert found.of.tolist() == [NO_COMMUNITY] * count
    assert (found.count, found.modularity) == (0, 0.0)


def test_pairs_are_counted_once_in_either_direction_and_loops_not_at_all():
    one, two, weight = engine.merge_links(
        4, np.array([0, 1, 2, 3]), np.array([1, 0, 2, 1]), np.array([1.0, 2.0, 9.0, 0.0])
    )
    assert (one.tolist(), two.tolist(), weight.tolist()) == ([0], [1], [3.0])


def test_modularity_is_what_networkx_says():
    import networkx

    count, *links = planted(5, 20, seed=9)
    found = communities(count, *links)
    one, two, weight = engine.merge_links(count, *links)
    graph = networkx.Graph()
    graph.add_weighted_edges_from(zip(one.tolist(), two.tolist(), weight.tolist(), strict=True))
    groups = [set(np.flatnonzero(found.of == label).tolist()) for label in range(found.count)]
    assert found.modularity == pytest.approx(networkx.community.modularity(graph, groups))


def test_shares_of_a_node_add_up_to_one():
    labels = np.array([0, 0, 0, 1, 1, 1, NO_COMMUNITY])
    one, two = np.array([0, 0, 0, 0]), np.array([1, 2, 3, 6])
    node, label, share = engine.shares(7, labels, one, two, np.array([1.0, 2.0, 1.0, 8.0]))
    of_first = {int(to): float(part) for at, to, part in zip(node, label, share, strict=True) if at == 0}
    assert of_first == {0: 0.75, 1: 0.25}  # what belongs to none counts for none
    assert np.bincount(node, share)[[0, 1, 2, 3]].tolist() == [1, 1, 1, 1]


def test_recall_never_loads_the_libraries():
    code = (
        "import sys, memory.engine.ranking.recall, memory.engine.graph.communities; "
        "print([name for name in ('networkx', 'community', 'igraph') if name in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
