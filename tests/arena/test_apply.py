"""Applying changes: an arena that was told row by row is the arena that is built from nothing."""

from __future__ import annotations

import itertools
import random

import pytest

from memory.arena import arena as module
from memory.arena import grain_rows, queries
from memory.arena.build import build_arena
from memory.arena.changes import Changes
from memory.arena.grain_rows import GrainRecord
from memory.engine.index.space_index import ACTIVE, GONE, NO_ROW
from memory.engine.text import words
from memory.grains.models import Conduit
from tests.arena.canonical import canonical_values
from tests.arena.graph_writer import ENCODER, packed_conduits, unit_vector

pytestmark = pytest.mark.storage


def tell(arena, *grains, conduits=(), cut=()):
    """What a replay does: read the grains that changed and apply."""
    numbers = [grain if isinstance(grain, int) else grain.pk for grain in grains]
    found = queries.read_grains_by_number(arena.space, arena.encoder, numbers)
    arena.apply([GrainRecord(*row) for row in found], Changes(tuple(numbers), packed_conduits(conduits), tuple(cut)))


def new_conduits(grain):
    return Conduit.objects.select_related("from_entry").filter(to_grain=grain).order_by("pk")


def empty(space: int) -> module.Arena:
    """An arena of a space that has not heard of anything yet."""
    nothing = build_arena(10**9, ENCODER)
    return module.Arena(space, nothing.index, nothing.position, ENCODER)


def test_new_grains_read_as_if_they_were_built(writer):
    old = writer.store("The old one", session="s", speaker="Ann", tags=["x"], entries=["paris"])
    arena = build_arena(writer.space, ENCODER)
    new = writer.store("A new one, a newer cat", session="s", speaker="Bob", tags=["x"], entries=["paris", "rome"])
    links = list(new_conduits(new))
    tell(arena, new, conduits=links)
    assert arena.index.size == 2 and arena.late == 1
    assert canonical_values(arena) == canonical_values(build_arena(writer.space, ENCODER))
    assert arena.row_of([new.pk, old.pk, 999_999]).tolist() == [1, 0, NO_ROW]


def test_an_arena_can_begin_with_nothing(writer):
    arena = build_arena(writer.space, ENCODER)
    grain = writer.store("First of all", entries=["paris"])
    tell(arena, grain, conduits=new_conduits(grain))
    assert canonical_values(arena) == canonical_values(build_arena(writer.space, ENCODER))
    assert arena.index.dense.search(unit_vector("First of all"), k=1)[0].tolist() == [0]


def test_a_changed_grain_changes_its_row(writer):
    grain = writer.store("A fact", vector=False)
    arena = build_arena(writer.space, ENCODER)
    writer.change(grain, status="quarantined", pinned=True, confidence=0.5, authority=0, decay_class=1)
    writer.vector(grain)
    tell(arena, grain)
    assert arena.index.size == 1
    assert canonical_values(arena) == canonical_values(build_arena(writer.space, ENCODER))
    assert arena.index.columns["status"][0] == 3


def test_a_grain_that_changes_its_session_leaves_its_neighbours_and_gets_others(writer):
    made = [writer.store(text, session="old", ordinal=place) for place, text in enumerate("abc", 1)]
    writer.store("d", session="new", ordinal=1)
    arena = build_arena(writer.space, ENCODER)
    for moved in (made[1], made[0], made[2]):
        writer.change(moved, session="new")
        tell(arena, moved)
        assert canonical_values(arena) == canonical_values(build_arena(writer.space, ENCODER))


def test_applying_a_change_twice_changes_nothing(writer):
    first = writer.store("one cat", session="s", entries=["paris"])
    arena = build_arena(writer.space, ENCODER)
    second = writer.store("two cats", session="s", entries=["rome"])
    link = writer.link(first, second)
    once = None
    for _ in range(3):
        tell(arena, first, second, conduits=[*new_conduits(second)])
        tell(arena, cut=[link.pk + 1000])
        once = once or canonical_values(arena)
        assert canonical_values(arena) == once
    assert arena.index.postings.of(words.key(words.terms("cats")[0]))[0].tolist() == [0, 1]


def test_a_deleted_grain_is_gone_and_returns_if_it_is_restored(writer):
    made = [writer.store(text, session="s") for text in "abc"]
    arena = build_arena(writer.space, ENCODER)
    middle = made[1].pk
    writer.purge(made[1])
    tell(arena, middle)
    assert arena.index.size == 3 and arena.index.columns["status"][1] == GONE
    assert canonical_values(arena) == canonical_values(build_arena(writer.space, ENCODER)), (
        "its neighbours are each other's now"
    )
    again = GrainRecord(middle, "b", session="s", ordinal=made[1].ordinal)
    arena.apply([again], Changes((middle,)))
    assert arena.index.columns["status"][1] == ACTIVE
    assert arena.index.columns["next"][:3].tolist() == [1, 2, NO_ROW]


