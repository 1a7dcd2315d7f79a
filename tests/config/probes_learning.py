"""Probes of the keys about learning: votes, reminders, implied votes and quarantine."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import numpy as np

from fluxcore import clock
from tests.config.probing import ProbeWorld, probe
from tests.grains.conftest import Memory


def _weights(memory: Memory) -> list[tuple[float, float]]:
    from memory.grains.models import Conduit

    found = Conduit.objects.filter(space=memory.principal.space).order_by("id")
    return [(round(weight, 6), round(affinity, 6)) for weight, affinity in found.values_list("weight", "affinity")]


@probe("LEARNING_RATE", 0.5, stored=True)
@probe("DECAY_FACTOR", 0.3, stored=True)
@probe("WEIGHT_CEILING", 0.3, stored=True)
@probe("INITIAL_ENTRY_WEIGHT", 0.2, stored=True)
def weights_after_votes(world: ProbeWorld) -> object:
    memory = world.memory()
    first = memory.store("What do you do for a living, Maria?", session="talk", speaker="Tom")
    second = memory.store("I restore old clocks", session="talk", speaker="Maria")
    answer = memory.ask("What does Maria do for a living?")
    memory.vote(answer["trace_id"], first, useful=False)
    memory.vote(answer["trace_id"], second, useful=True)
    memory.drain()
    return _weights(memory)


@probe("INITIAL_WEIGHT_SCALE", 0.1, stored=True)
@probe("WEIGHT_FLOOR", 0.9, stored=True)
@probe("DEDUP_SIMILARITY_THRESHOLD", 0.0, stored=True)
def links_of_near_texts(world: ProbeWorld) -> object:
    """Weights of the links that vectors make, and what the job says about near copies."""
    from fluxcore.models import Job

    memory = world.memory()
    memory.store("the kettle whistles when the water boils over")
    memory.store("the kettle whistles if the water boils")
    memory.drain()
    job = Job.objects.filter(kind="grains.enrich", space=memory.principal.space).latest("id")
    return _weights(memory), list(job.lines.values_list("text", flat=True))


@probe("SHORTCUT_THRESHOLD", 5, stored=True)
@probe("INITIAL_SHORTCUT_WEIGHT", 0.2, stored=True)
@probe("MAX_EDGES_PER_GRAIN", 1, stored=True)
def shortcuts_of_three_questions(world: ProbeWorld) -> object:
    from memory.grains.models import Conduit

    memory = world.memory()
    grains = [memory.store(text) for text in ("Kim keeps bees", "Honey is sold in Delft", "Wax is here")]
    memory.drain()
    links = Conduit.objects.filter(space=memory.principal.space, from_grain__isnull=False)
    links.delete()
    for turn in range(3):
        memory.vote(memory.ask(f"zzz qqq {turn}")["trace_id"], missed=grains)
        memory.drain()
    return list(links.values_list("weight", flat=True))


@probe("USEFULNESS_WINDOW_DAYS", 1.0, stored=True)
def speed_of_learning_after_old_votes(world: ProbeWorld) -> object:
    from memory.grains.models import Grain, Vote
    from memory.learning import feedback

    memory = world.memory()
    grain = memory.store("The ferry leaves at nine")
    memory.vote(memory.ask("When does the ferry leave?")["trace_id"], grain, useful=False)
    Vote.objects.update(at=clock.now() - timedelta(days=2))
    return list(feedback.learning_scales({Grain.objects.get(uuid=grain).pk}).values())


@probe("FEEDBACK_ENFORCEMENT_ENABLED", False, stored=True)
@probe("FEEDBACK_ENFORCEMENT_GRACE_SECONDS", 7200.0, stored=True)
@probe("FEEDBACK_ENFORCEMENT_MAX_BLOCK_SECONDS", 600.0, stored=True)
def reminders_of_an_hour_ago(world: ProbeWorld) -> object:
    from memory.grains.models import Trace
    from memory.recall import pending_feedback

    memory = world.memory()
    memory.store("The ferry leaves at nine")
    memory.ask("When does the ferry leave?")
    Trace.objects.update(at=clock.now() - timedelta(hours=1))
    pending_feedback.refresh_pending([(memory.principal.space, memory.principal.actor)])
    return pending_feedback.feedback_hint(memory.principal) is not None


@probe("IMPLIED_VOTES_ENABLED", False, stored=True)
@probe("IMPLIED_VOTE_STRENGTH", 0.7, stored=True)
@probe("CORRECTION_DETECTION_TURNS", 1, stored=True)
def votes_of_a_rephrased_question(world: ProbeWorld) -> object:
    from fluxcore.models import Job
    from memory.grains.models import Vote
    from memory.learning import inferred_votes

    inferred_votes._asked.clear()
    memory = world.memory()
    for text in ("The office printer is out of toner", "The office plants need water", "Bo plays the cello"):
        memory.store(text)
    memory.drain()
    memory.ask("which office printer broke", k=2)
    memory.ask("who plays the cello")
    memory.ask("which office printer is out of toner", k=1)
    Job.objects.filter(kind="learning.infer").update(due_at=clock.now())
    memory.drain()
    return list(Vote.objects.filter(space=memory.principal.space).values_list("strength", flat=True))


@probe("EPISTEMIC_CHECK_SIMILARITY", 1.0, first=0.0, stored=True)
def texts_that_are_looked_at_as_corrections(world: ProbeWorld) -> object:
    from fluxcore.models import Job

    memory = world.memory()
    memory.store("the kettle whistles when the water boils over")
    memory.store("the kettle whistles if the water boils")
    memory.drain()
    return Job.objects.filter(kind="learning.infer", space=memory.principal.space).count()


@probe("QUARANTINE_USEFULNESS_THRESHOLD", 0.05)
@probe("QUARANTINE_MIN_RETRIEVALS", 50)
@probe("QUARANTINE_CORRECTION_COUNT", 10)
@probe("QUARANTINE_PERIOD_DAYS", 300.0)
@probe("DORMANCY_LIMIT_DAYS", 300.0)
@probe("DORMANCY_UNUSED_DAYS", 300.0)
@probe("PROMOTION_THRESHOLD", 10)
@probe("DEMOTION_UNUSED_DAYS", 300.0)
def verdicts_of_the_rules(world: ProbeWorld) -> object:
    from memory.grains.lifecycle import rules

    active = rules.GrainFacts("active", 0, False, 2, strongest=0.5, unused_days=0.0)
    core = replace(active, decay_class=1, class_by_rule=True, spread=9, useful_days=100.0)
    cases = [
        replace(active, judged=20, useful=2),
        replace(active, judged=3, corrections=3),
        replace(active, status="quarantined", status_days=100.0, judged=3, corrections=20),
        replace(active, status="dormant", status_days=100.0),
        replace(active, strongest=0.0, unused_days=100.0),
        replace(active, spread=3),
        core,
    ]
    return [(rules.next_status(one), rules.next_decay_class(one)) for one in cases]


@probe("CLEANUP_STALE_HOURS", 1000.0)
def conduits_that_are_cut(world: ProbeWorld) -> object:
    from memory.grains.lifecycle import rules

    long_ago = np.array([10**9 - 100 * 3600])
    cut = rules.dead_conduits(
        np.array([0.01], np.float32), used=long_ago, made=long_ago, decay_class=np.array([0]), now=10**9
    )
    return cut.tolist()


@probe("CLUSTER_TOUCH_THRESHOLD", 5.0, stored=True)
def clusters_a_grain_is_useful_through(world: ProbeWorld) -> object:
    from memory.clusters.breadth import count_clusters_used
    from memory.grains.models import Cluster, ClusterUse, Grain

    memory = world.memory()
    memory.store("a grain")
    space, grain = memory.principal.space, Grain.objects.latest("id")
    layer, now = Cluster.Layer.GRAINS, clock.now()
    cluster = Cluster.objects.create(space_id=space, layer=layer, made_at=now, changed_at=now)
    ClusterUse.objects.create(space_id=space, grain=grain, cluster=cluster, weight=2.0, at=now)
    return list(count_clusters_used(space, [grain.pk]).values())
