"""Time passes: what nobody needs is put aside, what somebody needs comes back, and nothing is out of reach."""

from __future__ import annotations

import pytest

from fluxcore.models import Event, Job
from fluxcore.writes import booth
from memory.grains.lifecycle import ageing, last_use, revive, verbs
from memory.grains.lifecycle.rules import ACTIVE
from memory.grains.models import (
    Cluster,
    ClusterUse,
    Conduit,
    Cursor,
    Grain,
    JudgedQuestion,
    LastRecall,
    TraceGrain,
    Transition,
    Vote,
)
from tests.grains.lifecycle.conftest import PLAIN

AI = {"provenance": "ai_stated"}


def test_a_machines_remark_that_nobody_needed_becomes_dormant_then_archived_and_is_still_found(life):
    """Weakness 16 of the seed, silent forgetting: there a fact was out of reach after 24 days."""
    grain = life.memory.store(PLAIN, **AI)
    life.pass_days(89)
    life.rounds("age")
    assert life.status(grain) == "active"
    life.pass_days(1)
    life.rounds("age")
    assert life.status(grain) == "dormant"
    (step,) = Transition.objects.all()
    assert (step.why, step.actor, step.numbers["unused_days"]) == ("faded", "worker", 90.0)
    life.pass_days(30)
    life.rounds("age")
    assert life.status(grain) == "archived"
    assert life.memory.texts("when does the kettle whistle") == [PLAIN]
    assert list(Event.objects.filter(subject=grain).order_by("id").values_list("kind", flat=True)) == [
        "grain.stored",
        "grain.dormant",
        "grain.archived",
    ]


@pytest.mark.either_database
@pytest.mark.parametrize("kept", [{"provenance": "user_stated"}, AI])
def test_what_a_person_said_or_pinned_stays_for_ten_years(life, kept):
    """Weakness 16: "allergic to penicillin" is not forgotten for want of a vote."""
    grain = life.memory.store("I am allergic to penicillin", **kept)
    if kept == AI:
        Grain.objects.update(pinned=True)
    before = set(Conduit.objects.values_list("id", flat=True))
    for _ in range(10):
        life.pass_days(365)
        life.rounds()
    assert life.status(grain) == "active"
    assert set(Conduit.objects.values_list("id", flat=True)) == before, "and so does what leads to it"
    assert life.memory.texts("what am I allergic to")[0].endswith("penicillin")


def test_being_recalled_is_use_though_nobody_judged_it(life):
    """Weakness 16: there a recall without feedback did not help. The traces that tell of it may be gone by now."""
    used, unneeded = life.memory.store(PLAIN, **AI), life.memory.store("moss grows on the north side of a wall", **AI)
    for _ in range(4):
        life.pass_days(45)
        life.memory.ask("when does the kettle whistle", k=1)
        life.rounds("notice")
    life.rounds("age")
    assert (life.status(used), life.status(unneeded)) == ("active", "dormant")
    assert LastRecall.objects.get().grain_id == life.number(used)


def test_taking_over_what_was_recalled_twice_or_late_changes_nothing(life, monkeypatch):
    life.memory.store(PLAIN, **AI)
    life.memory.ask("kettle")
    life.rounds("notice")
    seen = LastRecall.objects.values().get()
    Cursor.objects.update(number=0)
    life.rounds("notice", "notice")
    assert LastRecall.objects.values().get() == seen
    monkeypatch.setattr(last_use, "PAGE", 1)
    for _ in range(3):
        life.memory.ask("kettle")
    life.rounds("notice")
    assert Cursor.objects.get().number == TraceGrain.objects.latest("id").pk, "piece by piece to the end"
    assert Job.objects.filter(kind="grains.record_use", state="done").count() >= 6


def test_a_useful_vote_brings_back_what_had_faded_with_what_led_to_it(life):
    grain = life.memory.store("Zoe keeps the ladder behind the shed", **AI)
    life.memory.drain()
    life.pass_days(120)
    life.rounds("clean", "age")
    assert life.status(grain) == "dormant"
    assert not Conduit.objects.exists()
    answer = life.memory.ask("where is the ladder")
    life.memory.vote(answer["trace_id"], grain, True)
    life.memory.drain()
    assert life.status(grain) == "active"
    last = Transition.objects.latest("id")
    assert (last.before, last.after, last.why) == ("dormant", "active", "was useful")
    names = set(Conduit.objects.exclude(from_entry=None).values_list("from_entry__feature", flat=True))
    assert "zoe" in names
    life.rounds("clean", "age")
    assert life.status(grain) == "active", "and does not fade again at once"


