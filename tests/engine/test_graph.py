"""The arrays of a graph say what a plain list of its conduits says, however they came to be."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from benchmarks.propagation import synthetic
from memory.arena.changes import CONDUIT
from memory.engine.graph.conduit_graph import HUB, NOWHERE, ConduitGraph
from memory.engine.graph.conduits import CONTRADICTS, NEXT, SUPERSEDES

AT = 1_760_000_000
HOUR = 3600


def conduit(number: int, source: int | str, target: int, weight: float = 0.5, **more: Any) -> tuple[Any, ...]:
    """A record and its rows: a grain's row as a source, or the key of an entry as text; grains are numbered row + 1."""
    entry = isinstance(source, str)
    values = {"affinity": 1.0, "made_at": AT, "used_at": AT, "relation": 0, "decay_class": 0} | more
    record = (
        number,
        1 if entry else 0,
        int(source) if entry else 0,
        0 if entry else int(source) + 1,
        target + 1,
        weight,
        values["affinity"],
        values["made_at"],
        values["used_at"],
        values["relation"],
        values["decay_class"],
    )
    return record, -1 if entry else int(source), target


def packed(*made: tuple[Any, ...]) -> tuple[NDArray[np.void], NDArray[np.int64], NDArray[np.int64]]:
    return (
        np.array([record for record, _, _ in made], CONDUIT),
        np.array([source for _, source, _ in made], np.int64),
        np.array([target for _, _, target in made], np.int64),
    )


def graph_of(*made: tuple[Any, ...], rows: int = 50) -> ConduitGraph:
    return ConduitGraph.build(*packed(*made), rows=rows)


def listed(graph: ConduitGraph) -> dict[int, tuple[Any, ...]]:
    """Every conduit by its number: ends, weight, affinity, times, kind. An entry is the text of its key."""
    flat = graph.flat()
    return {
        number: (str(key) if source < 0 else source, target, round(weight, 6), affinity, made, used, relation, kind)
        for number, key, source, target, weight, affinity, made, used, relation, kind in zip(
            *(column.tolist() for column in flat), strict=True
        )
    }


def ends(graph: ConduitGraph, nodes: list[int], limit: int = 10**6) -> tuple[list[set[int]], list[set[int]]]:
    """Numbers of the conduits that `out` and `into` show for each node."""
    wanted = np.array(nodes, np.int64)
    found: tuple[list[set[int]], list[set[int]]] = ([set() for _ in nodes], [set() for _ in nodes])
    for links, sets in zip((graph.out(wanted, limit), graph.into(wanted, limit)), found, strict=True):
        for which, number in zip(links.which.tolist(), graph.ids[links.position].tolist(), strict=True):
            sets[which].add(number)
    return found


def model(records: NDArray[np.void], from_row: NDArray[Any], to_row: NDArray[Any]) -> dict[int, tuple[Any, ...]]:
    held = {}
    for record, source, target in zip(records.tolist(), from_row.tolist(), to_row.tolist(), strict=True):
        number, entry, key, _, _, weight, affinity, made, used, relation, kind = record
        begin = str(key) if entry else source
        held[number] = (
            begin,
            target,
            round(weight, 6),
            affinity if entry else 1.0,
            made // HOUR * HOUR,
            used,
            relation,
            kind,
        )
    return held


def test_every_conduit_keeps_all_its_values() -> None:
    given = synthetic(400, 5, seed=1)
    assert listed(ConduitGraph.build(*given, rows=400)) == model(*given)


def test_out_and_into_show_the_conduits_of_each_node() -> None:
    given = synthetic(300, 6, seed=2)
    graph, held = ConduitGraph.build(*given, rows=300), model(*given)
    out, into = ends(graph, list(range(300)))
    for row in range(300):
        assert out[row] == {number for number, link in held.items() if link[0] == row}
        assert into[row] == {number for number, link in held.items() if link[1] == row}
    keys = sorted({link[0] for link in held.values() if isinstance(link[0], str)})
    nodes = graph.entry_node(np.array([int(key) for key in keys], np.uint64))
    for key, numbers in zip(keys, ends(graph, nodes.tolist())[0], strict=True):
        assert numbers == {number for number, link in held.items() if link[0] == key}
    assert [str(graph.entry_key(node)) for node in nodes.tolist()] == keys


