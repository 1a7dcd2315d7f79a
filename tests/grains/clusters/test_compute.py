"""Clusters of a space: found, named, kept by id while most of them stays, and written only where they changed."""

from __future__ import annotations

from datetime import timedelta

import pytest
import time_machine
from django.db.models import Sum

from fluxcore import clock
from fluxcore.models import Event, Job
from fluxcore.work import worker
from fluxcore.work.run import Run
from fluxcore.writes import booth, write_locks
from memory.clusters import compute
from memory.clusters import jobs as cluster_jobs
from memory.grains.models import Cluster, Clustering, Conduit, Grain, Member
from tests.grains.clusters.conftest import clusters_of

pytestmark = pytest.mark.storage
GRAINS, ENTRIES = Cluster.Layer.GRAINS, Cluster.Layer.ENTRIES


def told() -> dict:
    return Event.objects.filter(kind="clusters.computed").order_by("id").last().data


def test_two_subjects_are_two_clusters_with_names(two):
    garden, ferry = two
    assert len(clusters_of(garden)) == len(clusters_of(ferry)) == 1
    assert clusters_of(garden) != clusters_of(ferry)
    named = {number: cluster.terms for number, cluster in Cluster.objects.filter(layer=GRAINS).in_bulk().items()}
    assert named[clusters_of(garden).pop()][0].lower() == "tomatoes"
    assert named[clusters_of(ferry).pop()][0].lower() == "ferry"
    assert sorted(Cluster.objects.filter(layer=GRAINS).values_list("size", flat=True)) == [5, 5]
    assert max(Member.objects.filter(grain__in=garden).values_list("weight", flat=True)) == 1.0


def test_entries_that_share_grains_are_clusters_too(two):
    found = Cluster.objects.filter(layer=ENTRIES)
    features = [set(Member.objects.filter(cluster=one).values_list("entry__feature", flat=True)) for one in found]
    assert sorted(map(sorted, features)) == [["anna", "garden club", "june"], ["bo", "harbour", "porto"]]
    assert {name for one in found for name in one.terms} == set().union(*features)


def test_an_entry_between_two_subjects_belongs_to_both_by_its_shares(town, two):
    garden, ferry = two
    booth.write(
        lambda: [town.conduit(grain, entry="zoe") for grain in (*garden[:2], *ferry[:2])],
        lock=write_locks.lock_name(town.space),
    )
    town.cluster()
    shares = list(Member.objects.filter(entry__feature="zoe").values_list("weight", flat=True))
    assert len(shares) == 2
    assert sum(shares) == pytest.approx(1)
    sums = Member.objects.exclude(entry=None).values_list("entry").annotate(Sum("weight")).values_list("weight__sum")
    assert all(total == pytest.approx(1) for (total,) in sums)


def test_what_one_grain_alone_mentions_ties_nothing(town, two):
    garden, _ = two
    booth.write(lambda: town.conduit(garden[0], entry="only here"), lock=write_locks.lock_name(town.space))
    town.cluster()
    assert not Member.objects.filter(entry__feature="only here").exists()


def test_a_second_run_writes_nothing(town, two):
    rows = list(Member.objects.order_by("id").values()), list(Cluster.objects.order_by("id").values())
    town.cluster()
    assert (list(Member.objects.order_by("id").values()), list(Cluster.objects.order_by("id").values())) == rows
    for layer in ("grains", "entries"):
        said = told()[layer]
        assert (said["clusters"], said["made"], said["changed"], said["dissolved"], said["members_moved"]) == (
            2,
            0,
            0,
            0,
            0,
        )


def test_one_event_a_run_sums_it_up_and_tells_no_text(two):
    (event,) = Event.objects.filter(kind="clusters.computed")
    assert event.data["grains"]["made"] == event.data["entries"]["made"] == 2
    assert event.data["grains"]["modularity"] > 0.4
    assert "tomatoes" not in str(event.data)


def test_a_cluster_that_grows_keeps_its_id(town, two):
    garden, ferry = two
    before = clusters_of(garden), clusters_of(ferry)
    made_at = Cluster.objects.get(id=before[0].copy().pop()).made_at
    new = town.store("A sixth note on tomatoes.", vector=False)
    for other in garden:
        town.link(new, other)
    town.cluster()
    assert (clusters_of(garden), clusters_of(ferry)) == before
    assert clusters_of([new]) == before[0]
    assert Cluster.objects.get(id=before[0].pop()).made_at == made_at
    assert told()["grains"]["changed"] == 1


