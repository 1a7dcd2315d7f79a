"""Files: what was written is what is opened, and at any doubt they are left aside."""

from __future__ import annotations

import json
import os
import shutil
import stat
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from django.conf import settings

from accounts import agents
from accounts.models import Space
from accounts.principals import shell
from fluxcore.events import Position
from fluxcore.models import Event, Job
from fluxcore.work import worker
from memory.arena import arena as arenas
from memory.arena import cache as module
from memory.arena import coherence, files, grain_rows, jobs
from memory.arena.build import build_arena
from memory.grains.models import Grain
from tests.arena.canonical import canonical_values
from tests.arena.graph_writer import ENCODER

pytestmark = [pytest.mark.storage, pytest.mark.either_database, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def space(transactional_db):
    agents.create_space(shell(), name="home")
    return Space.objects.get(name="home")


@pytest.fixture(autouse=True)
def no_files():
    shutil.rmtree(settings.HOME.arenas, ignore_errors=True)
    yield
    shutil.rmtree(settings.HOME.arenas, ignore_errors=True)


@pytest.fixture
def written(writer):
    """A space with a little of everything, and its files."""
    made = [
        writer.store(f"number {number} cat", session=f"s{number % 2}", speaker="Ann Lee", tags=["x"], entries=["paris"])
        for number in range(7)
    ]
    writer.link(made[0], made[1])
    writer.settle()
    arena = build_arena(writer.space, ENCODER)
    assert files.write_generation(arena) == 1
    return writer


def folder(space: int, generation: int = 1) -> Path:
    return settings.HOME.arenas / str(space) / f"{generation:08d}"


def test_an_opened_arena_equals_the_written_one(written):
    opened = files.open_newest(written.space, ENCODER)
    assert opened.generation == 1
    assert canonical_values(opened) == canonical_values(build_arena(written.space, ENCODER))


def test_an_empty_space_can_be_written(writer):
    files.write_generation(build_arena(writer.space, ENCODER))
    assert files.open_newest(writer.space, ENCODER).index.size == 0


def test_base_and_delta_are_written_as_one(written):
    arena = files.open_newest(written.space, ENCODER)
    for number in range(3):
        written.store(f"late {number}", session="s1", speaker="Bob", entries=["rome"])
    assert coherence.catch_up(arena) and arena.late == 3
    assert files.write_generation(arena) == 2
    opened = files.open_newest(written.space, ENCODER)
    assert (opened.generation, opened.late, opened.index.postings.added, opened.index.graph.since) == (2, 0, 0, 0)
    assert canonical_values(opened) == canonical_values(build_arena(written.space, ENCODER))


def test_changes_since_the_files_are_applied_on_opening(written):
    written.store("a late one", session="s1", entries=["rome"])
    written.change(Grain.objects.earliest("id"), status="archived")
    opened = files.open_newest(written.space, ENCODER)
    assert canonical_values(opened) == canonical_values(build_arena(written.space, ENCODER))


def test_changes_in_memory_leave_the_files_unchanged(written):
    before = {path.name: path.read_bytes() for path in folder(written.space).iterdir()}
    one, two = files.open_newest(written.space, ENCODER), files.open_newest(written.space, ENCODER)
    written.change(Grain.objects.earliest("id"), status="archived", pinned=True)
    written.store("new", entries=["paris"])
    assert coherence.catch_up(one)
    assert one.index.columns["status"][0] == 2 and two.index.columns["status"][0] == 0
    assert {path.name: path.read_bytes() for path in folder(written.space).iterdir()} == before
    assert coherence.catch_up(two)
    assert canonical_values(one) == canonical_values(two)


def test_new_rows_fit_into_the_mapped_arrays(written):
    opened = files.open_newest(written.space, ENCODER)
    held = opened.index.columns["id"]
    written.store("one more")
    assert coherence.catch_up(opened)
    assert opened.index.columns["id"] is held and opened.index.size == 8


def test_only_the_owner_may_read_them(written):
    home = settings.HOME.arenas / str(written.space)
    for path in (folder(written.space), home):
        assert stat.S_IMODE(path.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder(written.space).iterdir()} == {0o600}


def cut_short(space):
    path = folder(space) / "columns.id.npy"
    path.write_bytes(path.read_bytes()[:-8])


def lose(space):
    (folder(space) / "graph.weight.npy").unlink()


def zero(space):
    """As a power failure leaves a file whose last pages were never written: its length right, its end empty."""
    path = folder(space) / "postings.rows.npy"
    held = path.read_bytes()
    path.write_bytes(held[:128] + bytes(len(held) - 128))


def meddle(number, **values):
    path = folder(number) / files.META
    meta = json.loads(path.read_text())
    path.write_text(json.dumps({**meta, **values}))


def signed(number, **values):
    """As another version of the program would have written it."""
    path = folder(number) / files.META
    meta = {**json.loads(path.read_text()), **values}
    meta.pop("checksum")
    path.write_text(json.dumps({**meta, "checksum": files._checksum(meta)}))


HARMS = {
    "short": cut_short,
    "lost": lose,
    "zeroed": zero,
    "no meta": lambda space: (folder(space) / files.META).unlink(),
    "half a meta": lambda space: (folder(space) / files.META).write_text("{"),
    "not a meta": lambda space: (folder(space) / files.META).write_text("[]"),
    "meddled with": lambda space: meddle(space, size=3),
    "another format": lambda space: signed(space, format=files.FORMAT + 1),
    "another analysis": lambda space: signed(space, analysis=grain_rows.ANALYSIS + 1),
    "another space": lambda space: signed(space, space=space + 1),
    "another encoder": lambda space: signed(space, encoder="another"),
    "another log": lambda space: signed(space, mark="another log"),
    "ahead of the log": lambda space: signed(space, position="0.999999999"),
    "another size": lambda space: signed(space, size=3),
}


def test_damaged_or_doubtful_files_are_not_opened(written):
    """One test for all kinds of harm: each needs the same space, and a database of its own takes longest."""
    arena = build_arena(written.space, ENCODER)
    for name, harm in HARMS.items():
        files.remove_generations(written.space)
        files.write_generation(arena)
        assert files.open_newest(written.space, ENCODER) is not None, name
        harm(written.space)
        assert files.open_newest(written.space, ENCODER) is None, name


def test_instead_of_doubtful_files_the_arena_is_built(written, arena_cache):
    zero(written.space)
    with arena_cache.arena(written.space) as (arena, rung):
        assert (rung, arena.generation) == ("warm", 0)
        assert canonical_values(arena) == canonical_values(build_arena(written.space, ENCODER))


def test_files_older_than_the_log_are_not_opened(written):
    written.store("later")
    written.settle()
    Event.objects.filter(id__lte=Event.objects.order_by("-id")[1].id).delete()
    assert files.open_newest(written.space, ENCODER) is None


def test_files_of_another_database_are_not_opened(written):
    """A backup brought back beside files of a later time: the log may go on under the same numbers."""
    Grain.objects.filter(pk=Grain.objects.latest("id").pk).update(status="archived")
    event = Event.objects.latest("id")
    Event.objects.filter(pk=event.pk).update(subject="something else")
    assert files.open_newest(written.space, ENCODER) is None


def test_files_with_a_row_missing_in_the_database_are_not_opened(written):
    from memory.grains.models import Conduit, Vector

    last = Grain.objects.latest("id")
    Conduit.objects.filter(to_grain=last).delete()
    Vector.objects.filter(grain=last).delete()
    last.delete()  # and the log says nothing
    assert files.open_newest(written.space, ENCODER) is None


def test_only_the_newest_generation_is_kept_and_half_written_ones_go_in_time(written):
    home = settings.HOME.arenas / str(written.space)
    left, fresh = home / ".00000009-dead", home / ".00000009-busy"
    left.mkdir()
    fresh.mkdir()
    old = time.time() - 2 * files._ABANDONED_SECONDS
    os.utime(left, (old, old))
    files.write_generation(build_arena(written.space, ENCODER))
    assert sorted(path.name for path in home.iterdir()) == [".00000009-busy", "00000002"]


def test_a_process_with_an_old_generation_mapped_continues(written):
    opened = files.open_newest(written.space, ENCODER)
    files.write_generation(build_arena(written.space, ENCODER))
    assert not folder(written.space).exists()
    written.store("one more", entries=["paris"])
    assert coherence.catch_up(opened)
    assert canonical_values(opened) == canonical_values(build_arena(written.space, ENCODER))


def test_a_write_that_fails_leaves_nothing(written, monkeypatch):
    monkeypatch.setattr(files, "_write_meta", lambda *what: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        files.write_generation(build_arena(written.space, ENCODER))
    home = settings.HOME.arenas / str(written.space)
    assert [path.name for path in home.iterdir()] == ["00000001"]


def test_files_of_an_unsound_arena_are_removed(written, arena_cache):
    with arena_cache.arena(written.space) as (arena, _):
        assert arena.generation == 1
    arena.sound = False
    with arena_cache.arena(written.space) as (again, _):
        assert again.generation == 0 and again.index.size == 7
    assert files.newest_generation(written.space) == 0


def test_the_worker_writes_a_new_base_when_a_large_arena_has_outgrown_its_own(written, arena_cache, monkeypatch):
    monkeypatch.setattr(module, "AT_ONCE", 2)
    monkeypatch.setattr(module, "ON_DISK", 2)
    monkeypatch.setattr(arenas, "LATE_ROWS", 2)
    monkeypatch.setattr(module, "_current", arena_cache)
    with arena_cache.arena(written.space) as (first, _):
        assert first.generation == 1
    for number in range(4):
        written.store(f"late {number}")
    for _ in range(2):
        with arena_cache.arena(written.space) as (arena, rung):
            assert arena is first and rung == "warm"
    until = time.monotonic() + 20
    while any(one.name == f"arena-{written.space}" for one in threading.enumerate()):
        assert time.monotonic() < until
        time.sleep(0.01)
    assert Job.objects.filter(kind=jobs.MERGE).count() == 1
    arena_cache.drop(written.space)  # the worker is another process
    assert worker.run_one()
    assert Job.objects.get(kind=jobs.MERGE).state == "done"
    assert files.newest_generation(written.space) == 2
    other = module.ArenaCache()
    with other.arena(written.space) as (arena, _):
        assert (arena.generation, arena.late) == (2, 0)
        assert canonical_values(arena) == canonical_values(build_arena(written.space, ENCODER))
    other._arenas[written.space] = first
    with other.arena(written.space) as (arena, _):
        assert arena.generation == 2, "readers switch between requests"


def test_a_new_base_has_no_rows_of_deleted_grains(written, arena_cache):
    for grain in Grain.objects.order_by("id")[:2]:
        written.purge(grain)
    assert arena_cache.write(written.space) == 2
    opened = files.open_newest(written.space, ENCODER)
    assert opened.index.size == 5
    assert canonical_values(opened) == canonical_values(build_arena(written.space, ENCODER))


def test_the_position_is_kept_with_the_rows(written):
    meta = json.loads((folder(written.space) / files.META).read_text())
    assert Position.parse(meta["position"]) == files.open_newest(written.space, ENCODER).position


def test_mapped_arrays_are_plain_ones(written):
    opened = files.open_newest(written.space, ENCODER)
    assert type(opened.index.columns["id"]) is np.ndarray
