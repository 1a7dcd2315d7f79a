"""A signal spreads over the conduits by stated rules: the arrays agree with the same rules in plain Python."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from benchmarks.propagation import NOW, Plain, synthetic
from memory.engine.graph.conduit_graph import ConduitGraph
from memory.engine.graph.conduits import CAUSED_BY, CONTRADICTS, NEXT, RELATED, SUPERSEDES, SUPPORTS
from memory.engine.graph.decay import DecaySettings
from memory.engine.graph.propagate import Gains, Propagation, Signals, spread_signal
from memory.engine.graph.signal_spread import Spread
from tests.engine.test_graph import conduit, graph_of, packed

WIDE = Propagation(frontier=4_096, edges=1_000_000, threshold=0.05)
A, B, C, D, E = range(5)


def link(number: int, source: int | str, target: int, weight: float = 0.5, **more: Any) -> tuple[Any, ...]:
    """A conduit that was made and used this second, so that its effective weight is its weight."""
    return conduit(number, source, target, weight, **{"made_at": NOW, "used_at": NOW} | more)


def seeds(*pairs: tuple[int, float]) -> Signals:
    return Signals(np.array([row for row, _ in pairs], np.int64), np.array([signal for _, signal in pairs]))


def entries(*pairs: tuple[int, float]) -> Signals:
    return Signals(np.array([key for key, _ in pairs], np.uint64), np.array([signal for _, signal in pairs]))


def activation(found: Spread) -> dict[int, float]:
    return dict(zip(found.rows.tolist(), found.activation.tolist(), strict=True))


def run(graph: ConduitGraph, *pairs: tuple[int, float], **more: Any) -> dict[int, float]:
    return activation(spread_signal(graph, seeds=seeds(*pairs), now=NOW, **more))


def a_query(seed: int, rows: int) -> tuple[dict[int | str, float], Signals, Signals]:
    random = np.random.default_rng(seed)
    chosen, signal = random.choice(rows, 5, replace=False), random.uniform(0.3, 1, 5)
    keys = np.array([2 * 7919, 9 * 7919], np.uint64)
    both: dict[int | str, float] = dict(zip(chosen.tolist(), signal.tolist(), strict=True))
    return both | {str(keys[0]): 0.9, str(keys[1]): 0.4}, Signals(chosen, signal), Signals(keys, np.array([0.9, 0.4]))


@pytest.mark.parametrize("seed", range(12))
def test_the_arrays_agree_with_plain_python(seed: int) -> None:
    given = synthetic(300, 4, seed)
    graph, plain = ConduitGraph.build(*given, rows=300), Plain(*given)
    both, at_rows, at_entries = a_query(seed, 300)
    found = activation(spread_signal(graph, seeds=at_rows, entries=at_entries, now=NOW, settings=WIDE))
    expected = {row: signal for row, signal in plain.spread(both, NOW, WIDE, DecaySettings()).items() if signal > 1e-6}
    assert len(expected) > 50
    assert found == pytest.approx(expected, rel=1e-4, abs=2e-6)


def test_a_graph_with_late_conduits_answers_like_a_merged_one() -> None:
    given = synthetic(300, 5, 40)
    graph = ConduitGraph.build(*(column[:900] for column in given), rows=200)
    for part in np.array_split(np.arange(900, 1_500), 4):
        graph.put(*(column[part] for column in given))
    _, at_rows, at_entries = a_query(3, 300)
    one, other = (spread_signal(held, seeds=at_rows, entries=at_entries, now=NOW) for held in (graph, graph.merged()))
    assert activation(one) == activation(other)
    assert [one.path(row) for row in one.rows[:20]] == [other.path(row) for row in other.rows[:20]]


def test_row_numbers_conduit_ids_and_order_do_not_change_the_result() -> None:
    records, from_row, to_row = synthetic(200, 5, 41)
    random = np.random.default_rng(42)
    renamed, shuffled = random.permutation(200), random.permutation(len(records))
    other = records[shuffled].copy()
    other["id"] = random.permutation(len(records)) + 1
    names = np.append(renamed, -1)  # an entry stays one
    one, two = (
        ConduitGraph.build(records, from_row, to_row, rows=200),
        ConduitGraph.build(other, names[from_row[shuffled]], renamed[to_row[shuffled]], rows=200),
    )
    _, at_rows, at_entries = a_query(5, 200)
    first = spread_signal(one, seeds=at_rows, entries=at_entries, now=NOW, settings=WIDE)
    backwards = Signals(renamed[at_rows.at][::-1], at_rows.signal[::-1])
    second = spread_signal(two, seeds=backwards, entries=at_entries, now=NOW, settings=WIDE)
    assert {int(renamed[row]): signal for row, signal in activation(first).items()} == activation(second)
    # That holds to the last bit, because only whole numbers were added.
    assert all((level.signal % 1 == 0).all() for level in first.levels)


def test_seeds_twice_as_strong_give_twice_the_activation() -> None:
    graph = ConduitGraph.build(*synthetic(200, 5, 43), rows=200)
    _, at_rows, _ = a_query(6, 200)
    once = activation(spread_signal(graph, seeds=at_rows, now=NOW))
    for factor in (2.0, 1e-6, 1e6):
        scaled = spread_signal(graph, seeds=Signals(at_rows.at, at_rows.signal * factor), now=NOW)
        assert activation(scaled) == pytest.approx({row: signal * factor for row, signal in once.items()}, rel=1e-5)


def test_a_signal_is_weighed_and_attenuated_at_each_hop() -> None:
    graph = graph_of(link(1, A, B, 0.8), link(2, B, C, 0.5))
    found = run(graph, (A, 1.0))
    assert found == pytest.approx({A: 1.0, B: 0.68, C: 0.68 * 0.425}, rel=1e-5)


def test_time_lowers_what_a_conduit_passes() -> None:
    graph = graph_of(link(1, A, B, 0.8, made_at=NOW - 400 * 3600, used_at=NOW - 168 * 3600))
    assert run(graph, (A, 1.0))[B] == pytest.approx(0.4 * 0.85, rel=1e-4)


def test_signals_add_over_paths() -> None:
    graph = graph_of(link(1, A, C, 0.6), link(2, B, C, 0.6))
    assert run(graph, (A, 1.0), (B, 0.5))[C] == pytest.approx(0.6 * 0.85 * 1.5, rel=1e-5)


def test_what_came_from_a_node_does_not_go_back_to_it() -> None:
    graph = graph_of(link(1, A, B, 0.9), link(2, B, A, 0.9))
    assert run(graph, (A, 1.0))[A] == 1.0


def test_linked_seeds_strengthen_each_other() -> None:
    found = run(graph_of(link(1, A, B, 0.6)), (A, 1.0), (B, 0.8))
    assert found == pytest.approx({A: 1 + 0.8 * 0.51, B: 0.8 + 0.51}, rel=1e-5)


def test_a_common_neighbour_carries_support_from_seed_to_seed() -> None:
    found = run(graph_of(link(1, A, C, 0.8), link(2, B, C, 0.8)), (A, 1.0), (B, 1.0))
    assert found[A] == found[B] == pytest.approx(1 + 0.68 * 0.68, rel=1e-5)


@pytest.mark.parametrize(
    ("relation", "along", "against"),
    [
        (RELATED, 1.0, 1.0),
        (SUPPORTS, 1.0, 1.0),
        (NEXT, 0.8, 0.5),
        (CAUSED_BY, 0.9, 0.7),
        (CONTRADICTS, 0.0, 0.0),
        (SUPERSEDES, 0.0, 0.0),
    ],
)
def test_each_relation_has_its_gain_in_each_direction(relation: int, along: float, against: float) -> None:
    graph = graph_of(link(1, A, B, 0.6, relation=relation))
    assert run(graph, (A, 1.0)).get(B, 0.0) == pytest.approx(0.51 * along, rel=1e-5)
    if relation != SUPERSEDES:
        assert run(graph, (B, 1.0)).get(A, 0.0) == pytest.approx(0.51 * against, rel=1e-5)


def test_an_entry_passes_its_signal_by_affinity() -> None:
    graph = graph_of(link(1, "77", A, 0.5, affinity=2.0), link(2, "77", B, 0.5, affinity=0.5))
    found = spread_signal(graph, entries=entries((77, 1.0), (5, 9.0)), now=NOW)
    assert activation(found) == pytest.approx({A: 0.85, B: 0.2125}, rel=1e-5)
    assert dict(zip(found.rows.tolist(), found.hop.tolist(), strict=True)) == {A: 1, B: 1}


def test_grains_with_a_common_name_reach_each_other_through_it() -> None:
    graph = graph_of(link(1, "77", A, 0.9), link(2, "77", B, 0.8))
    assert run(graph, (A, 1.0))[B] == pytest.approx(0.9 * 0.85 * 0.5 * 0.8 * 0.85, rel=1e-5)
    none = replace(Propagation(), gains=Gains(to_entry=0.0))
    assert B not in run(graph, (A, 1.0), settings=none)


def test_a_faint_node_receives_but_does_not_fire() -> None:
    graph = graph_of(link(1, A, B, 0.17), link(2, B, C, 0.9), link(3, A, D, 0.18), link(4, D, E, 0.9))
    found = run(graph, (A, 1.0))
    assert found[B] == pytest.approx(0.1445, rel=1e-5)
    assert C not in found
    assert E in found


def test_the_threshold_is_a_share_of_the_strongest_signal() -> None:
    graph = graph_of(link(1, A, B, 0.9))
    assert B in run(graph, (A, 1.0), (C, 6.0))
    assert B not in run(graph, (A, 1.0), (C, 7.0))


def test_a_signal_ends_after_the_maximum_number_of_hops() -> None:
    graph = graph_of(*(link(number + 1, number, number + 1, 1.0) for number in range(9)))
    for hops in (0, 1, 5):
        found = spread_signal(graph, seeds=seeds((A, 1.0)), now=NOW, settings=Propagation(hops=hops, threshold=0.01))
        assert sorted(found.rows.tolist()) == list(range(hops + 1))
        assert found.hops == hops
        assert sorted(zip(found.rows.tolist(), found.hop.tolist(), strict=True)) == [
            (row, row) for row in range(hops + 1)
        ]


def test_the_hop_of_a_row_is_that_of_its_first_arrival() -> None:
    graph = graph_of(link(1, A, B, 0.4), link(2, A, C, 0.9), link(3, C, B, 0.9))
    found = spread_signal(graph, seeds=seeds((A, 1.0)), now=NOW)
    assert found.hops == 2
    assert dict(zip(found.rows.tolist(), found.hop.tolist(), strict=True)) == {A: 0, B: 1, C: 1}


def test_a_hub_passes_only_its_strongest_and_each_gets_less() -> None:
    spokes = [link(number, 0, number, 0.5 + number / 1000) for number in range(1, 65)]
    found = spread_signal(graph_of(*spokes, rows=70), seeds=seeds((0, 1.0)), now=NOW)
    assert sorted(found.rows.tolist()) == [0, *range(33, 65)]
    assert activation(found)[64] == pytest.approx(0.564 * 0.85 * (16 / 64) ** 0.5, rel=1e-5)
    assert found.caps == {"hub"}
    assert found.edges == 32 + 32  # each spoke looks back along its one


def test_only_the_strongest_of_a_wide_front_fire() -> None:
    graph = graph_of(*(link(number, number, number + 10, 0.9) for number in range(1, 6)))
    given = seeds((1, 0.5), (2, 1.0), (3, 0.9), (4, 0.9), (5, 0.9))
    found = spread_signal(graph, seeds=given, now=NOW, settings=Propagation(frontier=2))
    assert {row for row in found.rows.tolist() if row > 10} == {12, 13}
    assert found.caps == {"frontier"}


def test_the_limit_of_conduits_read_is_kept_and_reported() -> None:
    graph = ConduitGraph.build(*synthetic(2_000, 10, 44), rows=2_000)
    random = np.random.default_rng(45)
    given = Signals(random.choice(2_000, 40, replace=False), random.uniform(0.5, 1, 40))
    found = spread_signal(graph, seeds=given, now=NOW, settings=Propagation(edges=300))
    assert "edges" in found.caps
    assert 200 < found.edges <= 300
    strongest = int(given.at[np.argmax(given.signal)])
    targets = graph.target[graph.out(np.array([strongest])).position].tolist()
    assert set(targets) <= set(found.rows.tolist())


def test_a_grain_that_is_not_active_neither_receives_nor_passes_on() -> None:
    graph = graph_of(link(1, A, B, 0.9), link(2, B, C, 0.9), link(3, D, E, 0.9))
    active = np.array([True, False, True, False, True])
    assert run(graph, (A, 1.0), (D, 1.0), active=active) == {A: 1.0}
    assert run(graph, (A, 1.0), active=np.ones(1, np.bool_)) == {A: 1.0}


def test_a_superseded_grain_keeps_a_quarter_and_the_newer_one_gets_the_rest() -> None:
    graph = graph_of(link(1, A, B, 0.8), link(2, C, B, relation=SUPERSEDES), link(3, C, D, 0.5))
    found = spread_signal(graph, seeds=seeds((A, 1.0)), now=NOW)
    assert activation(found) == pytest.approx({A: 1.0, B: 0.17, C: 0.51, D: 0.51 * 0.425}, rel=1e-5)
    assert [(step.conduit, step.source, step.target, step.hop) for step in found.path(D)] == [
        (1, A, B, 1),
        (2, B, C, 1),
        (3, C, D, 2),
    ]
    assert run(graph, (B, 1.0))[C] == pytest.approx(0.75, rel=1e-5)


def test_a_grain_superseded_by_one_that_is_not_active_keeps_all() -> None:
    graph = graph_of(link(1, C, B, relation=SUPERSEDES))
    active = np.array([True, True, False])
    assert run(graph, (B, 1.0), active=active) == {B: 1.0}


def test_a_chain_of_versions_passes_its_signal_to_the_newest() -> None:
    graph = graph_of(link(1, B, A, relation=SUPERSEDES), link(2, C, B, relation=SUPERSEDES))
    found = run(graph, (A, 1.0), (B, 1.0))
    assert found == pytest.approx({A: 0.25, B: 0.25 * 1.75, C: 0.75 * 1.75}, rel=1e-5)


def test_several_superseding_grains_share_the_signal() -> None:
    graph = graph_of(link(1, B, A, relation=SUPERSEDES), link(2, C, A, relation=SUPERSEDES))
    assert run(graph, (A, 1.0)) == pytest.approx({A: 0.25, B: 0.375, C: 0.375}, rel=1e-5)


def test_a_superseding_grain_gets_its_own_signal_not_back() -> None:
    graph = graph_of(link(1, B, A, relation=SUPERSEDES), link(2, B, A, 0.9))
    assert run(graph, (B, 1.0)) == {B: 1.0}


def test_grains_that_supersede_each_other_do_not_loop() -> None:
    graph = graph_of(link(1, B, A, relation=SUPERSEDES), link(2, A, B, relation=SUPERSEDES), link(3, A, C))
    found = spread_signal(graph, seeds=seeds((A, 1.0), (B, 1.0)), now=NOW)
    assert activation(found)[A] == activation(found)[B] == pytest.approx(1.0, abs=1e-6)
    assert len(found.path(C)) < 10


def test_of_two_that_contradict_each_other_the_weaker_authority_loses_half() -> None:
    for ends in ((A, B), (B, A)):
        graph = graph_of(link(1, *ends, relation=CONTRADICTS))
        for authority, expected in (((1, 3), (1.0, 0.4)), ((3, 1), (0.5, 0.8)), ((2, 2), (1.0, 0.8))):
            found = run(graph, (A, 1.0), (B, 0.8), authority=np.array(authority, np.uint8))
            assert found == pytest.approx(dict(zip((A, B), expected, strict=True)), rel=1e-5)
        gone = np.array([False, True])
        assert run(graph, (B, 0.8), authority=np.array([1, 3]), active=gone) == pytest.approx({B: 0.8})


def test_received_is_the_signal_that_came_over_conduits() -> None:
    found = spread_signal(graph_of(link(1, A, B, 0.6)), seeds=seeds((A, 1.0), (B, 0.8)), now=NOW)
    received = dict(zip(found.rows.tolist(), found.received.tolist(), strict=True))
    assert received == pytest.approx({A: 0.8 * 0.51, B: 0.51}, rel=1e-5)


def test_a_path_begins_at_a_seed() -> None:
    graph = graph_of(link(1, "77", A, 0.9), link(2, A, B, 0.8), link(3, C, B, 0.2), link(4, D, B, 0.9))
    found = spread_signal(graph, entries=entries((77, 1.0)), seeds=seeds((C, 0.5)), now=NOW)
    path = found.path(B)
    assert [(step.conduit, step.source, step.target, step.hop) for step in path] == [(1, ~0, A, 1), (2, A, B, 2)]
    assert graph.entry_key(path[0].source) == 77
    assert [step.effective for step in path] == pytest.approx([0.9, 0.8])
    assert [step.signal for step in path] == pytest.approx([0.765, 0.765 * 0.68], rel=1e-5)
    assert found.path(49) == []
    assert [step.conduit for step in found.path(D)] == [1, 2, 4]


def test_a_seed_that_no_conduit_leads_to_has_no_path() -> None:
    found = spread_signal(graph_of(link(1, A, B)), seeds=seeds((A, 1.0), (C, 1.0)), now=NOW)
    assert found.path(A) == found.path(C) == []


def test_a_path_does_not_turn_back_on_itself() -> None:
    graph = graph_of(link(1, A, C, 0.9), link(2, B, C, 0.4))
    found = spread_signal(graph, seeds=seeds((A, 1.0), (B, 1.0)), now=NOW)
    assert [step.conduit for step in found.path(A)] == [2, 1]
    assert [step.conduit for step in found.path(B)] == [1, 2]


def test_rows_come_strongest_first_and_ties_by_row() -> None:
    graph = graph_of(*(link(number, 0, number, 0.5) for number in (9, 4, 7)), link(20, 0, 3, 0.6))
    found = spread_signal(graph, seeds=seeds((0, 1.0)), now=NOW)
    assert found.rows.tolist() == [0, 3, 4, 7, 9]


@pytest.mark.parametrize("signal", [0.0, -1.0, float("nan"), float("inf"), 1e-300])
def test_a_seed_without_a_valid_signal_is_ignored(signal: float) -> None:
    found = spread_signal(graph_of(link(1, A, B)), seeds=seeds((A, signal)), now=NOW)
    assert (found.rows.tolist(), found.activation.tolist(), found.hop.tolist()) == ([], [], [])
    assert (found.edges, found.hops, found.path(A)) == (0, 0, [])


def test_an_empty_graph_returns_the_seeds() -> None:
    assert run(ConduitGraph.empty(), (7, 1.0), (3, 0.5)) == {7: 1.0, 3: 0.5}


def test_a_grain_newer_than_the_graph_is_reached_by_its_late_conduits() -> None:
    graph = graph_of(link(1, A, B, 0.9), rows=2)
    graph.put(*packed(link(2, B, 900, 0.9), link(3, "55", 900, 0.9)))
    found: NDArray[np.int64] = spread_signal(graph, entries=entries((55, 1.0)), now=NOW).rows
    assert found.tolist() == [900, B, A]
