"""Coherence: what was committed is in the arena at the next look, and what does not fit is built anew."""

from __future__ import annotations

import sys
import threading
import time

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from fluxcore import events
from fluxcore.events import Position
from fluxcore.models import Event
from fluxcore.writes import booth
from memory.arena import coherence, log_reader, queries
from memory.arena.build import build_arena
from memory.arena.changes import CONDUIT, Changes
from memory.arena.coherence import catch_up, merge_changes
from memory.engine.index.space_index import GONE, NO_ROW
from tests.arena.canonical import canonical_values
from tests.arena.graph_writer import ENCODER, packed_conduits

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def space(transactional_db):
    from accounts import agents
    from accounts.models import Space
    from accounts.principals import shell

    agents.create_space(shell(), name="home")
    return Space.objects.get(name="home")


def everything(writer):
    return log_reader.read_changes(writer.space, Position(), 100)


def test_every_kind_of_change_is_seen_at_the_next_catch_up(writer):
    first = writer.store("The first", session="s", entries=["paris"])
    arena = build_arena(writer.space, ENCODER)
    second = writer.store("The second", session="s", speaker="Ann", tags=["x"], entries=["paris"])
    assert catch_up(arena)
    assert canonical_values(arena) == canonical_values(build_arena(writer.space, ENCODER))
    link = writer.link(first, second)
    writer.change(first, status="archived", pinned=True)
    assert catch_up(arena)
    assert canonical_values(arena) == canonical_values(build_arena(writer.space, ENCODER))
    writer.weigh(link, 0.1)
    third = writer.store("The third", session="s")
    number = third.pk
    writer.purge(third)
    writer.cut(link)
    assert catch_up(arena)
    assert canonical_values(arena) == canonical_values(build_arena(writer.space, ENCODER))
    # Stored and purged between two looks, it never was.
    assert arena.row_of([number]).tolist() == [NO_ROW]


def test_catching_up_takes_one_statement_or_two_if_grains_changed(writer):
    arena = build_arena(writer.space, ENCODER)
    catch_up(arena)
    with CaptureQueriesContext(connection) as quiet:
        catch_up(arena)
    for number in range(5):
        writer.store(f"number {number}", entries=["paris"])
    with CaptureQueriesContext(connection) as busy:
        catch_up(arena)
    assert (len(quiet), len(busy), arena.index.size) == (1, 2, 5)


@pytest.mark.sqlite_only
def test_catching_up_reads_only_the_end_of_the_log(writer):
    writer.store("one")
    with CaptureQueriesContext(connection) as seen:
        log_reader.read_changes(writer.space, Position(0, 1), 10)
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN QUERY PLAN {seen[0]['sql']}")
        plan = " ".join(str(row[-1]) for row in cursor.fetchall())
    assert "event_change (space=? AND xid=? AND id>?)" in plan and "TEMP" not in plan


def test_applying_events_again_does_no_harm(writer):
    before = events.head()
    grain = writer.store("one", session="s", entries=["paris"])
    writer.change(grain, status="dormant")
    arena = build_arena(writer.space, ENCODER)
    whole = canonical_values(arena)
    arena.position = before
    assert catch_up(arena)
    assert canonical_values(arena) == whole


def test_grains_stored_during_a_build_are_not_missed(writer, monkeypatch):
    writer.store("before")
    plain = queries.read_entries

    def in_between(space):
        writer.store("in between", entries=["paris"])
        return plain(space)

    with monkeypatch.context() as patch:
        patch.setattr(queries, "read_entries", in_between)
        arena = build_arena(writer.space, ENCODER)
    assert arena.index.size == 1
    assert catch_up(arena)
    assert canonical_values(arena) == canonical_values(build_arena(writer.space, ENCODER))


def test_events_without_changes_and_of_other_spaces_are_not_even_read(writer, monkeypatch):
    """Or a process that seldom recalls would fall behind on news of others' recalls."""
    monkeypatch.setattr(coherence, "BEHIND_LIMIT", 5)
    arena = build_arena(writer.space, ENCODER)
    for space in (writer.space, writer.space + 1):
        booth.write(lambda space=space: [events.append("t", space=space, actor="a", subject="s") for _ in range(9)])
    position = arena.position
    assert log_reader.read_changes(writer.space, position, 100) == []
    assert catch_up(arena) and not arena.behind
    assert (arena.index.size, arena.position) == (0, position)
    writer.store("one")
    assert catch_up(arena) and arena.index.size == 1