def test_each_conduit_knows_where_it_begins() -> None:
    given = synthetic(300, 6, seed=3, entries=0.5)
    graph = ConduitGraph.build(*given, rows=300)
    into = graph.into(np.arange(300), 10**6)
    source = graph.source(into.position)
    held = model(*given)
    for number, node in zip(graph.ids[into.position].tolist(), source.tolist(), strict=True):
        assert held[number][0] == (node if node >= 0 else str(graph.entry_key(node)))


def test_the_strongest_come_first_then_the_last_used_then_the_lower_row() -> None:
    graph = graph_of(
        conduit(1, 0, 9, 0.4),
        conduit(2, 0, 8, 0.6, used_at=AT - 9),
        conduit(3, 0, 7, 0.6, used_at=AT),
        conduit(4, 0, 6, 0.9),
        conduit(5, 0, 5, 0.4),
    )
    links = graph.out(np.array([0]), 4)
    assert graph.target[links.position].tolist() == [6, 7, 8, 5]


def test_a_hub_shows_only_its_strongest_in_either_direction() -> None:
    given = [conduit(number, 0, number, number / 100) for number in range(1, 49)] + [
        conduit(100 + number, number, 0, number / 100) for number in range(1, 40)
    ]
    graph = graph_of(*given)
    out, into = ends(graph, [0], HUB)
    assert out[0] == set(range(49 - HUB, 49))
    assert into[0] == set(range(140 - HUB, 140))
    assert graph.degree(np.array([0, 1, 49])).tolist() == [48 + 39, 2, 0]


def test_around_is_out_and_into_at_once() -> None:
    given = synthetic(200, 5, seed=4)
    graph = ConduitGraph.build(*(column[:800] for column in given), rows=200)
    graph.put(*(column[800:] for column in given))
    nodes = np.array([3, ~0, 77, 199], np.int64)
    out, into, both = graph.out(nodes), graph.into(nodes), graph.around(nodes)
    assert both.position.tolist() == [*out.position.tolist(), *into.position.tolist()]
    assert both.which.tolist() == [*out.which.tolist(), *into.which.tolist()]
    assert both.out == len(out.which)
    assert both.degree.tolist() == graph.merged().degree(nodes).tolist()
    assert both.cut
    assert not graph.around(nodes, 100).cut


def test_an_unknown_entry_has_no_node() -> None:
    graph = graph_of(conduit(1, "77", 3))
    assert graph.entry_node(np.array([77, 5, 2**64 - 1], np.uint64)).tolist() == [~0, NOWHERE, NOWHERE]
    assert len(graph.out(np.array([NOWHERE, 49, 10**6])).which) == 0


def test_conduits_added_later_read_as_if_they_were_built() -> None:
    given = synthetic(200, 6, seed=5)
    early = np.arange(len(given[0])) % 3 > 0
    late = np.flatnonzero(~early)
    whole = ConduitGraph.build(*given, rows=200)
    graph = ConduitGraph.build(*(column[early] for column in given), rows=120 + 80)
    for part in np.array_split(late, 7):
        assert graph.put(*(column[part] for column in given)) == len(part)
    assert graph.since == len(late)
    assert listed(graph) == listed(whole)
    assert ends(graph, list(range(200))) == ends(whole, list(range(200)))
    assert ends(graph, list(range(200)), 4)[0] == ends(whole, list(range(200)), 4)[0]
    assert graph.degree(np.arange(200)).tolist() == whole.degree(np.arange(200)).tolist()
    merged = graph.merged().arrays()
    for name, array in whole.arrays().items():
        np.testing.assert_array_equal(merged[name], array, err_msg=name)