def test_a_cluster_that_falls_apart_is_dissolved_and_leaves_its_members_free(town, two):
    garden, _ = two
    (was,) = clusters_of(garden)
    for conduit in Conduit.objects.filter(from_grain__in=garden):
        town.cut(conduit)
    town.cluster()
    assert clusters_of(garden) == set()
    gone = Cluster.objects.get(id=was)
    assert gone.dissolved_at is not None
    assert gone.size == 0
    assert told()["grains"]["dissolved"] == 1
    with time_machine.travel(clock.now() + compute.DISSOLVED_KEPT + timedelta(days=1)):
        town.cluster()
    assert not Cluster.objects.filter(id=was).exists()


def test_time_alone_pulls_nothing_apart(town, two):
    garden, ferry = two
    before = clusters_of(garden), clusters_of(ferry)
    with time_machine.travel(clock.now() + timedelta(days=3650)):
        town.cluster()
        assert (clusters_of(garden), clusters_of(ferry)) == before
    town.cluster()
    assert (clusters_of(garden), clusters_of(ferry)) == before


def test_grains_that_are_held_back_belong_to_none(town, two):
    garden, _ = two
    town.change(garden[0], status=Grain.Status.QUARANTINED)
    town.cluster()
    assert clusters_of(garden[:1]) == set()
    assert len(clusters_of(garden[1:])) == 1


def test_of_two_runs_at_once_one_is_applied(town, two):
    """Two machines computed from the same state: the slower one finds that it is stale."""
    run = Run(0, Job.objects.last().uuid, cluster_jobs.COMPUTE, town.space, {}, 1)
    first, second = compute.cluster(run), compute.cluster(run)
    for apply in (first, second):
        booth.write(apply, lock=write_locks.lock_name(town.space))
    assert Clustering.objects.get().run == 2
    assert Event.objects.filter(kind="clusters.computed").count() == 2
    assert run.lines[-1][1].startswith("Another run finished first")


def test_a_grain_that_was_purged_meanwhile_is_left_out(town):
    made = town.group("s", [f"note {number} on boats" for number in range(4)])
    run = Run(0, Job(kind="x").uuid, cluster_jobs.COMPUTE, town.space, {}, 1)
    apply = compute.cluster(run)
    number = made[0].pk
    town.purge(made[0])
    booth.write(apply, lock=write_locks.lock_name(town.space))
    assert not Member.objects.filter(grain_id=number).exists()
    assert Member.objects.filter(grain__in=[one.pk for one in made[1:]]).count() == 3


def test_an_empty_space_has_no_clusters(town):
    town.cluster()
    assert not Cluster.objects.exists()
    assert told()["grains"]["clusters"] == 0


def asked(space: int) -> bool:
    return booth.write(lambda: cluster_jobs.ask_for_clustering(space), lock=write_locks.lock_name(space))


def test_it_is_asked_for_when_enough_has_changed(town):
    assert not asked(town.space)
    made = town.group("s", [f"note {number}" for number in range(10)])
    assert asked(town.space)
    worker.drain()
    assert not asked(town.space)
    one = town.store("one more", vector=False)
    assert not asked(town.space)  # a little, and a moment ago
    with time_machine.travel(clock.now() + timedelta(days=8)):
        assert asked(town.space)  # a little, and a week ago
        worker.drain()
    with time_machine.travel(clock.now() + timedelta(days=16)):
        assert not asked(town.space)  # nothing since
    for other in made:
        town.link(one, other)
    assert asked(town.space)  # much at once


def test_the_arena_knows_the_clusters_from_the_log_as_from_the_tables(town, two):
    from memory.arena.build import build_arena
    from memory.arena.cache import arena_cache

    garden, _ = two
    with arena_cache().arena(town.space) as (arena, _):
        held = arena
    new = town.store("A sixth note on tomatoes.", vector=False)
    for other in garden:
        town.link(new, other)
    town.cluster()
    with arena_cache().arena(town.space) as (arena, _):
        assert arena is held  # it followed the log and was not built anew
        fresh = build_arena(town.space, arena.encoder)
        for name in ("cluster", "typical"):
            assert arena.index.column(name).tolist() == fresh.index.column(name).tolist()
        assert arena.index.column("cluster").tolist().count(clusters_of(garden).pop()) == 6
