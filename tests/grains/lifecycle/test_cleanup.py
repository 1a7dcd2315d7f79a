"""Links that have faded to nothing are cut, and none that anybody still needs."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pytest

from fluxcore.models import Event, Job
from fluxcore.work import worker
from fluxcore.work.run import Run
from memory.arena.cache import arena_cache
from memory.grains.lifecycle import cleanup
from memory.grains.models import Conduit, Entry, Grain, UsefulPair, VoteEffect
from memory.learning import feedback
from tests.grains.learning.test_apply import led_there
from tests.grains.lifecycle.conftest import PLAIN

AI = {"provenance": "ai_stated"}


def talk(memory) -> None:
    """A conversation in which a question's answer comes over a link."""
    turns = ("Shall we book the ferry to Porto?", "Yes, Zoë says the blue one at nine.", "Then pack the green bag.")
    for place, text in enumerate(turns):
        memory.store(text, session="trip", speaker="Ada" if place % 2 else "Bo", **AI)
    for number in range(6):
        memory.store(f"Nothing to see here, note number {number}", session=f"other {number}", **AI)
    memory.drain()


def links() -> set[int]:
    return set(Conduit.objects.values_list("id", flat=True))


def test_a_link_goes_when_it_is_below_the_floor_and_the_arena_is_told(life):
    one, other = life.memory.store(PLAIN, **AI), life.memory.store("a gate that creaks", **AI)
    weak, strong = life.link(one, other, weight=0.2), life.link(other, one, weight=0.9)
    life.memory.ask("kettle")  # so that there is an arena to follow
    life.pass_days(20)
    life.rounds("clean")
    assert links() == {strong}
    assert Event.objects.get(kind="conduits.cut").data == {"conduits": 1}
    with arena_cache().arena(life.space.pk) as (arena, _):
        assert arena.index.graph.flat().weight.tolist() == pytest.approx([0.9])
    assert weak not in links()


def test_old_core_links_above_the_floor_do_not_keep_dead_ones_waiting(life, configure):
    """Weakness 22, starvation: there 1,000 old core conduits filled every batch, 500 dead ones were never collected."""
    configure(CLEANUP_BATCH_SIZE=100)
    grain = life.memory.store(PLAIN, **AI)
    number, at = life.number(grain), int(datetime.now(UTC).timestamp())
    entries = Entry.objects.bulk_create(
        [Entry(space=life.space, kind="term", feature=f"word{place}") for place in range(1_500)]
    )
    values = {"space": life.space, "to_grain_id": number, "relation": 0}
    core = {"weight": 0.95, "decay_class": 1, "made_at": at - 10**8, "used_at": at - 10**8}
    dead = {"weight": 0.5, "decay_class": 0, "made_at": at, "used_at": at}
    Conduit.objects.bulk_create(
        [
            Conduit(from_entry=entry, **values, **(core if place < 1_000 else dead))
            for place, entry in enumerate(entries)
        ]
    )
    configure(HALF_LIFE_CORE_HOURS=1e6)
    life.pass_days(30)
    life.rounds("clean")
    assert Conduit.objects.count() == 1_000
    assert not Conduit.objects.filter(decay_class=0).exists()
    assert Job.objects.filter(kind="grains.prune_links", state="done").count() >= 5, "a hundred in each commit"


def test_what_votes_stand_behind_stays_and_an_undo_finds_it_to_the_last_digit(life):
    talk(life.memory)
    before = {row.pk: (row.weight, row.affinity, row.gain) for row in Conduit.objects.all()}
    answer, why = led_there(life.memory)
    trace, grain = answer["trace_id"], why["grain_id"]
    life.memory.vote(trace, grain, True)
    life.memory.drain()
    voted = set(VoteEffect.objects.values_list("conduit_id", flat=True))
    assert voted & set(before)
    life.pass_days(400)
    life.rounds("clean")
    assert links() == voted, "everything else had faded"
    feedback.withdraw(life.memory.principal, trace=trace, grain=grain)
    worker.drain()
    left = {row.pk: (row.weight, row.affinity, row.gain) for row in Conduit.objects.all()}
    assert left == {number: before[number] for number in voted & set(before)}
    life.pass_days(1)
    life.rounds("clean")
    assert not links() - set(before), "without votes it ages like the others"


@pytest.mark.parametrize("relation", [1, 2, 3, 4])
def test_what_says_how_statements_bear_on_each_other_is_never_cut(life, relation):
    one, other = life.memory.store(PLAIN, **AI), life.memory.store("a gate that creaks", **AI)
    kept, neighbour = life.link(one, other, relation=relation), life.link(other, one)
    life.pass_days(4_000)
    life.rounds("clean")
    assert links() == {kept}
    assert neighbour not in links()


def test_what_leads_to_a_grain_in_use_stays(life):
    one, other = life.memory.store(PLAIN, **AI), life.memory.store("a gate that creaks", **AI)
    kept, gone = life.link(other, one), life.link(one, other)
    life.pass_days(60)
    life.memory.ask("when does the kettle whistle", k=1)
    life.rounds("notice", "clean")
    assert links() == {kept}
    assert gone not in links()


def test_a_shortcut_that_faded_can_be_earned_again(life):
    one, other = life.memory.store(PLAIN, **AI), life.memory.store("a gate that creaks", **AI)
    shortcut = life.link(one, other)
    UsefulPair.objects.create(
        space=life.space, one_id=life.number(one), other_id=life.number(other), count=3, conduit=shortcut
    )
    life.pass_days(60)
    life.rounds("clean")
    assert UsefulPair.objects.get().conduit is None


def test_what_was_used_while_the_worker_was_thinking_stays(life):
    one, other = life.memory.store(PLAIN, **AI), life.memory.store("a gate that creaks", **AI)
    link = life.link(one, other)
    life.pass_days(60)
    run = Run(0, None, "grains.prune_links", life.space.pk, {}, 1)
    apply = cleanup.clean(run)
    Conduit.objects.update(used_at=int(datetime.now(UTC).timestamp()))
    from fluxcore.writes import booth

    booth.write(apply)
    assert links() == {link}


def test_scores_are_finite_whatever_the_links_have_become(life):
    grain = life.memory.store("Zoe keeps the ladder behind the shed", provenance="user_stated")
    life.memory.drain()
    life.pass_days(36_500)
    life.rounds()
    (found,) = life.memory.ask("where does Zoe keep the ladder")["grains"]
    assert found["id"] == grain and np.isfinite(found["score"]) and 0 <= found["score"] <= 1
    assert Grain.objects.get().status == "active"
