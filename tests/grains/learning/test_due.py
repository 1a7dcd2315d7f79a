"""Answers without a vote: a hint in later answers and a list to ask for, for the asker alone, and not for ever."""

from __future__ import annotations

from datetime import timedelta

import pytest

from fluxcore import clock, config
from memory.grains.models import Trace
from memory.learning import feedback
from memory.recall import pending_feedback
from tests.grains.conftest import Memory

pytestmark = pytest.mark.storage


@pytest.fixture
def asked(memory, configure):
    configure(FEEDBACK_ENFORCEMENT_GRACE_SECONDS=0)
    pending_feedback._seen.clear()
    memory.store("Mia moved to Lisbon in 2021")
    memory.drain()
    return memory, memory.ask("Where did Mia move?")


def test_the_next_answer_says_that_the_one_before_waits_for_a_word(asked):
    memory, answer = asked
    assert "feedback_due" not in answer
    assert memory.ask("And when?")["feedback_due"] == {"trace_ids": [answer["trace_id"]], "more": False}


def test_a_vote_ends_it(asked):
    memory, answer = asked
    memory.vote(answer["trace_id"], answer["grains"][0]["id"], useful=True)
    assert "feedback_due" not in memory.ask("And when?")
    assert Trace.objects.get(uuid=answer["trace_id"]).rated


def test_an_answer_without_a_grain_has_nothing_to_be_said_about(asked):
    memory, answer = asked
    memory.vote(answer["trace_id"], answer["grains"][0]["id"], useful=True)
    empty = memory.ask("xyzzy qwfp")
    assert empty["grains"] == []
    assert pending_feedback.list_pending(memory.principal)["pending"] == []


def test_the_list_is_the_askers_own(asked):
    memory, answer = asked
    (one,) = pending_feedback.list_pending(memory.principal)["pending"]
    assert (one["trace_id"], one["query"]) == (answer["trace_id"], "Where did Mia move?")
    assert one["grain_ids"] == [grain["id"] for grain in answer["grains"]]
    other = Memory(agent="bob")
    assert pending_feedback.list_pending(other.principal)["pending"] == []
    assert "feedback_due" not in other.ask("And when?")


def test_only_so_many_are_named(asked):
    memory, _ = asked
    for turn in range(4):
        memory.ask(f"Where did Mia move, {turn}?")
    hint = memory.ask("And when?")["feedback_due"]
    assert (len(hint["trace_ids"]), hint["more"]) == (pending_feedback.HINTED, True)


def test_a_moment_must_pass_before_anybody_is_reminded(asked, configure):
    memory, _ = asked
    configure(FEEDBACK_ENFORCEMENT_GRACE_SECONDS=60)
    assert "feedback_due" not in memory.ask("And when?")
    assert pending_feedback.list_pending(memory.principal)["pending"] == []


def test_after_a_day_it_is_forgiven(asked):
    memory, _ = asked
    Trace.objects.update(at=clock.now() - timedelta(days=1, minutes=1))
    pending_feedback._seen.clear()
    assert pending_feedback.list_pending(memory.principal)["pending"] == []
    assert pending_feedback.expire_pending() == 1
    assert Trace.objects.get().rated


def test_nobody_is_reminded_where_nobody_wants_it(asked, configure):
    memory, _ = asked
    configure(FEEDBACK_ENFORCEMENT_GRACE_SECONDS=0, FEEDBACK_ENFORCEMENT_ENABLED=False)
    assert "feedback_due" not in memory.ask("And when?")
    assert config.current().FEEDBACK_ENFORCEMENT_ENABLED is False


def test_a_withdrawn_vote_was_a_word_all_the_same(asked):
    memory, answer = asked
    memory.vote(answer["trace_id"], answer["grains"][0]["id"], useful=True)
    feedback.withdraw(memory.principal, trace=answer["trace_id"], grain=answer["grains"][0]["id"])
    assert pending_feedback.list_pending(memory.principal)["pending"] == []
