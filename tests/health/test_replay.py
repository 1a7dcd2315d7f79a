"""Was learning worth it? Judged questions asked again, with and without what votes taught"""

from __future__ import annotations

import numpy as np
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.principals import shell
from fluxcore.errors import Forbidden, Invalid
from fluxcore.work import worker
from fluxcore.writes import booth
from memory.grains.models import JudgedQuestion
from memory.health import jobs as health_jobs
from memory.health import replay
from memory.health.models import SpaceHealth
from memory.learning import ledger
from memory.recall import recall
from tests.grains.conftest import Memory

FACTS = [
    "The boiler in the cellar was serviced in March",
    "Cleo keeps the spare key under the blue pot",
    "The ferry to Turku leaves at nine",
    "Dan sold his old tandem to a neighbour",
    "The library card of Ben expires in June",
]
QUESTIONS = [  # in words the facts do not have
    ("When was the heater maintained?", 0),
    ("How do I get into the house?", 1),
    ("What boat goes to Finland?", 2),
    ("Who got the bicycle?", 3),
    ("Until when may books be borrowed?", 4),
]


@pytest.fixture
def judged(ward, configure):
    """Each question was asked twice, in the same words, and each time somebody said what it was about."""
    configure(EMBEDDING_MODEL_NAME="none")
    memory = Memory()
    grains = [memory.store(text) for text in FACTS]
    memory.drain()
    for _ in range(2):
        for query, right in QUESTIONS:
            memory.vote(memory.ask(query)["trace_id"], missed=[grains[right]])
    memory.drain()
    ward.measure()
    return memory


def test_votes_on_the_same_question_by_others_count_and_its_own_are_left_out(judged, ward):
    found = replay.measure_outcome(ward.space.pk, 200)
    assert found.questions == 10
    assert found.without.ndcg < 0.6
    assert found.own.hit_rate == found.own.ndcg == 1.0
    # Each was asked twice: with its own votes left out, those of the other time still answer it.
    assert found.others.ndcg == 1.0 and found.gain > 0.4


@pytest.fixture
def judged_once(ward, configure):
    configure(EMBEDDING_MODEL_NAME="none")
    memory = Memory()
    grains = [memory.store(text) for text in FACTS]
    memory.drain()
    for query, right in QUESTIONS:
        memory.vote(memory.ask(query)["trace_id"], missed=[grains[right]])
    memory.drain()
    ward.measure()
    return memory


@pytest.mark.either_database
def test_leaving_a_question_out_is_as_if_it_had_never_been_judged(judged, ward):
    """The links its votes made or moved are taken out too, not only what is remembered of the question."""
    number = replay.judged_question_ids(ward.space.pk, 1)[0]
    stage = replay._ReplayArena(ward.space.pk, [number])
    before, kept = weights(stage), stage.arena.index.learned.arrays()
    stage.leave_out(number)
    left, learned = weights(stage), stage.arena.index.learned.arrays()
    assert left != before
    ledger.undo_votes(shell(ward.space), trace=str(JudgedQuestion.objects.get(pk=number).uuid))
    judged.drain()
    fresh = replay._ReplayArena(ward.space.pk, [])
    assert left == pytest.approx(weights(fresh))
    now = fresh.arena.index.learned.arrays()
    assert all(np.array_equal(learned[name], now[name]) for name in kept)


def weights(stage) -> dict[int, float]:
    flat = stage.arena.index.graph.flat()
    return {int(number): float(weight) for number, weight in zip(flat.id, flat.weight, strict=True) if weight > 0}


@pytest.mark.either_database
def test_a_question_that_nobody_else_judged_gains_nothing_by_itself(judged_once, ward):
    found = replay.measure_outcome(ward.space.pk, 200)
    assert found.own.ndcg == 1.0
    assert found.others == found.without and found.gain == 0


@pytest.mark.either_database
def test_it_changes_nothing_for_anybody(judged, ward):
    before = [judged.texts(query) for query, _ in QUESTIONS]
    replay.measure_outcome(ward.space.pk, 200)
    assert [judged.texts(query) for query, _ in QUESTIONS] == before


@pytest.mark.either_database
def test_what_is_left_out_is_put_back_before_the_next_question(judged, ward):
    numbers = replay.judged_question_ids(ward.space.pk, 200)
    stage = replay._ReplayArena(ward.space.pk, numbers)
    first = [stage.play(number) for number in numbers]
    assert [stage.play(number) for number in reversed(numbers)] == first[::-1]


def test_the_newest_questions_are_asked_and_no_more_than_wanted(judged, ward):
    assert replay.measure_outcome(ward.space.pk, 4).questions == 4

    def cost() -> int:
        with CaptureQueriesContext(connection) as asked:
            replay.measure_outcome(ward.space.pk, 4)
        return len(asked.captured_queries)

    few = cost()
    for _ in range(3):
        for query, _ in QUESTIONS:
            answer = judged.ask(query)
            judged.vote(answer["trace_id"], answer["grains"][0]["id"], True)
    judged.drain()
    ward.measure()
    assert len(replay.judged_question_ids(ward.space.pk, 200)) == 25
    assert cost() == few


@pytest.mark.either_database
def test_what_came_of_it_becomes_a_signal(judged, ward, monkeypatch):
    monkeypatch.setattr(replay, "LEAST", 5)
    booth.write(health_jobs.ask_to_replay_all)
    worker.drain()
    kept = SpaceHealth.objects.get().replay
    assert kept["questions"] == 10 and kept["gain"] > 0.4
    ward.measure()
    assert ward.held("learning_gain")["value"] == kept["gain"]
    assert ward.held("learning_gain")["state"] == "healthy"
    ward.pass_time(days=31)
    ward.measure()
    assert ward.held("learning_gain")["value"] is None, "an old replay says nothing about now"


@pytest.mark.either_database
def test_few_questions_make_no_signal(judged, ward):
    replay.replay_now(shell(ward.space))
    assert SpaceHealth.objects.get().replay == {}


def test_a_space_without_votes_has_nothing_to_replay(ward):
    ward.measure()
    assert replay.replay_now(shell(ward.space)) == {"questions": 0}
    booth.write(health_jobs.ask_to_replay_all)
    assert worker.drain() == 1


@pytest.mark.either_database
def test_it_is_for_people_and_the_shell(judged, ward):
    with pytest.raises(Forbidden):
        replay.replay_now(judged.principal)
    for sample in (0, -1, 5001, True, "10"):
        with pytest.raises(Invalid):
            replay.replay_now(shell(ward.space), sample=sample)
    assert recall.recall(judged.principal, query="still there?")["trace_id"]