def test_an_arena_at_an_event_that_was_deleted_is_still_sound(writer, monkeypatch):
    writer.store("one")
    booth.write(lambda: events.append("test", space=writer.space, actor="a", subject="s"))
    writer.settle()
    arena = build_arena(writer.space, ENCODER)
    Event.objects.filter(packed__isnull=True, space=writer.space, subject="s").delete()
    writer.store("two")
    monkeypatch.setattr(coherence, "QUIET_SECONDS", -1.0)
    assert catch_up(arena) and arena.sound and arena.index.size == 2


@pytest.mark.parametrize("packed", [b"nonsense", b"G\x08\x00\x00\x00abc", b"C\x03\x00\x00\x00abc"])
def test_an_unreadable_change_makes_the_arena_unsound(writer, packed):
    arena = build_arena(writer.space, ENCODER)
    position = arena.position
    booth.write(lambda: events.append("test", space=writer.space, actor="a", subject="s", packed=packed))
    assert not catch_up(arena)
    assert not arena.sound
    assert arena.position == position


def test_a_log_that_was_cut_below_the_arena_makes_it_unsound(writer, monkeypatch):
    writer.store("one")
    writer.settle()
    arena = build_arena(writer.space, ENCODER)
    writer.store("two")
    writer.store("three")
    writer.settle()
    Event.objects.filter(id__lte=Event.objects.order_by("-id")[1].id).delete()
    monkeypatch.setattr(coherence, "QUIET_SECONDS", -1.0)
    assert not catch_up(arena)
    assert not arena.sound


def test_a_quiet_arena_moves_on_with_the_log_of_others(writer, monkeypatch):
    writer.store("one")
    writer.settle()
    arena = build_arena(writer.space, ENCODER)
    booth.write(lambda: events.append("test", space=writer.space + 1, actor="a", subject="s"))
    Event.objects.filter(id__lt=events.head().id - 1).delete()
    monkeypatch.setattr(coherence, "QUIET_SECONDS", -1.0)
    assert catch_up(arena)
    assert arena.position == events.head()
    Event.objects.filter(id__lt=events.head().id).delete()
    assert catch_up(arena), "its place in the log is still there"


def test_the_last_change_of_a_conduit_counts(writer):
    first, second = writer.store("one"), writer.store("two")
    link = writer.link(first, second)
    writer.weigh(link, 0.9)
    writer.weigh(link, 0.3)
    changes = merge_changes(everything(writer))
    assert changes.conduits["weight"].tolist() == pytest.approx([0.3])
    assert changes.conduits.dtype == CONDUIT
    number = link.pk
    writer.cut(link)
    changes = merge_changes(everything(writer))
    assert (len(changes.conduits), changes.cut) == (0, (number,))
    assert merge_changes([]).pack() == Changes().pack()


def test_of_two_changes_of_a_conduit_the_higher_number_counts(writer):
    """On PostgreSQL a transaction that began early can change a row last: the log lists it first."""
    first, second = writer.store("one"), writer.store("two")
    link = writer.link(first, second)
    position = events.head()
    writer.weigh(link, 0.9)
    writer.weigh(link, 0.3)
    early, late = log_reader.read_changes(writer.space, position, 10)[-2:]
    assert merge_changes([late, early]).conduits["weight"].tolist() == pytest.approx([0.3])


