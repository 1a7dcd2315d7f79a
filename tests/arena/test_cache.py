"""Cache of arenas: built at their first use, current at each use, limited in memory."""

from __future__ import annotations

import itertools
import threading
import time

import numpy as np
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts import agents
from accounts.models import Space
from accounts.principals import shell
from fluxcore import config, events
from fluxcore.writes import booth
from memory.arena import arena as arenas
from memory.arena import cache as module
from memory.arena import coherence
from memory.arena.build import assemble_index, build_arena
from memory.arena.changes import CONDUIT
from memory.arena.grain_rows import GrainRecord
from memory.engine.index.space_index import SECOND
from tests.arena.canonical import canonical_values
from tests.arena.graph_writer import ENCODER, GraphWriter
from tests.concurrency.load import together

pytestmark = [pytest.mark.storage, pytest.mark.either_database, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def space(transactional_db):
    agents.create_space(shell(), name="home")
    return Space.objects.get(name="home")


@pytest.fixture
def others(space):
    made = []
    for name in ("second", "third"):
        agents.create_space(shell(), name=name)
        made.append(GraphWriter(Space.objects.get(name=name).pk))
    return made


def budget(monkeypatch, megabytes):
    current = config.current()
    monkeypatch.setattr(config, "current", lambda: _With(current, ARENA_MEMORY_MB=megabytes))


class _With:
    def __init__(self, rest, **values):
        self._rest = rest
        self.__dict__.update(values)

    def __getattr__(self, name):
        return getattr(self._rest, name)


def wait_for(true, seconds=20):
    until = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < until, "waited in vain"
        time.sleep(0.01)


def test_a_small_space_is_built_at_its_first_use_and_kept(writer, arena_cache):
    writer.store("one")
    with arena_cache.arena(writer.space) as (first, rung):
        assert rung == "warm" and first.index.size == 1
    writer.store("two")
    with arena_cache.arena(writer.space) as (again, rung):
        assert again is first and rung == "warm"
        assert again.index.size == 2, "what was committed is there at the next look"


def test_spaces_are_kept_apart(writer, others, arena_cache):
    writer.store("ours")
    others[0].store("theirs")
    with arena_cache.arena(writer.space) as (one, _), arena_cache.arena(others[0].space) as (two, _):
        assert one is not two
        assert one.index.size == two.index.size == 1


def test_a_large_space_without_files_is_built_in_the_background(writer, arena_cache, monkeypatch):
    monkeypatch.setattr(module, "AT_ONCE", 2)
    may_go_on = threading.Event()
    monkeypatch.setattr(module, "build_arena", lambda *what: may_go_on.wait(20) and build_arena(*what))
    for number in range(4):
        writer.store(f"number {number}")
    for _ in range(3):
        with arena_cache.arena(writer.space) as (arena, rung):
            assert (arena, rung) == (None, "cold")
    assert len([one for one in threading.enumerate() if one.name == f"arena-{writer.space}"]) == 1
    may_go_on.set()
    wait_for(lambda: arena_cache.spaces() == [writer.space])
    with arena_cache.arena(writer.space) as (arena, rung):
        assert rung == "warm" and arena.index.size == 4
    wait_for(lambda: not [one for one in threading.enumerate() if one.name == f"arena-{writer.space}"])


def test_after_a_failed_build_the_space_is_cold_and_the_build_repeated(writer, arena_cache, monkeypatch):
    monkeypatch.setattr(module, "AT_ONCE", 0)
    writer.store("one")
    monkeypatch.setattr(module, "build_arena", lambda *what: 1 / 0)
    with arena_cache.arena(writer.space) as (_, rung):
        assert rung == "cold"
    wait_for(lambda: not [one for one in threading.enumerate() if one.name == f"arena-{writer.space}"])
    monkeypatch.setattr(module, "build_arena", build_arena)
    with arena_cache.arena(writer.space) as (_, rung):
        assert rung == "cold"
    wait_for(lambda: arena_cache.spaces() == [writer.space])


def test_an_arena_far_behind_the_log_has_the_rung_behind(writer, arena_cache, monkeypatch):
    monkeypatch.setattr(coherence, "BEHIND_LIMIT", 3)
    writer.store("one")
    with arena_cache.arena(writer.space):
        pass
    for number in range(6):
        writer.store(f"number {number}")
    with arena_cache.arena(writer.space) as (arena, rung):
        assert rung == "behind" and arena is not None
    wait_for(lambda: not arena.behind)
    with arena_cache.arena(writer.space) as (arena, rung):
        assert rung == "warm" and arena.index.size == 7


def test_an_unsound_arena_is_rebuilt_before_it_is_read(writer, arena_cache):
    writer.store("one")
    with arena_cache.arena(writer.space) as (first, _):
        pass
    writer.store("two")
    booth.write(lambda: events.append("test", space=writer.space, actor="a", subject="s", packed=b"nonsense"))
    writer.settle()
    with arena_cache.arena(writer.space) as (arena, rung):
        assert arena is not first and rung == "warm"
        assert canonical_values(arena) == canonical_values(build_arena(writer.space, ENCODER))


def test_the_least_recently_used_arena_is_dropped_first(writer, others, arena_cache, monkeypatch):
    for one in (writer, *others):
        one.store("a grain")
        with arena_cache.arena(one.space):
            pass
    assert arena_cache.spaces() == [writer.space, others[0].space, others[1].space]
    with arena_cache.arena(writer.space) as (arena, _):
        size = arena.nbytes
    assert arena_cache.nbytes() == pytest.approx(3 * size, rel=0.1)
    monkeypatch.setattr(module, "_MEGABYTE", int(2.5 * size))
    budget(monkeypatch, 1)
    arena_cache.drop(others[0].space)
    with arena_cache.arena(others[0].space):
        pass
    assert arena_cache.spaces() == [writer.space, others[0].space]
    assert arena_cache.nbytes() <= 2.5 * size


def test_a_space_too_large_for_the_cache_is_not_built(writer, arena_cache, monkeypatch):
    monkeypatch.setattr(module, "_MEGABYTE", 3 * module.LEAST_BYTES)
    budget(monkeypatch, 1)
    for number in range(5):
        writer.store(f"number {number}")
    for expected in (1, 0):
        with CaptureQueriesContext(connection) as seen, arena_cache.arena(writer.space) as (arena, rung):
            assert (arena, rung) == (None, "cold")
        assert len(seen) == expected, "and not counted at every recall"
    assert arena_cache.spaces() == []


def test_another_encoder_is_another_arena(writer, arena_cache, monkeypatch):
    writer.vector(writer.store("one"), encoder="new-64")
    with arena_cache.arena(writer.space) as (first, _):
        assert first.encoder == ENCODER
    monkeypatch.setattr(module, "encoder_name", lambda: "new-64")
    with arena_cache.arena(writer.space) as (second, _):
        assert second.encoder == "new-64" and second.index.dense is not None
    monkeypatch.setattr(module, "encoder_name", lambda: "")
    with arena_cache.arena(writer.space) as (third, _):
        assert third is second, "without an encoder the words are still good"


def test_small_arenas_merge_late_rows_at_once(writer, arena_cache, monkeypatch):
    monkeypatch.setattr(arenas, "LATE_ROWS", 3)
    with arena_cache.arena(writer.space):
        pass
    for number in range(5):
        writer.store(f"number {number}")
    with arena_cache.arena(writer.space) as (arena, _):
        assert arena.late == 0 and arena.index.size == 5
        assert canonical_values(arena) == canonical_values(build_arena(writer.space, ENCODER))


def test_a_reader_may_read_again_inside_its_block(writer, arena_cache):
    writer.store("one")
    with arena_cache.arena(writer.space) as (outer, _):
        writer.store("two")
        with arena_cache.arena(writer.space) as (inner, _):
            assert inner is outer and inner.index.size == 1
    with arena_cache.arena(writer.space) as (arena, _):
        assert arena.index.size == 2


def test_eight_readers_at_the_first_use_build_one_arena(writer, arena_cache, monkeypatch):
    writer.store("one")
    built = []
    monkeypatch.setattr(module, "build_arena", lambda *what: built.append(what) or build_arena(*what))
    seen = []

    def read(number: int) -> None:
        try:
            with arena_cache.arena(writer.space) as (arena, _):
                seen.append(arena)
        finally:
            connection.close()

    together(8, read)
    assert len(built) == 1 and len({id(one) for one in seen}) == 1


def test_a_forked_process_begins_with_an_empty_cache(monkeypatch):
    mine = module.arena_cache()
    assert module.arena_cache() is mine
    monkeypatch.setattr(module.os, "getpid", lambda: 12345)
    assert module.arena_cache() is not mine
    monkeypatch.undo()
    module.arena_cache()


def test_a_short_grain_takes_at_most_four_fifths_of_a_kilobyte():
    """With a 256-dimensional encoder and nine conduits a grain, room to grow included."""
    count, chance = 10_000, np.random.default_rng(5)
    vocabulary = ["".join(letters) for letters in itertools.islice(itertools.product("bdfgklmnprst", repeat=4), 20_000)]
    odds = 1 / np.arange(2.7, 20_002.7)
    picks = chance.choice(20_000, (count, 16), p=odds / odds.sum())
    vectors = chance.integers(-127, 127, (count, 256), np.int8)
    records = [
        GrainRecord(
            number + 1,
            " ".join(vocabulary[place] for place in picks[number]),
            f"{number:064x}",
            f"s{number // 20}",
            number,
            ("Ann", "Bob")[number % 2],
            [],
            None,
            1_700_000_000 * SECOND,
            scale=0.01,
            data=vectors[number].tobytes(),
        )
        for number in range(count)
    ]
    conduits = np.zeros(9 * count, CONDUIT)
    conduits["id"] = np.arange(1, 9 * count + 1)
    conduits["to_grain"] = chance.integers(1, count, 9 * count)
    entries = np.arange(9 * count) % 3 == 0
    conduits["from_grain"] = np.where(entries, 0, chance.integers(1, count, 9 * count))
    conduits["from_entry"] = np.where(entries, chance.integers(1, 3000, 9 * count), 0)
    conduits["entry_key"] = conduits["from_entry"].astype(np.uint64) * np.uint64(1_000_003)
    conduits["weight"], conduits["affinity"] = 0.5, 1
    conduits["made_at"] = conduits["used_at"] = 1_700_000_000
    index = assemble_index([records], [conduits])
    per_grain = index.nbytes / count
    print(f"\n{per_grain:.0f} bytes a grain")
    assert index.size == count and index.graph.size == 9 * count
    assert per_grain <= 800


def test_files_are_requested_for_spaces_with_much_text(writer, arena_cache, monkeypatch):
    asked = []
    monkeypatch.setattr(module.jobs, "ask_soon", asked.append)
    monkeypatch.setattr(module, "ON_DISK", 2)
    monkeypatch.setattr(arenas, "LATE_ROWS", 1)
    for number in range(2):
        writer.store(f"number {number}")
    with arena_cache.arena(writer.space):
        assert asked == []
    for number in range(2, 5):
        writer.store(f"number {number}")
    for _ in range(2):
        with arena_cache.arena(writer.space) as (arena, _):
            assert arena.late == 0
    assert asked == [writer.space], "once, when it folded what came since"
    arena_cache.drop(writer.space)
    with arena_cache.arena(writer.space):
        assert asked == [writer.space] * 2, "and when it was built"
