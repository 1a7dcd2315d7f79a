"""Votes: who may give them on what, that they are kept at once, and that saying it again changes nothing."""

from __future__ import annotations

import uuid

import pytest

from accounts.models import AuditEntry
from accounts.principals import shell
from accounts.verbs import RunningCall
from fluxcore.errors import Invalid, NotFound, NotReturned, RateLimited
from fluxcore.models import Event, Job
from fluxcore.writes import booth
from memory.grains.lifecycle.purge import purge
from memory.grains.models import JudgedQuestion, Trace, Vote
from memory.learning import feedback
from tests.grains.conftest import Memory

pytestmark = pytest.mark.storage

ABSENT = "7b9d6c1e-0000-4000-8000-000000000000"


@pytest.fixture
def answer(memory):
    memory.store("Mia moved to Lisbon in 2021")
    memory.store("Bo plays the cello on Sundays")
    memory.drain()
    return memory.ask("Where did Mia move?")


def test_a_vote_is_durable_at_once_and_waits_for_the_worker(memory, answer):
    grain = answer["grains"][0]["id"]
    said = memory.vote(answer["trace_id"], grain, useful=True, strength=0.5)
    assert said == {
        "trace_id": answer["trace_id"],
        "grain_id": grain,
        "useful": True,
        "strength": 0.5,
        "missed": [],
        "status": "recorded",
        "changed": True,
        "ok": True,
        "action": "reinforced",
        "signal": 0.25,
        "effective_signal": 0.25,
    }
    vote = Vote.objects.get()
    assert (vote.useful, vote.strength, vote.applied, vote.missed) == (True, 0.5, False, False)
    assert JudgedQuestion.objects.get().query == "Where did Mia move?"
    assert Job.objects.filter(kind="learning.apply", state="queued").count() == 1
    memory.drain()
    vote.refresh_from_db()
    assert vote.applied


def test_it_is_on_the_chain_and_in_the_log(memory, answer):
    grain = answer["grains"][0]["id"]
    memory.vote(answer["trace_id"], grain, useful=False)
    assert AuditEntry.objects.filter(action="grains.feedback", object=grain).exists()
    assert Event.objects.filter(kind="vote.recorded", subject=grain).count() == 1


def test_the_same_word_again_changes_nothing(memory, answer):
    grain = answer["grains"][0]["id"]
    memory.vote(answer["trace_id"], grain, useful=True)
    memory.drain()
    before = Vote.objects.values().get()
    assert memory.vote(answer["trace_id"], grain, useful=True)["changed"] is False
    assert Vote.objects.values().get() == before


def test_a_later_word_replaces_the_one_before(memory, answer):
    grain = answer["grains"][0]["id"]
    memory.vote(answer["trace_id"], grain, useful=True)
    memory.drain()
    assert memory.vote(answer["trace_id"], grain, useful=False)["changed"] is True
    assert Vote.objects.values_list("useful", "applied").get() == (False, False)


def test_what_was_missing_is_named(memory, answer):
    other = memory.store("Lisbon is where Mia lives now")
    memory.vote(answer["trace_id"], missed=[other])
    assert Vote.objects.values_list("useful", "missed", "place").get() == (True, True, None)


def test_missed_but_in_the_answer_counts_as_useful(memory, answer):
    memory.vote(answer["trace_id"], missed=[answer["grains"][0]["id"]])
    assert Vote.objects.values_list("useful", "missed", "place").get() == (True, False, 1)


def test_a_grain_that_was_not_in_the_answer_is_refused_with_a_code(memory, answer):
    other = memory.store("Something else altogether")
    with pytest.raises(NotReturned) as refused:
        memory.vote(answer["trace_id"], other, useful=True)
    assert (refused.value.status, refused.value.code) == (409, "not_returned")
    assert not Vote.objects.exists() and not JudgedQuestion.objects.exists()


def test_only_who_asked_may_vote(memory, answer):
    other = Memory(agent="bob")
    with pytest.raises(NotFound):
        other.vote(answer["trace_id"], answer["grains"][0]["id"], useful=True)
    with pytest.raises(NotFound):
        Memory(space="elsewhere").vote(answer["trace_id"], answer["grains"][0]["id"], useful=True)
    assert not Vote.objects.exists()


def test_unknown_traces_and_grains_are_not_found(memory, answer):
    with pytest.raises(NotFound):
        memory.vote(str(uuid.uuid4()), answer["grains"][0]["id"], useful=True)
    with pytest.raises(NotFound):
        memory.vote(answer["trace_id"], missed=[str(uuid.uuid4())])
    foreign = Memory(space="elsewhere").store("not yours")
    with pytest.raises(NotFound):
        memory.vote(answer["trace_id"], missed=[foreign])


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"grain_id": "x", "useful": True},
        {"grain_id": None, "useful": True},
        {"missed": "all"},
        {"missed": [1]},
        {"missed": [ABSENT] * 21},
        {"missed": [ABSENT], "strength": 0},
        {"missed": [ABSENT], "strength": 1.1},
        {"missed": [ABSENT], "strength": True},
        {"missed": [ABSENT], "strength": float("nan")},
        {"missed": [ABSENT], "strength": 10**400},
        {"missed": [ABSENT], "color": "red"},
        {"grain_id": ABSENT, "useful": False, "missed": [ABSENT]},
        {"trace_id": "no id", "missed": [ABSENT]},
        {"trace_id": None, "missed": [ABSENT]},
    ],
)
@pytest.mark.either_database
def test_what_cannot_be_understood_is_said_so(memory, answer, given):
    with pytest.raises(Invalid) as refused:
        feedback.feedback(memory.principal, **{"trace_id": answer["trace_id"], **given})
    assert refused.value.details["field"]
    assert not Vote.objects.exists()