def test_an_open_transaction_elsewhere_neither_hides_a_commit_nor_is_passed_over(writer):
    """PostgreSQL: a writer that took its number early and commits late, while others commit above it."""
    if connection.vendor != "postgresql":
        pytest.skip("SQLite has one writer at a time")
    arena = build_arena(writer.space, ENCODER)
    began, may_commit = threading.Event(), threading.Event()

    def slow() -> None:
        try:
            with transaction.atomic():
                grain = writer.grain("committed late", ordinal=50)
                packed = Changes((grain.pk,)).pack()
                events.write([(writer.space, "test", grain.recorded_at, "test", "late", {}, packed)])
                began.set()
                may_commit.wait(20)
        finally:
            connection.close()

    thread = threading.Thread(target=slow)
    thread.start()
    try:
        assert began.wait(20)
        place = arena.position
        for number in range(1, 4):
            writer.store(f"number {number}", ordinal=number)
            assert catch_up(arena)
            assert arena.index.size == number, "a commit is there at the next look"
        assert arena.position == place and len(arena.ahead) == 3
        with CaptureQueriesContext(connection) as seen:
            assert catch_up(arena)
        assert len(seen) == 1, "what is in already is not read again"
    finally:
        may_commit.set()
        thread.join()
    assert catch_up(arena)
    assert arena.index.size == 4
    until = time.monotonic() + 20
    while arena.ahead:  # another test's transaction may still be open in this server
        assert time.monotonic() < until
        assert catch_up(arena)
    assert arena.position > place
    assert canonical_values(arena) == canonical_values(build_arena(writer.space, ENCODER))


def test_grains_at_the_ends_of_a_new_conduit_are_read_too(writer):
    first = writer.store("one")
    writer.settle()
    arena = build_arena(writer.space, ENCODER)
    position = arena.position
    second = writer.store("two")
    assert catch_up(arena)
    # As if the event that names the second grain had been lost.
    arena = build_arena(writer.space, ENCODER)
    arena.index.size, arena.position = 1, position
    arena._reset_base()
    booth.write(lambda: writer.tell(conduits=[writer.conduit(second, start=first)]))
    Event.objects.filter(id=position.id + 1).delete()
    assert catch_up(arena)
    assert arena.row_of([second.pk]).tolist() == [1]


def test_an_arena_far_behind_answers_at_once_and_catches_up_in_the_background(writer, monkeypatch):
    monkeypatch.setattr(coherence, "BEHIND_LIMIT", 5)
    monkeypatch.setattr(coherence, "SLICE", 3)
    arena = build_arena(writer.space, ENCODER)
    for number in range(8):
        writer.store(f"number {number}")
    assert not catch_up(arena)
    assert arena.sound
    until = time.monotonic() + 20
    while arena.behind:
        assert time.monotonic() < until
        time.sleep(0.01)
    assert catch_up(arena)
    assert canonical_values(arena) == canonical_values(build_arena(writer.space, ENCODER))


def test_readers_see_whole_changes_while_others_write(writer, in_threads):
    """Each commit stores a pair and links it: no reader ever finds one without the other."""
    arena = build_arena(writer.space, ENCODER)
    odd: list[int] = []
    done = threading.Event()

    def write() -> None:
        for number in range(40):

            def work(number: int = number) -> None:
                one, two = writer.grain(f"one {number}"), writer.grain(f"two {number}")
                writer.tell(grains=[one.pk, two.pk], conduits=[writer.conduit(two, start=one)])

            booth.write(work)
        done.set()

    def read() -> None:
        while not done.is_set():
            assert catch_up(arena)
            with arena.lock.reading():
                size, links = arena.index.size, arena.index.graph.size
                if size % 2 or links != size // 2 or arena.index.postings.size != size:
                    odd.append(size)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)  # threads take turns in the middle of everything
    try:
        in_threads(4, lambda number: write() if number == 0 else read())
    finally:
        sys.setswitchinterval(interval)
    assert not odd
    assert catch_up(arena) and arena.index.size == 80


@pytest.fixture
def in_threads():
    from tests.concurrency.load import together

    def run(count, work):
        def and_close(number):
            try:
                work(number)
            finally:
                connection.close()

        together(count, and_close)

    return run


def test_a_purged_grain_is_gone_at_once(writer):
    grain = writer.store("to be forgotten")
    arena = build_arena(writer.space, ENCODER)
    writer.purge(grain)
    assert catch_up(arena)
    assert arena.index.columns["status"][0] == GONE


def test_packed_conduits_survive_the_log(writer):
    link = writer.link(writer.store("one"), writer.store("two"), 0.25, relation=3)
    assert merge_changes(everything(writer)).conduits.tolist() == packed_conduits([link]).tolist()