def test_a_graph_that_began_empty_takes_grains_entries_and_growth() -> None:
    given = synthetic(100, 30, seed=6)
    graph = ConduitGraph.empty()
    graph.put(*given)
    assert graph.size == 3_000
    assert listed(graph) == model(*given)
    assert listed(graph.merged()) == model(*given)
    assert graph.merged().since == 0


def test_putting_the_same_again_changes_nothing() -> None:
    given = synthetic(100, 5, seed=7)
    graph = ConduitGraph.build(*(column[:300] for column in given), rows=100)
    graph.put(*given)
    before, size = listed(graph), graph.size
    graph.put(*given)
    assert listed(graph) == before
    assert graph.size == size


def test_a_changed_conduit_is_changed_in_place() -> None:
    graph = graph_of(conduit(1, 0, 1, 0.5), conduit(2, "77", 1, 0.5))
    graph.put(*packed(conduit(3, 4, 5)))
    graph.put(
        *packed(
            conduit(1, 0, 1, 0.25, used_at=AT + 5, decay_class=1),
            conduit(2, "77", 1, 0.75, affinity=1.5),
            conduit(3, 4, 5, 0.125, relation=NEXT),
        )
    )
    assert graph.size == 3
    made = AT // HOUR * HOUR
    assert listed(graph) == {
        1: (0, 1, 0.25, 1.0, made, AT + 5, 0, 1),
        2: ("77", 1, 0.75, 1.5, made, AT, 0, 0),
        3: (4, 5, 0.125, 1.0, made, AT, NEXT, 0),
    }


def test_a_conduit_that_a_hub_hid_shows_when_it_grows() -> None:
    graph = graph_of(*(conduit(number, 0, number, 0.5 + number / 100) for number in range(1, 41)))
    assert 1 not in ends(graph, [0], HUB)[0][0]
    graph.put(*packed(conduit(1, 0, 1, 0.99)))
    assert 1 in ends(graph, [0], HUB)[0][0]
    assert len(ends(graph, [0], HUB)[0][0]) == HUB
    assert [number for number in listed(graph) if number == 1] == [1]
    graph.cut(np.array([1]))
    assert 1 not in listed(graph)


def test_a_conduit_hidden_among_those_that_lead_to_a_grain_shows_when_it_grows() -> None:
    graph = graph_of(*(conduit(number, number, 0, 0.5 + number / 100) for number in range(1, 41)))
    graph.put(*packed(conduit(1, 1, 0, 0.99)))
    assert 1 in ends(graph, [0], HUB)[1][0]
    assert ends(graph, [1])[0][0] == {1}


def test_a_cut_conduit_is_gone_and_may_come_back() -> None:
    given = synthetic(60, 5, seed=8)
    graph = ConduitGraph.build(*(column[:200] for column in given), rows=60)
    graph.put(*(column[200:] for column in given))
    gone = np.array([3, 150, 201, 280, 999_999])
    graph.cut(gone)
    graph.cut(gone)
    kept = {number: link for number, link in model(*given).items() if number not in gone.tolist()}
    assert listed(graph) == kept
    assert ends(graph, list(range(60))) == ends(graph.merged(), list(range(60)))
    graph.put(*given)
    assert listed(graph) == model(*given)


def read(graph: ConduitGraph, nodes: NDArray[np.int64], limit: int) -> list[Any]:
    """What readers see, conduits by their numbers: order, degrees and whether something was left out."""
    around = graph.around(nodes, limit)
    found: list[Any] = [around.degree.tolist(), graph.degree(nodes).tolist(), around.out, around.cut]
    for links in (graph.out(nodes, limit), graph.into(nodes, limit), around):
        found.append([links.which.tolist(), graph.ids[links.position].tolist()])
    return found