def test_an_archived_grain_comes_back_by_use_too_and_a_harmful_vote_brings_nothing_back(life):
    grain = life.memory.store(PLAIN)
    verbs.archive(life.keeper, grain=grain)
    trace = life.memory.ask("kettle")["trace_id"]
    life.memory.vote(trace, grain, False)
    life.memory.drain()
    assert life.status(grain) == "archived"
    life.memory.vote(trace, grain, True)
    life.memory.drain()
    assert life.status(grain) == "active"


def test_a_grain_without_any_link_is_no_zombie(life):
    """Weakness 21: there a grain whose last link began at it stayed active, and nothing could reach it."""
    zombie, other = life.memory.store(PLAIN, **AI), life.memory.store("a gate that creaks", **AI)
    life.link(zombie, other)
    life.pass_days(95)
    life.rounds("clean", "age")
    assert not Conduit.objects.exists()
    assert life.memory.texts("kettle", k=1) == [PLAIN], "its own words find it"
    assert life.status(zombie) == life.status(other) == "dormant", "the end a link began at is looked at too"


def test_a_link_that_begins_at_a_grain_keeps_it_awake(life):
    one, other = life.memory.store(PLAIN, **AI), life.memory.store("a gate that creaks", **AI)
    life.pass_days(95)
    life.link(one, other)
    life.rounds("age")
    assert life.status(one) == life.status(other) == "active"


def _judge(life, grain, useful, *, query="q", actor="agent:alice", corrected=False):
    import uuid

    from fluxcore import clock

    question = JudgedQuestion.objects.create(
        uuid=uuid.uuid4(), space=life.space, actor=actor, asked_at=clock.now(), query=query, terms=b""
    )
    return Vote.objects.create(
        space=life.space,
        judged=question,
        grain_id=life.number(grain),
        useful=useful,
        strength=1.0,
        scale=1.0,
        at=clock.now(),
        implied=corrected,
        corrected=corrected,
        applied=True,
    )


def test_three_corrections_put_a_grain_into_quarantine_and_out_of_answers(life):
    """Weakness 37: there quarantine, demotion and pending deletion were words without code."""
    grain = life.memory.store(PLAIN, **AI)
    for number in range(2):
        _judge(life, grain, False, query=str(number), corrected=True)
    life.rounds("age")
    assert life.status(grain) == "active"
    _judge(life, grain, False, query="2", corrected=True)
    life.rounds("age")
    assert life.status(grain) == "quarantined"
    assert life.memory.texts("kettle") == []
    assert life.memory.texts("kettle", statuses=["quarantined"]) == [PLAIN]
    life.pass_days(30)
    life.rounds("age")
    assert life.status(grain) == "archived", "a rule's quarantine ends"
    assert life.memory.texts("kettle") == [PLAIN]


@pytest.mark.either_database
def test_what_nobody_said_quarantines_nothing(life):
    """Weakness 15: there answers that were closed by a rule lowered a grain's usefulness as if somebody had judged."""
    grain = life.memory.store(PLAIN, **AI)
    for number in range(12):
        vote = _judge(life, grain, False, query=f"question {number}")
        Vote.objects.filter(pk=vote.pk).update(implied=True)
    life.rounds("age")
    assert life.status(grain) == "active"


@pytest.mark.either_database
def test_a_quarantine_that_a_person_ordered_ends_by_a_person(life):
    from accounts.principals import shell

    grain = life.memory.store(PLAIN, **AI)
    verbs.quarantine(shell(), grain=grain)
    life.pass_days(300)
    life.rounds("age")
    assert life.status(grain) == "quarantined"


def test_ten_useless_answers_quarantine_and_one_caller_who_repeats_himself_does_not(life):
    one, other = life.memory.store(PLAIN, **AI), life.memory.store("a gate that creaks", **AI)
    for number in range(10):
        _judge(life, one, False, query="the same again")
        _judge(life, other, number == 0, query=f"question {number}")
    life.rounds("age")
    assert (life.status(one), life.status(other)) == ("active", "quarantined")


@pytest.mark.either_database
def test_one_agent_alone_does_not_put_away_what_another_stored(life):
    """However many questions it asks: hostile votes must not hide what others rely on."""
    useless, corrected = life.memory.store(PLAIN, **AI), life.memory.store("a gate that creaks", **AI)
    for number in range(40):
        _judge(life, useless, False, query=f"question {number}", actor="agent:mallory")
        _judge(life, corrected, False, query=f"question {number}", actor="agent:mallory", corrected=True)
    life.rounds("age")
    assert (life.status(useless), life.status(corrected)) == ("active", "active")
    for number in range(5):
        _judge(life, useless, False, query=f"question {number}", actor="agent:bob")
    _judge(life, corrected, False, actor="agent:bob", corrected=True)
    life.rounds("age")
    assert (life.status(useless), life.status(corrected)) == ("quarantined", "quarantined")


