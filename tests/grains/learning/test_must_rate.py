"""Blocking is an option of one agent: it votes on its own earlier answers before it gets another."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from accounts import agents
from accounts.models import AuditEntry
from accounts.principals import shell
from fluxcore import clock
from fluxcore.errors import FeedbackDue, Forbidden
from memory.grains.lifecycle.purge import purge
from memory.grains.models import Trace
from memory.recall import pending_feedback
from tests.grains.conftest import Memory

pytestmark = pytest.mark.storage


@pytest.fixture
def strict(memory, configure):
    """Alice must vote, has asked, and has not voted yet."""
    configure(FEEDBACK_ENFORCEMENT_GRACE_SECONDS=0)
    pending_feedback._seen.clear()
    memory.store("Mia moved to Lisbon in 2021")
    memory.drain()
    agents.set_must_rate(shell(), space="home", name="alice", must_rate=True, reason="trial")
    strict = Memory()
    return strict, strict.ask("Where did Mia move?")


def test_nobody_is_held_up_by_default(memory, configure):
    configure(FEEDBACK_ENFORCEMENT_GRACE_SECONDS=0)
    memory.store("Mia moved to Lisbon in 2021")
    assert memory.ask("Where did Mia move?")["grains"]
    assert memory.ask("Where did Mia move to?")["grains"]


def test_who_must_vote_is_told_which_answers_wait(strict):
    memory, answer = strict
    with pytest.raises(FeedbackDue) as refused:
        memory.ask("And when?")
    assert (refused.value.status, refused.value.code) == (409, "feedback_due")
    (waiting,) = refused.value.details["pending"]
    assert waiting["trace_id"] == answer["trace_id"]
    assert waiting["grain_ids"] == [grain["id"] for grain in answer["grains"]]


def test_a_vote_opens_the_way(strict):
    memory, answer = strict
    memory.vote(answer["trace_id"], answer["grains"][0]["id"], useful=True)
    assert memory.ask("Where is Mia?")["grains"]


def test_an_answer_of_which_nothing_is_left_holds_nobody_up(strict):
    memory, answer = strict
    for grain in answer["grains"]:
        with pytest.raises(FeedbackDue):
            memory.ask("And when?")
        purge(shell(), grain=grain["id"], reason="asked to forget")
    assert memory.ask("And when?")["grains"] == []


def test_nobody_waits_for_somebody_elses_answers(strict):
    bob = Memory(agent="bob")
    agents.set_must_rate(shell(), space="home", name="bob", must_rate=True)
    assert Memory(agent="bob").ask("Where did Mia move?")["grains"]
    assert (
        pending_feedback.list_pending(bob.principal)["pending"]
        != pending_feedback.list_pending(strict[0].principal)["pending"]
    )


def test_who_cannot_vote_is_not_asked_to(strict):
    memory, _ = strict
    blind = replace(memory.principal, capabilities=type(memory.principal.capabilities)(("grains.read",)))
    memory.principal = blind
    assert memory.ask("Where did Mia move?")["grains"]


def test_after_a_day_the_way_is_open_again(strict):
    memory, _ = strict
    Trace.objects.update(at=clock.now() - timedelta(days=1, minutes=1))
    assert memory.ask("Where did Mia move?")["grains"]


def test_it_is_switched_by_people_and_audited(strict):
    memory, _ = strict
    changed = agents.set_must_rate(shell(), space="home", name="alice", must_rate=False)
    assert (changed["must_rate"], changed["changed"]) == (False, True)
    assert Memory().ask("Where did Mia move?")["grains"]
    assert AuditEntry.objects.filter(action="agents.set_must_rate", reason="trial").count() == 1
    with pytest.raises(Forbidden):
        agents.set_must_rate(memory.principal, space="home", name="alice", must_rate=False)
