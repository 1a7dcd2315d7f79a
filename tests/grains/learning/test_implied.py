"""Votes nobody gave: a question put again in other words, a grain put right. Weak, and under the asker's own word."""

from __future__ import annotations

from datetime import timedelta

import pytest

from fluxcore import clock
from fluxcore.models import Event, Job
from memory.grains.models import Grain, Trace, Vote
from memory.learning import feedback, ledger
from tests.grains.conftest import Memory

pytestmark = pytest.mark.storage


def settle(memory) -> None:
    """The worker comes when it is time to look back, and applies what it found."""
    Job.objects.filter(kind="learning.infer").update(due_at=clock.now())
    memory.drain()


@pytest.fixture
def office(memory):
    for text in ("The office printer is out of toner", "The office plants need water", "Bo plays the cello"):
        memory.store(text)
    memory.drain()
    return memory


def test_what_the_better_question_no_longer_brings_was_not_wanted(office):
    first = office.ask("which office printer broke", k=2)
    office.ask("which office printer is out of toner", k=1)
    settle(office)
    gone = {grain["id"] for grain in first["grains"][1:]}
    assert {str(one) for one in Vote.objects.values_list("grain__uuid", flat=True)} == gone
    vote = Vote.objects.get()
    assert (vote.useful, vote.strength, vote.implied, vote.corrected, vote.applied) == (False, 0.2, True, False, True)
    assert Event.objects.get(kind="votes.implied").data == {"votes": 1, "corrected": 0}
    assert Trace.objects.filter(rated=True).count() == 0  # the asker has still said nothing


@pytest.mark.parametrize("later", ["which office printer broke", "who plays the cello"])
def test_the_same_again_and_the_next_question_say_nothing(office, later):
    office.ask("which office printer broke", k=2)
    office.ask(later, k=1)
    settle(office)
    assert not Vote.objects.exists()


def test_somebody_elses_question_says_nothing(office):
    office.ask("which office printer broke", k=2)
    Memory(agent="bob").ask("which office printer is out of toner", k=1)
    settle(office)
    assert not Vote.objects.exists()


def test_so_many_turns_later_it_is_a_new_question(office, configure):
    configure(CORRECTION_DETECTION_TURNS=1)
    office.ask("which office printer broke", k=2)
    office.ask("who plays the cello")
    office.ask("which office printer is out of toner", k=1)
    settle(office)
    assert not Vote.objects.exists()


def test_a_question_long_ago_is_not_looked_at(office):
    office.ask("which office printer broke", k=2)
    Trace.objects.update(at=clock.now() - timedelta(minutes=11))
    office.ask("which office printer is out of toner", k=1)
    settle(office)
    assert not Vote.objects.exists()


def test_the_askers_own_word_stands_above_it_before_and_after(office):
    first = office.ask("which office printer broke", k=2)
    last = first["grains"][1]["id"]
    office.ask("which office printer is out of toner", k=1)
    settle(office)
    assert Vote.objects.get().implied
    office.vote(first["trace_id"], last, useful=True)
    office.drain()
    vote = Vote.objects.get()
    assert (vote.useful, vote.implied) == (True, False)
    Job.objects.filter(kind="learning.infer").update(state="queued", due_at=clock.now())
    settle(office)
    assert (Vote.objects.get().useful, Vote.objects.count()) == (True, 1)


def test_looking_twice_changes_nothing_and_what_was_undone_stays_undone(office):
    first = office.ask("which office printer broke", k=2)
    office.ask("which office printer is out of toner", k=1)
    settle(office)
    feedback.withdraw(office.principal, trace=first["trace_id"], grain=first["grains"][1]["id"])
    office.drain()
    Job.objects.filter(kind="learning.infer").update(state="queued", due_at=clock.now())
    settle(office)
    vote = Vote.objects.get()
    assert vote.undone_at is not None
    (listed,) = ledger.list_votes(_manager(office))["votes"]
    assert listed["implied"] is True


def _manager(memory):
    from accounts.models import Space
    from accounts.principals import shell

    return shell(Space.objects.get(pk=memory.principal.space))


@pytest.fixture
def paid(memory):
    memory.store("The salary of Mia is 5000 euros a month")
    memory.drain()
    return memory


def test_a_grain_that_was_shown_and_then_put_right_is_voted_against(paid):
    answer = paid.ask("What is the salary of Mia?")
    paid.store("The salary of Mia is 6000 euros a month")
    settle(paid)
    vote = Vote.objects.get()
    assert str(vote.grain.uuid) == answer["grains"][0]["id"]
    assert (vote.useful, vote.implied, vote.corrected) == (False, True, True)
    assert Grain.objects.filter(status="active").count() == 2  # two facts, both kept


def test_without_having_been_shown_it_is_another_fact(paid):
    paid.store("The salary of Mia is 6000 euros a month")
    settle(paid)
    assert not Vote.objects.exists()


def test_somebody_elses_statement_corrects_nothing_in_my_name(paid):
    paid.ask("What is the salary of Mia?")
    Memory(agent="bob").store("The salary of Mia is 6000 euros a month")
    settle(paid)
    assert not Vote.objects.exists()


def test_too_many_turns_later_it_corrects_nothing(paid, configure):
    configure(CORRECTION_DETECTION_TURNS=2)
    paid.ask("What is the salary of Mia?")
    for turn in range(2):
        paid.ask(f"xyzzy {turn}")
    paid.store("The salary of Mia is 6000 euros a month")
    settle(paid)
    assert not Vote.objects.exists()


def test_it_can_be_switched_off(paid, configure):
    configure(IMPLIED_VOTES_ENABLED=False)
    paid.ask("What is the salary of Mia?")
    paid.store("The salary of Mia is 6000 euros a month")
    settle(paid)
    assert not Job.objects.filter(kind="learning.infer").exists()
    assert not Vote.objects.exists()