@pytest.mark.parametrize("seed", range(4))
def test_a_graph_that_followed_every_change_is_read_as_one_built_from_the_outcome(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Weights that rise, fall and come back, equal weights, cut conduits, hubs wider than a reader sees."""
    monkeypatch.setattr("memory.engine.graph.sorted_conduits._FEW", (0, 16)[seed % 2])  # one by one, and all at once
    rng = np.random.default_rng(seed)
    keys = ["77", "12", "9000", "5"]
    ends_of: dict[int, tuple[int | str, int]] = {}
    for number in range(1, 401):
        source = keys[int(rng.integers(4))] if number % 3 == 0 else int(rng.integers(12))
        ends_of[number] = source, int(rng.integers(12))
    held: dict[int, tuple[Any, ...]] = {}

    def some(count: int, numbers: range) -> list[tuple[Any, ...]]:
        """Few different weights and times, so that many are equal in both."""
        made = {
            int(number): conduit(
                int(number), *ends_of[int(number)], float(rng.integers(1, 4)) / 4, used_at=AT + int(rng.integers(3))
            )
            for number in rng.choice(numbers, count, replace=False)
        }
        held.update(made)
        return list(made.values())

    graph = graph_of(*some(120, range(1, 301)), rows=12)
    for turn in range(30):
        graph.put(*packed(*some(20, range(1, 401))))
        gone = rng.choice(range(1, 401), 12, replace=False)
        graph.cut(gone)
        for number in gone.tolist():
            held.pop(number, None)
        built = graph_of(*held.values(), rows=12)
        if turn == 15:
            graph = ConduitGraph.from_arrays(graph.arrays())
        for limit in (1, 7, 32):
            entries = np.array([int(key) for key in keys], np.uint64)
            nodes = [np.concatenate((np.arange(12), one.entry_node(entries))) for one in (graph, built)]
            assert read(graph, nodes[0], limit) == read(built, nodes[1], limit)
            # More than a handful at once are read in another way.
            assert read(graph, np.tile(nodes[0], 2), limit) == read(built, np.tile(nodes[1], 2), limit)


def test_a_graph_with_only_cuts_since_is_written_without_them() -> None:
    graph = graph_of(conduit(1, 0, 1), conduit(2, 0, 2), conduit(3, 3, 2))
    graph.cut(np.array([2]))
    again = ConduitGraph.from_arrays(graph.arrays())
    assert again.degree(np.array([0, 1, 2])).tolist() == [1, 1, 1]


def test_a_conduit_without_both_ends_is_left_out_and_not_counted() -> None:
    records, from_row, to_row = packed(conduit(1, 0, 1), conduit(2, 3, 4), conduit(3, "77", 4))
    from_row[0], to_row[2] = -1, -1
    graph = ConduitGraph.empty()
    assert graph.put(records, from_row, to_row) == 1
    assert list(listed(graph)) == list(listed(ConduitGraph.build(records, from_row, to_row, rows=5))) == [2]


def test_a_weight_that_is_no_number_carries_nothing() -> None:
    graph = graph_of(conduit(1, 0, 1, float("nan")), conduit(2, 0, 1, -1.0))
    graph.put(*packed(conduit(3, 0, 2, float("inf")), conduit(4, 0, 2, 0.0)))
    assert listed(graph) == {}


def test_numbers_beyond_four_bytes_keep_their_value() -> None:
    wide = 2**40
    graph = graph_of(conduit(5, 0, 1))
    graph.put(*packed(conduit(wide, 1, 2), conduit(wide + 1, 2, 3)))
    assert set(listed(graph)) == {5, wide, wide + 1}
    assert set(listed(graph.merged())) == {5, wide, wide + 1}


def test_few_nodes_are_read_like_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Grains, entries, what nobody links to, and a row that came after the build."""
    graph = graph_of(
        *(conduit(number, number % 7, 3 * number % 40, 0.1 + number / 100) for number in range(1, 60)),
        conduit(99, "12345", 4),
    )
    nodes = np.array([0, 3, 41, ~0, 50, 51, ~1], np.int64)
    few = graph.around(nodes, 5)
    monkeypatch.setattr("memory.engine.graph.conduit_graph._FEW", 0)
    many = graph.around(nodes, 5)
    assert [np.asarray(part).tolist() for part in few] == [np.asarray(part).tolist() for part in many]
    assert few.cut and few.out and len(few.which) > few.out


def test_times_far_away_do_not_wrap_around() -> None:
    graph = graph_of(conduit(1, 0, 1), conduit(2, 0, 2, made_at=0, used_at=-5))
    graph.put(*packed(conduit(3, 0, 3, made_at=AT + 10**9, used_at=10**11)))
    position = np.array([0, 1, 2])
    made = dict(zip(graph.ids[position].tolist(), graph.made(position).tolist(), strict=True))
    used = dict(zip(graph.ids[position].tolist(), graph.used[position].tolist(), strict=True))
    assert made[1] == AT // HOUR * HOUR
    assert made[2] < AT - 3 * 365 * 86_400  # long ago is all the same
    assert made[3] > AT + 3 * 365 * 86_400
    assert (used[2], used[3]) == (0, 2**32 - 1)


def test_pairs_of_a_relation_follow_what_is_put_and_cut() -> None:
    graph = graph_of(conduit(1, 5, 2, relation=SUPERSEDES), conduit(2, 5, 3), conduit(3, 6, 1, relation=SUPERSEDES))
    old, new, position = graph.pairs(SUPERSEDES)
    assert (old.tolist(), new.tolist(), graph.ids[position].tolist()) == ([1, 2], [6, 5], [3, 1])
    graph.put(*packed(conduit(4, 7, 2, relation=SUPERSEDES), conduit(5, 1, 2, relation=CONTRADICTS)))
    assert [column.tolist() for column in graph.pairs(SUPERSEDES)[:2]] == [[1, 2, 2], [6, 5, 7]]
    graph.cut(np.array([3]))
    assert [column.tolist() for column in graph.pairs(SUPERSEDES)[:2]] == [[2, 2], [5, 7]]
    assert [column.tolist() for column in graph.pairs(CONTRADICTS)[:2]] == [[2], [1]]


def test_arrays_bring_back_the_same_graph() -> None:
    given = synthetic(200, 5, seed=9)
    graph = ConduitGraph.build(*(column[:700] for column in given), rows=200)
    graph.put(*(column[700:] for column in given))
    again = ConduitGraph.from_arrays({name: array.copy() for name, array in graph.arrays().items()})
    assert listed(again) == model(*given)
    assert again.since == 0
    again.put(*packed(conduit(5_000, 3, 4)))
    assert 5_000 in listed(again)


def test_writing_to_a_copy_of_mapped_arrays_leaves_the_file_alone(tmp_path: Any) -> None:
    graph, arrays = ConduitGraph.build(*synthetic(50, 5, seed=10), rows=50), {}
    for name, array in graph.arrays().items():
        np.save(tmp_path / f"{name}.npy", array)
        arrays[name] = np.load(tmp_path / f"{name}.npy", mmap_mode="c")
    mapped = ConduitGraph.from_arrays(arrays)
    mapped.put(*packed(conduit(1, 0, 1, 0.01), conduit(9_999, 0, 1)))
    mapped.cut(np.array([2]))
    assert np.load(tmp_path / "weight.npy").tolist() == graph.weight.tolist()


def test_a_conduit_takes_about_24_bytes() -> None:
    given = synthetic(20_000, 10, seed=11)
    graph = ConduitGraph.build(*given, rows=20_000, capacity=200_000)
    arrays = graph.arrays()
    spare = 1 - graph.base / len(arrays["target"])
    assert graph.nbytes * (1 - spare) / graph.base < 26


@pytest.mark.parametrize("limit", [1, 3, HUB])
def test_a_concurrent_reader_never_gets_more_than_it_requested(limit: int) -> None:
    given = synthetic(100, 20, seed=12)
    graph = ConduitGraph.build(*(column[:1_000] for column in given), rows=100)
    graph.put(*(column[1_000:] for column in given))
    for links in (graph.out(np.arange(100), limit), graph.into(np.arange(100), limit)):
        assert np.bincount(links.which).max() <= limit