def test_a_batch_answers_for_each_vote(memory, answer):
    first = answer["grains"][0]["id"]
    given = [
        {"trace_id": answer["trace_id"], "grain_id": first, "useful": True},
        {"trace_id": str(uuid.uuid4()), "grain_id": first, "useful": True},
        {"trace_id": answer["trace_id"], "grain_id": str(uuid.uuid4()), "useful": True},
        "nonsense",
    ]
    said = feedback.feedback_batch(memory.principal, items=given)
    assert [one["status"] for one in said["results"]] == ["recorded", "refused", "refused", "refused"]
    codes = [one["error"] and one["error"]["code"] for one in said["results"]]
    assert codes == [None, "not_found", "not_returned", "invalid"]
    assert (said["count"], said["refused"], Vote.objects.count()) == (1, 3, 1)


@pytest.mark.either_database
@pytest.mark.parametrize("items", [None, [], [{}] * 101, "all"])
def test_a_batch_has_bounds(memory, items):
    with pytest.raises(Invalid):
        feedback.feedback_batch(memory.principal, items=items)


def test_an_agent_gives_so_many_votes_a_minute_and_a_batch_counts_each(memory, answer, configure):
    configure(MAX_VOTES_PER_MINUTE=3)
    vote = {"trace_id": answer["trace_id"], "grain_id": answer["grains"][0]["id"], "useful": True}
    feedback.feedback_batch(memory.principal, items=[vote, vote])
    memory.vote(*vote.values())
    with pytest.raises(RateLimited) as refused:
        memory.vote(*vote.values())
    assert refused.value.details == {
        "limit": 3,
        "per_seconds": 60,
        "what": "ratings by one agent",
        "raised_by": "MAX_VOTES_PER_MINUTE",
    }
    with pytest.raises(Invalid):
        feedback.feedback_batch(memory.principal, items=[vote] * 4)


def test_what_was_missing_counts_grain_by_grain(memory, answer, configure):
    others = [memory.store(f"Lisbon is a city with {count} hills") for count in ("six", "seven", "eight")]
    configure(MAX_VOTES_PER_MINUTE=4)
    memory.vote(answer["trace_id"], missed=others)
    with pytest.raises(RateLimited):
        memory.vote(answer["trace_id"], missed=others[:2])
    assert Vote.objects.count() == 3


def test_a_grain_that_is_purged_before_the_vote_is_written_is_not_found(memory, answer):
    """Between the look and the write somebody may purge it: only that vote is refused."""
    first, other = answer["grains"][0]["id"], memory.store("Lisbon is where Mia lives now")
    one = {"trace_id": answer["trace_id"], "grain_id": first, "useful": True}
    alone = feedback.feedback.__wrapped__(RunningCall(memory.principal, "grains.feedback"), **one)
    batch = feedback.feedback_batch.__wrapped__(
        RunningCall(memory.principal, "grains.feedback_batch"),
        items=[one, {"trace_id": answer["trace_id"], "missed": [other]}],
    )
    purge(shell(), grain=first, reason="asked to forget")
    with pytest.raises(NotFound):
        booth.write(alone)
    said = booth.write(batch)
    assert [result["status"] for result in said["results"]] == ["refused", "recorded"]
    assert said["results"][0]["error"]["code"] == "not_found"
    assert (said["count"], said["refused"]) == (1, 1)
    assert [str(vote.grain.uuid) for vote in Vote.objects.select_related("grain")] == [other]


def test_of_two_words_on_a_grain_in_one_batch_the_last_counts(memory, answer):
    first = answer["grains"][0]["id"]
    feedback.feedback_batch(
        memory.principal,
        items=[{"trace_id": answer["trace_id"], "grain_id": first, "useful": useful} for useful in (True, False)],
    )
    assert Vote.objects.values_list("useful", flat=True).get() is False


def test_a_vote_can_be_taken_back_by_who_gave_it(memory, answer):
    grain = answer["grains"][0]["id"]
    memory.vote(answer["trace_id"], grain, useful=True)
    with pytest.raises(NotFound):
        feedback.withdraw(Memory(agent="bob").principal, trace=answer["trace_id"], grain=grain)
    assert feedback.withdraw(memory.principal, trace=answer["trace_id"], grain=grain)["changed"] is True
    assert feedback.withdraw(memory.principal, trace=answer["trace_id"], grain=grain)["changed"] is False
    assert Vote.objects.get().undone_by == memory.principal.actor


def test_a_vote_outlives_its_trace(memory, answer):
    memory.vote(answer["trace_id"], answer["grains"][0]["id"], useful=True)
    Trace.objects.all().delete()
    memory.drain()
    assert Vote.objects.get().applied
    with pytest.raises(NotFound):  # and nothing new is said of what nobody can look up
        memory.vote(answer["trace_id"], answer["grains"][0]["id"], useful=False)
