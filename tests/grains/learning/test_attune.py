"""The space's own weights: fitted by the worker to the votes that stand, told to arenas, gone with the votes."""

from __future__ import annotations

import numpy as np
import pytest

from accounts.principals import shell
from fluxcore import clock
from fluxcore.models import Event, Job
from fluxcore.writes import booth
from memory.arena.build import build_arena
from memory.arena.cache import arena_cache, encoder_name
from memory.engine.learning import weight_fitting as engine
from memory.engine.ranking import rank
from memory.grains.lifecycle.purge import purge
from memory.grains.models import SpaceRankerWeights, Vote
from memory.learning import jobs as learning_jobs
from memory.learning import ledger, ranker_weights

pytestmark = pytest.mark.storage
QUESTIONS = 6


@pytest.fixture
def moving(monkeypatch):
    """Weights move on a few questions, whatever that is worth: when they may is the engine's matter."""
    monkeypatch.setattr(engine, "FEWEST_QUESTIONS", 4)
    monkeypatch.setattr(engine, "SURE", -100.0)
    monkeypatch.setattr(engine, "LEAST_GAIN", -1.0)
    monkeypatch.setattr(engine, "HEARD", 1_000)


@pytest.fixture
def voted(memory, moving):
    """Six questions judged, and what is left to do later."""
    for number in range(30):
        memory.store(f"Tomorrow our choir rehearses piece number {number} in hall {number % 4}", session="choir")
    memory.drain()
    for number in range(QUESTIONS):
        answer = memory.ask(f"Where does the choir rehearse piece {number}?")
        memory.vote(answer["trace_id"], answer["grains"][2]["id"], useful=True)
    memory.drain()
    return memory


def attuned(memory) -> None:
    """The fit, as if the pause were over."""
    booth.write(lambda: learning_jobs.ask_for_attunement(memory.principal.space))
    memory.drain()


def own(memory):
    with arena_cache().arena(memory.principal.space) as (arena, _):
        return arena.index.own


@pytest.mark.either_database
def test_votes_are_fitted_once_after_a_pause(voted):
    (job,) = Job.objects.filter(kind=learning_jobs.FIT)
    assert job.state == Job.State.QUEUED
    assert job.due_at > clock.now() + ranker_weights.PAUSE / 2
    assert not SpaceRankerWeights.objects.exists()


def test_too_few_questions_are_no_work(memory):
    needed = memory.store("The blue vessel leaves the north quay at nine")
    memory.drain()
    memory.vote(memory.ask("When does the vessel leave?")["trace_id"], missed=[needed])
    memory.drain()
    assert not Job.objects.filter(kind=learning_jobs.FIT).exists()


def test_the_weights_move_and_arenas_know(voted):
    assert own(voted) is None
    attuned(voted)
    row = SpaceRankerWeights.objects.get()
    assert (row.version, row.questions) == (rank.FITTED_RANKER.version, QUESTIONS)
    assert row.weights and max(map(abs, row.weights.values())) <= engine.MOST_EACH
    here, built = own(voted), build_arena(voted.principal.space, encoder_name()).index.own
    assert np.array_equal(here.weights, built.weights)
    assert np.allclose(here.weights, rank.weights_array(row.weights))


@pytest.mark.either_database
def test_an_answer_says_that_the_weights_moved(voted):
    attuned(voted)
    said = voted.ask("Where does the choir rehearse piece 9?", explain=True)["explanation"]
    assert said["weights"]["questions"] == QUESTIONS
    assert f"adjusted by feedback on {QUESTIONS} queries" in said["says"]


@pytest.mark.either_database
def test_fitted_again_nothing_is_told(voted):
    attuned(voted)
    attuned(voted)
    assert Event.objects.filter(kind="weights.attuned").count() == 1


def test_taken_back_the_shipped_weights_hold_at_once(voted):
    attuned(voted)
    ledger.undo_votes(shell(), caller=voted.principal.actor)
    voted.drain()
    assert not SpaceRankerWeights.objects.exists()
    assert own(voted) is None


def test_purged_grains_leave_nothing_in_the_weights_either(voted):
    attuned(voted)
    for grain in {str(vote.grain.uuid) for vote in Vote.objects.select_related("grain")}:
        purge(shell(), grain=grain, reason="asked to forget")
    voted.drain()
    assert not SpaceRankerWeights.objects.exists()
    assert own(voted) is None


@pytest.mark.either_database
def test_what_helps_nobody_moves_nothing(voted, monkeypatch):
    monkeypatch.setattr(engine, "LEAST_GAIN", 2.0)
    attuned(voted)
    assert not SpaceRankerWeights.objects.exists()
    done = Job.objects.filter(kind=learning_jobs.FIT, state=Job.State.DONE).get()
    (line,) = done.lines.values_list("text", flat=True)
    assert "The default weights are used." in line