@pytest.mark.either_database
def test_a_person_may_put_away_alone_what_an_agent_stored(life):
    grain = life.memory.store(PLAIN, **AI)
    for number in range(10):
        _judge(life, grain, False, query=f"question {number}", actor="user:ada")
    life.rounds("age")
    assert life.status(grain) == "quarantined"


def test_votes_taken_back_bring_a_grain_out_of_quarantine(life):
    from accounts.principals import shell
    from memory.learning import ledger

    grain = life.memory.store(PLAIN, **AI)
    for number in range(10):
        _judge(life, grain, False, query=f"question {number}")
    life.rounds("age")
    assert life.status(grain) == "quarantined"
    ledger.undo_votes(shell(), caller="agent:alice")
    life.memory.drain()
    assert life.status(grain) == "active", "without waiting for the next round"
    assert Transition.objects.order_by("id").last().why == "no reason left"


@pytest.mark.either_database
def test_what_was_said_before_somebody_released_a_grain_is_settled(life):
    grain = life.memory.store(PLAIN, **AI)
    for number in range(10):
        _judge(life, grain, False, query=f"question {number}")
    life.rounds("age")
    verbs.release(life.keeper, grain=grain)
    life.pass_days(1)
    life.rounds("age")
    assert life.status(grain) == "active"
    Grain.objects.update(status="dormant")
    booth.write(lambda: revive.revive_used(life.space.pk, [life.number(grain)]))
    life.rounds("age")
    assert life.status(grain) == "active", "whatever became of it since"
    for number in range(10):
        _judge(life, grain, False, query=f"another {number}")
    life.rounds("age")
    assert life.status(grain) == "quarantined", "what was said since counts"


def _widely_useful(life):
    """A grain that is useful through three clusters."""
    from fluxcore import clock

    grain = life.memory.store(PLAIN, **AI)
    for number in range(3):
        cluster = Cluster.objects.create(
            space=life.space, layer=1, name=str(number), made_at=clock.now(), changed_at=clock.now()
        )
        ClusterUse.objects.create(
            space=life.space, grain_id=life.number(grain), cluster=cluster, weight=1.0, at=clock.now()
        )
    return grain


@pytest.mark.either_database
def test_what_somebody_made_a_working_grain_no_rule_makes_core_again(life):
    grain = _widely_useful(life)
    life.rounds("age")
    assert Grain.objects.get().decay_class == 1
    verbs.demote(life.keeper, grain=grain)
    life.rounds("age")
    assert Grain.objects.get().decay_class == 0


def test_widely_useful_grains_become_core_and_lose_it_again(life):
    _widely_useful(life)
    life.rounds("age")
    assert Grain.objects.get().decay_class == 1
    ClusterUse.objects.filter(cluster__name__in=["0", "1"]).update(weight=0.2)
    life.rounds("age")
    assert Grain.objects.get().decay_class == 0
    assert [(one.before, one.after, one.numbers["clusters"]) for one in Transition.objects.order_by("id")] == [
        ("working", "core", 3),
        ("core", "working", 1),
    ]


def test_every_page_is_a_commit_of_its_own_and_none_is_left_out(life, monkeypatch):
    monkeypatch.setattr(ageing, "PAGE", 3)
    grains = [life.memory.store(f"remark number {number} about moss", **AI) for number in range(8)]
    life.memory.drain()
    Conduit.objects.all().delete()
    life.pass_days(91)
    life.rounds("age")
    assert {life.status(grain) for grain in grains} == {"dormant"}
    assert Job.objects.filter(kind="grains.decay", state="done").count() == 3


def test_what_changed_while_the_worker_was_thinking_is_left_alone(life):
    """Run twice, or on two machines: each step is taken once, from where the grain was seen."""
    grain = life.memory.store(PLAIN, **AI)
    life.pass_days(91)
    found = ageing._page(life.space.pk, 0)
    steps = ageing.plan_transitions(life.space.pk, found)
    assert [step.after for step in steps] == ["dormant"]
    from memory.grains.lifecycle import transitions

    assert booth.write(lambda: len(transitions.apply_transitions(life.space.pk, steps, actor="worker"))) == 1
    assert booth.write(lambda: len(transitions.apply_transitions(life.space.pk, steps, actor="worker"))) == 0
    assert Transition.objects.count() == 1
    assert life.status(grain) != ACTIVE


def test_status_is_looked_at_again_when_the_answer_is_written(life):
    """Weakness 23: there archived grains were answered as active until the next refresh."""
    grain = life.memory.store(PLAIN, **AI)
    assert life.memory.ask("kettle")["grains"][0]["status"] == "active"
    verbs.archive(life.keeper, grain=grain)
    assert life.memory.ask("kettle")["grains"][0]["status"] == "archived"
    Grain.objects.update(status="quarantined")  # behind the back of every index
    assert life.memory.ask("kettle")["grains"] == []
