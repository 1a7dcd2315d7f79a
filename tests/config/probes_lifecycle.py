"""Probes of the keys about the lifecycle: clusters, clean-up, clock jumps and retention."""

from __future__ import annotations

from datetime import timedelta

import numpy as np

from fluxcore import clock, uptime
from fluxcore.work import worker
from fluxcore.writes import booth, write_locks
from tests.arena.graph_writer import GraphWriter
from tests.config.probing import ProbeWorld, probe


def _town(world: ProbeWorld) -> GraphWriter:
    """Two groups of grains with few links between them, and one pair that is all by itself."""
    town = GraphWriter(world.memory().principal.space)
    groups = [[town.store(f"{name} {number}", vector=False) for number in range(5)] for name in ("garden", "ferry")]
    groups.append([town.store(f"pair {number}", vector=False) for number in range(2)])
    for group in groups:
        for place, start in enumerate(group):
            for to in group[place + 1 :]:
                town.link(start, to)
    town.link(groups[0][0], groups[1][0], weight=0.1)
    town.link(groups[0][0], groups[2][0], weight=0.1)
    return town


def _cluster(space: int) -> None:
    from memory.clusters.jobs import ask_for_clustering

    booth.write(lambda: ask_for_clustering(space, anyway=True), lock=write_locks.lock_name(space))
    worker.drain()


@probe("CLUSTER_MIN_SIZE", 1, stored=True)
@probe("LOUVAIN_RESOLUTION", 50.0, stored=True, CLUSTER_MIN_SIZE=1)
def sizes_of_clusters(world: ProbeWorld) -> object:
    from memory.grains.models import Cluster, Member

    space = _town(world).space
    _cluster(space)
    clusters = Cluster.objects.filter(space=space, dissolved_at=None)
    return sorted(Member.objects.filter(cluster=one).count() for one in clusters)


@probe("LOUVAIN_SEED", 1, stored=True)
def clusters_of_links_made_by_chance(world: ProbeWorld) -> object:
    """Where nothing else decides, the seed does; the same seed decides alike."""
    from memory.clusters.cluster_graph import ClusterGraph
    from memory.clusters.plan import plan_layer
    from memory.grains.models import Cluster

    chance = np.random.default_rng(0)
    one, two = chance.integers(0, 200, 600), chance.integers(0, 200, 600)
    graph = ClusterGraph(np.arange(200), one, two, np.ones(600))
    return sorted(plan_layer(world.memory().principal.space, Cluster.Layer.GRAINS, graph).members)


@probe("CLUSTER_INHERIT_OVERLAP_MIN", 0.9, stored=True)
@probe("CLUSTER_DISSOLVE_DECAY", 0.1, stored=True, CLUSTER_INHERIT_OVERLAP_MIN=1.0)
def how_old_clusters_are_matched(world: ProbeWorld) -> object:
    """A run hands both numbers to the matching of old and new clusters; one that did not overlap enough dissolves."""
    from memory.clusters import matching

    found: list[object] = []
    match = matching.match

    def noted(old: object, new: object, **numbers: float) -> matching.ClusterMatch:
        scattered = match(np.full(5, 7), np.array([0, 0, 1, 2, 3]), **numbers)
        found.append((scattered.keeps, scattered.moves))
        return match(old, new, **numbers)  # type: ignore[arg-type]

    world.patch.setattr(matching, "match", noted)
    _cluster(_town(world).space)
    world.patch.setattr(matching, "match", match)
    return found


@probe("CLUSTER_RECOMPUTE_MIN_INTERVAL_DAYS", 0.0, stored=True)
def clusters_are_due_after_a_small_change(world: ProbeWorld) -> object:
    from memory.clusters.recompute_due import is_due
    from memory.grains.models import Clustering, Grain

    town = _town(world)
    _cluster(town.space)
    Clustering.objects.filter(space=town.space).update(at=clock.now() - timedelta(hours=1))
    town.change(Grain.objects.filter(space=town.space).latest("id"), pinned=True)
    return is_due(town.space)


@probe("ENTRY_COOCCURRENCE_THRESHOLD", 1, stored=True)
def weights_between_entries(world: ProbeWorld) -> object:
    from memory.clusters import compute
    from memory.clusters.plan import ClusterPlan

    town = GraphWriter(world.memory().principal.space)
    for number in range(3):
        town.store(f"note {number}", entries=("anna", "porto"), vector=False)
    seen: list[object] = []
    real = compute.plan_layer

    def plan(space: int, layer: object, graph: object) -> ClusterPlan:
        seen.append(graph.weight.tolist())  # type: ignore[attr-defined]
        return real(space, layer, graph)  # type: ignore[arg-type]

    world.patch.setattr(compute, "plan_layer", plan)
    _cluster(town.space)
    world.patch.setattr(compute, "plan_layer", real)
    return seen


@probe("CLEANUP_BATCH_SIZE", 1, stored=True)
def statements_of_a_clean_up(world: ProbeWorld) -> object:
    """Smaller steps read the same conduits in more statements."""
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    from memory.grains.lifecycle import jobs
    from memory.grains.models import Conduit

    town = _town(world)
    booth.write(lambda: jobs.clean(town.space), lock=write_locks.lock_name(town.space))
    with CaptureQueriesContext(connection) as captured:
        worker.drain()
    return sum(Conduit._meta.db_table in one["sql"] for one in captured.captured_queries)


@probe("CLOCK_JUMP_HOURS", 1.0, stored=True)
@probe("CLOCK_DOUBT_HOURS", 1.0, stored=True)
def doubts_about_the_clock(world: ProbeWorld) -> object:
    """The clock moves by two hours now; it moved by a week two lived hours ago."""
    booth.write(uptime.count_minute)
    step = uptime.now(clock.now() + timedelta(hours=2)).doubt
    kept = uptime.UptimeClock.objects.get()
    uptime.UptimeClock.objects.update(doubted=kept.lived, jump=7 * 86_400, lived=kept.lived + 7200)
    long_ago = uptime.now().doubt
    uptime.UptimeClock.objects.all().delete()
    return step, long_ago


@probe("TRACE_RETENTION_DAYS", 1.0, stored=True)
@probe("TRACE_RETENTION_COUNT", 1, stored=True)
def traces_after_two_days(world: ProbeWorld) -> object:
    from memory.grains.models import Trace
    from memory.recall import trace_retention, traces

    memory = world.memory()
    for number in range(3):
        memory.ask(f"question {number}")
    traces.flush()
    kept = Trace.objects.filter(space=memory.principal.space)
    kept.update(at=clock.now() - timedelta(days=2))
    booth.write(trace_retention.delete_expired)
    return kept.count()


@probe("MAX_TRACE_BYTES_PER_HOUR", 500)
def traces_that_are_kept_whole(world: ProbeWorld) -> object:
    from memory.recall import trace_budget

    world.patch.setattr(trace_budget, "_spent", {})
    return [trace_budget.spend_bytes(1, "agent:a", 400) for _ in range(2)]


@probe("PURGE_UNDO_WINDOW_HOURS", 1.0)
def deletion_is_carried_out_after_two_hours(world: ProbeWorld) -> object:
    from memory.grains.lifecycle import rules

    return rules.is_deletion_due(lived=7200, seconds=7200)
