"""Probes of the keys about recall: propagation, decay, expansion and context shifts."""

from __future__ import annotations

from datetime import timedelta

import numpy as np

from fluxcore import clock
from fluxcore.writes import booth, write_locks
from tests.config.probing import ProbeWorld, probe

HOUR = 3600


@probe("TOP_K", 1, stored=True)
def grains_of_an_answer(world: ProbeWorld) -> object:
    memory = world.memory()
    for number in range(3):
        memory.store(f"The ferry to Porto leaves from pier {number}")
    return len(memory.ask("ferry to Porto")["grains"])


@probe("MAX_HOPS", 0, stored=True)
@probe("ATTENUATION", 0.3, stored=True)
@probe("ACTIVATION_THRESHOLD", 0.5, stored=True)
def signals_along_a_chain_of_links(world: ProbeWorld) -> object:
    """What the turns of a talk receive when signals enter at the first and the third, by the numbers of a recall."""
    from memory.arena.cache import arena_cache
    from memory.engine.graph.propagate import Signals, spread_signal
    from memory.recall import engine_settings

    memory = world.memory()
    for turn in ("Shall we book the ferry?", "Yes, the blue one at nine.", "Then pack the bag.", "It is done."):
        memory.store(turn, session="trip")
    memory.ask("ferry")  # so that there is an arena
    now = int(clock.now().timestamp())
    with arena_cache().arena(memory.principal.space) as (arena, _):
        assert arena is not None
        found = spread_signal(
            arena.index.graph,
            seeds=Signals(np.array([0, 2]), np.array([1.0, 0.3])),
            now=now,
            settings=engine_settings.current().propagation,
            fading=engine_settings.current().fading,
            active=np.ones(4, bool),
            authority=arena.index.column("authority"),
        )
    return sorted(zip(found.rows.tolist(), found.received.round(3).tolist(), strict=True))


@probe("HALF_LIFE_CORE_HOURS", 10.0)
@probe("HALF_LIFE_WORKING_HOURS", 10.0)
@probe("HALF_LIFE_EPHEMERAL_HOURS", 10.0)
@probe("NEW_CONDUIT_GRACE_HOURS", 0.0)
@probe("NEW_CONDUIT_GRACE_MULTIPLIER", 5.0)
@probe("NEW_CONDUIT_MIN_WEIGHT", 0.5)
def weights_after_a_day(world: ProbeWorld) -> object:
    """A conduit of each class, one day old and one year old, not used for a day."""
    from memory.engine.graph import decay
    from memory.grains import decay_settings

    now = 10**9
    made = np.repeat([now - 24 * HOUR, now - 8760 * HOUR], 3)
    left = decay.effective_weight(
        np.full(6, 0.5, np.float32),
        used=np.full(6, now - 24 * HOUR),
        made=made,
        decay_class=np.tile([0, 1, 2], 2),
        now=now,
        fading=decay_settings.current(),
    )
    return left.tolist()


UNSURE = {"EXPANSION_CONFIDENCE_THRESHOLD": 1.0}


@probe("EXPANSION_ENABLED", False, stored=True, **UNSURE)
@probe("EXPANSION_CONFIDENCE_THRESHOLD", 0.0, first=1.0, stored=True)
@probe("EXPANSION_MAX_CANDIDATES", 1, stored=True, **UNSURE)
@probe("EXPANSION_CANDIDATES_PER_CLUSTER", 0, stored=True, **UNSURE)
def neighbours_that_are_offered(world: ProbeWorld) -> object:
    from memory.clusters.jobs import ask_for_clustering

    memory = world.memory()
    for text in ("Plant the tomatoes.", "By the wall.", "Compost first.", "Water at dawn.", "A net in the shed."):
        memory.store(text, session="garden")
    memory.drain()
    space = memory.principal.space
    booth.write(lambda: ask_for_clustering(space, anyway=True), lock=write_locks.lock_name(space))
    memory.drain()
    answer = memory.ask("something about a shed", k=1)
    return sorted((one["content"], bool(one["cluster"])) for one in answer["expansion_candidates"])


@probe("EXPLORATION_BOOST", 3.0)
def what_is_offered_after_a_shift(world: ProbeWorld) -> object:
    from memory.recall import engine_settings

    found = engine_settings.current(exploring=True)
    return found.expansion, found.per_cluster, found.unsure


@probe("CONTEXT_SHIFT_ENABLED", False, stored=True, CONTEXT_SHIFT_WINDOW=4)
@probe("CONTEXT_SHIFT_WINDOW", 4, stored=True)
@probe("CONTEXT_SHIFT_DROP_THRESHOLD", 1.0, stored=True, CONTEXT_SHIFT_WINDOW=4)
@probe("CONTEXT_SHIFT_RECOVERY_RETRIEVALS", 7, stored=True, CONTEXT_SHIFT_WINDOW=4)
def recalls_a_shift_lasts(world: ProbeWorld) -> object:
    """Four judged recalls: two useful ones, one that is and one that is not."""
    from memory.clusters import context_shift
    from memory.grains.models import ContextShift, Grain, JudgedQuestion, Trace, Vote

    memory = world.memory()
    memory.store("a grain")
    space, grain, at = memory.principal.space, Grain.objects.latest("id"), clock.now() - timedelta(hours=1)
    for useful in (True, True, True, False):
        trace = Trace.objects.create(
            space_id=space,
            actor="agent:a",
            at=at,
            query="q",
            rung="warm",
            confidence=0.5,
            hop_count=0,
            body="{}",
            rated=True,
        )
        judged = JudgedQuestion.objects.create(
            uuid=trace.uuid, space_id=space, actor="agent:a", asked_at=at, query="q", terms=b""
        )
        Vote.objects.create(space_id=space, judged=judged, grain=grain, useful=useful, strength=1.0, scale=1.0, at=at)
    booth.write(lambda: context_shift.detect_shift(space), lock=write_locks.lock_name(space))
    return list(ContextShift.objects.filter(space=space).values_list("remaining", flat=True))