def test_the_order_in_which_a_session_arrives_does_not_matter(writer):
    made = [writer.store(text, session="s", ordinal=place) for place, text in enumerate("abcd", 1)]
    whole = canonical_values(build_arena(writer.space, ENCODER))
    numbers = [grain.pk for grain in made]
    records = {row[0]: GrainRecord(*row) for row in queries.read_grains_by_number(writer.space, ENCODER, numbers)}
    for order in itertools.permutations(numbers):
        arena = empty(writer.space)
        for number in order:
            arena.apply([records[number]], Changes((number,)))
        assert canonical_values(arena) == whole


def test_weights_change_in_place_and_cut_conduits_carry_nothing(writer):
    first, second = writer.store("one"), writer.store("two")
    kept, lost = writer.link(first, second), writer.link(second, first)
    arena = build_arena(writer.space, ENCODER)
    number = lost.pk
    writer.weigh(kept, 0.9)
    writer.cut(lost)
    tell(arena, conduits=[kept], cut=[number])
    assert canonical_values(arena) == canonical_values(build_arena(writer.space, ENCODER))
    assert arena.index.graph.flat().weight.tolist() == pytest.approx([0.9])


def test_unknown_grains_at_the_ends_of_a_conduit_are_requested(writer):
    first = writer.store("one")
    arena = build_arena(writer.space, ENCODER)
    second = writer.store("two")
    link = writer.link(first, second)
    changes = Changes((), packed_conduits([link]))
    assert arena.unknown(changes) == [second.pk]
    assert arena.unknown(Changes((second.pk,), changes.conduits)) == []


def test_arrays_grow_when_their_spare_capacity_is_used_up(writer, monkeypatch):
    monkeypatch.setattr(grain_rows, "capacity_for", lambda size: size + 2)
    writer.store("zero", session="s")
    arena = build_arena(writer.space, ENCODER)
    made = [writer.store(f"number {number}", session="s", entries=["paris"]) for number in range(9)]
    for grain in made:
        tell(arena, grain, conduits=new_conduits(grain))
    assert len(arena.index.columns["id"]) < 30
    assert canonical_values(arena) == canonical_values(build_arena(writer.space, ENCODER))


def test_merging_makes_a_base_of_all_rows_and_changes_nothing_else(writer):
    made = [writer.store(f"number {number % 4} cat", session=f"s{number % 3}") for number in range(12)]
    arena = build_arena(writer.space, ENCODER)
    writer.link(made[0], made[5])
    for number in range(12, 20):
        grain = writer.store(f"number {number}", session=f"s{number % 3}", entries=["paris"])
        tell(arena, grain, conduits=new_conduits(grain))
    before = canonical_values(arena)
    assert arena.late == 8
    arena.fold()
    assert canonical_values(arena) == before
    assert (arena.late, arena.index.postings.added, arena.index.graph.since) == (0, 0, 0)
    grain = writer.store("after it", session="s1")
    tell(arena, grain)
    assert arena.row_of([grain.pk, made[3].pk]).tolist() == [20, 3]


def test_rows_added_out_of_order_are_found_after_a_merge(writer):
    made = [writer.store(f"number {number}") for number in range(6)]
    arena = empty(writer.space)
    order = random.Random(3).sample(made, 6)
    for grain in order:
        tell(arena, grain)
    arena.fold()
    assert [arena.index.column("id")[row] for row in arena.row_of([grain.pk for grain in made])] == [
        grain.pk for grain in made
    ]
    assert arena.row_of([made[-1].pk + 1]).tolist() == [NO_ROW]


def test_an_arena_says_when_it_has_outgrown_its_base(writer, monkeypatch):
    monkeypatch.setattr(module, "LATE_ROWS", 3)
    arena = build_arena(writer.space, ENCODER)
    for number in range(4):
        assert not arena.overgrown
        tell(arena, writer.store(f"number {number}"))
    assert arena.overgrown
    arena.fold()
    assert not arena.overgrown
    monkeypatch.setattr(module, "LATE_CONDUITS", 0)
    grain = writer.store("one more", entries=["paris"])
    tell(arena, grain, conduits=new_conduits(grain))
    assert arena.overgrown
