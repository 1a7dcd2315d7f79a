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


def test_new_grains_are_as_if_they_had_been_there_at_the_build(scribe):
    old = scribe.store("The old one", session="s", speaker="Ann", tags=["x"], entries=["paris"])
    arena = build_arena(scribe.space, ENCODER)
    new = scribe.store("A new one, a newer cat", session="s", speaker="Bob", tags=["x"], entries=["paris", "rome"])
    links = list(new_conduits(new))
    tell(arena, new, conduits=links)
    assert arena.index.size == 2 and arena.late == 1
    assert canonical_values(arena) == canonical_values(build_arena(scribe.space, ENCODER))
    assert arena.row_of([new.pk, old.pk, 999_999]).tolist() == [1, 0, NO_ROW]


def test_an_arena_can_begin_with_nothing(scribe):
    arena = build_arena(scribe.space, ENCODER)
    grain = scribe.store("First of all", entries=["paris"])
    tell(arena, grain, conduits=new_conduits(grain))
    assert canonical_values(arena) == canonical_values(build_arena(scribe.space, ENCODER))
    assert arena.index.dense.search(unit_vector("First of all"), k=1)[0].tolist() == [0]


def test_what_changes_in_a_grain_changes_in_its_row(scribe):
    grain = scribe.store("A fact", vector=False)
    arena = build_arena(scribe.space, ENCODER)
    scribe.change(grain, status="quarantined", pinned=True, confidence=0.5, authority=0, decay_class=1)
    scribe.vector(grain)
    tell(arena, grain)
    assert arena.index.size == 1
    assert canonical_values(arena) == canonical_values(build_arena(scribe.space, ENCODER))
    assert arena.index.columns["status"][0] == 3


def test_telling_it_again_changes_nothing(scribe):
    first = scribe.store("one cat", session="s", entries=["paris"])
    arena = build_arena(scribe.space, ENCODER)
    second = scribe.store("two cats", session="s", entries=["rome"])
    link = scribe.link(first, second)
    once = None
    for _ in range(3):
        tell(arena, first, second, conduits=[*new_conduits(second)])
        tell(arena, cut=[link.pk + 1000])
        once = once or canonical_values(arena)
        assert canonical_values(arena) == once
    assert arena.index.postings.of(words.key(words.terms("cats")[0]))[0].tolist() == [0, 1]


def test_a_grain_that_is_no_more_is_gone_and_comes_back_if_it_does(scribe):
    made = [scribe.store(text, session="s") for text in "abc"]
    arena = build_arena(scribe.space, ENCODER)
    middle = made[1].pk
    scribe.purge(made[1])
    tell(arena, middle)
    assert arena.index.size == 3 and arena.index.columns["status"][1] == GONE
    assert canonical_values(arena) == canonical_values(build_arena(scribe.space, ENCODER)), (
        "its neighbours are each other's now"
    )
    again = GrainRecord(middle, "b", session="s", ordinal=made[1].ordinal)
    arena.apply([again], Changes((middle,)))
    assert arena.index.columns["status"][1] == ACTIVE
    assert arena.index.columns["next"][:3].tolist() == [1, 2, NO_ROW]


def test_the_order_in_which_a_session_arrives_does_not_matter(scribe):
    made = [scribe.store(text, session="s", ordinal=place) for place, text in enumerate("abcd", 1)]
    whole = canonical_values(build_arena(scribe.space, ENCODER))
    records = {
        row[0]: GrainRecord(*row) for row in queries.read_grains_by_number(scribe.space, ENCODER, [g.pk for g in made])
    }
    for order in itertools.permutations([grain.pk for grain in made]):
        arena = empty(scribe.space)
        for number in order:
            arena.apply([records[number]], Changes((number,)))
        assert canonical_values(arena) == whole


def test_weights_change_in_place_and_cut_conduits_carry_nothing(scribe):
    first, second = scribe.store("one"), scribe.store("two")
    kept, lost = scribe.link(first, second), scribe.link(second, first)
    arena = build_arena(scribe.space, ENCODER)
    number = lost.pk
    scribe.weigh(kept, 0.9)
    scribe.cut(lost)
    tell(arena, conduits=[kept], cut=[number])
    assert canonical_values(arena) == canonical_values(build_arena(scribe.space, ENCODER))
    assert arena.index.graph.flat().weight.tolist() == pytest.approx([0.9])


def test_grains_a_conduit_needs_and_nobody_told_of_are_asked_for(scribe):
    first = scribe.store("one")
    arena = build_arena(scribe.space, ENCODER)
    second = scribe.store("two")
    link = scribe.link(first, second)
    changes = Changes((), packed_conduits([link]))
    assert arena.unknown(changes) == [second.pk]
    assert arena.unknown(Changes((second.pk,), changes.conduits)) == []


def test_arrays_grow_when_the_room_behind_the_rows_is_used_up(scribe, monkeypatch):
    monkeypatch.setattr(grain_rows, "capacity_for", lambda size: size + 2)
    scribe.store("zero", session="s")
    arena = build_arena(scribe.space, ENCODER)
    made = [scribe.store(f"number {number}", session="s", entries=["paris"]) for number in range(9)]
    for grain in made:
        tell(arena, grain, conduits=new_conduits(grain))
    assert len(arena.index.columns["id"]) < 30
    assert canonical_values(arena) == canonical_values(build_arena(scribe.space, ENCODER))


def test_folding_makes_a_base_of_everything_and_changes_nothing_else(scribe):
    made = [scribe.store(f"number {number % 4} cat", session=f"s{number % 3}") for number in range(12)]
    arena = build_arena(scribe.space, ENCODER)
    scribe.link(made[0], made[5])
    for number in range(12, 20):
        grain = scribe.store(f"number {number}", session=f"s{number % 3}", entries=["paris"])
        tell(arena, grain, conduits=new_conduits(grain))
    before = canonical_values(arena)
    assert arena.late == 8
    arena.fold()
    assert canonical_values(arena) == before
    assert (arena.late, arena.index.postings.added, arena.index.graph.since) == (0, 0, 0)
    grain = scribe.store("after it", session="s1")
    tell(arena, grain)
    assert arena.row_of([grain.pk, made[3].pk]).tolist() == [20, 3]


def test_rows_that_came_out_of_order_are_found_after_a_fold(scribe):
    made = [scribe.store(f"number {number}") for number in range(6)]
    arena = empty(scribe.space)
    order = random.Random(3).sample(made, 6)
    for grain in order:
        tell(arena, grain)
    arena.fold()
    assert [arena.index.column("id")[row] for row in arena.row_of([grain.pk for grain in made])] == [
        grain.pk for grain in made
    ]
    assert arena.row_of([made[-1].pk + 1]).tolist() == [NO_ROW]


def test_an_arena_says_when_it_has_outgrown_its_base(scribe, monkeypatch):
    monkeypatch.setattr(module, "LATE_ROWS", 3)
    arena = build_arena(scribe.space, ENCODER)
    for number in range(4):
        assert not arena.overgrown
        tell(arena, scribe.store(f"number {number}"))
    assert arena.overgrown
    arena.fold()
    assert not arena.overgrown
    monkeypatch.setattr(module, "LATE_CONDUITS", 0)
    grain = scribe.store("one more", entries=["paris"])
    tell(arena, grain, conduits=new_conduits(grain))
    assert arena.overgrown
