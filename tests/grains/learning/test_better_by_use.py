"""The memory gets better by being used: what was missing is found next time, in other words too, until it is undone."""

from __future__ import annotations

import numpy as np
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from memory.arena.build import build_arena
from memory.arena.cache import arena_cache, encoder_name
from memory.grains.models import JudgedQuestion
from memory.learning import feedback

pytestmark = [pytest.mark.storage, pytest.mark.either_database]

NEEDED = "The blue vessel leaves the north quay at nine"
QUESTION = "When is our ferry departure tomorrow?"


@pytest.fixture
def taught(memory):
    """A space that knows the answer and cannot find it; its grain, and the trace of the question."""
    needed = memory.store(NEEDED)
    for number in range(30):
        memory.store(f"Tomorrow our choir rehearses piece number {number} in the old hall")
    memory.drain()
    answer = memory.ask(QUESTION)
    assert needed not in [grain["id"] for grain in answer["grains"]]
    return memory, needed, answer["trace_id"]


def learned(space: int) -> dict[str, np.ndarray]:
    """What an arena of now has learned."""
    with arena_cache().arena(space) as (arena, _):
        found = arena.index.learned
        return found.arrays() if found is not None else {}


def same(one: dict[str, np.ndarray], other: dict[str, np.ndarray]) -> bool:
    return one.keys() == other.keys() and all(np.array_equal(one[name], other[name]) for name in one)


def test_told_what_was_missing_it_is_first_next_time(taught):
    memory, needed, trace = taught
    memory.vote(trace, missed=[needed])
    memory.drain()
    again = memory.ask(QUESTION, explain=True)
    assert again["grains"][0]["id"] == needed
    assert again["confidence"] > 0.5
    assert "feedback on similar queries" in again["explanation"]["grains"][0]["says"]


def test_in_other_words_too(taught):
    memory, needed, trace = taught
    memory.vote(trace, missed=[needed])
    memory.drain()
    assert needed in [grain["id"] for grain in memory.ask("ferry departure tomorrow")["grains"]]
    assert needed in [grain["id"] for grain in memory.ask("tomorrow, when is the departure of our ferry?")["grains"]]


def test_what_was_not_useful_comes_later_next_time(taught):
    memory, _, _ = taught
    answer = memory.ask("Which piece does the choir rehearse?")
    first = answer["grains"][0]["id"]
    memory.vote(answer["trace_id"], first, useful=False)
    memory.drain()
    again = [grain["id"] for grain in memory.ask("Which piece does the choir rehearse?")["grains"]]
    assert first not in again[:1]


def test_other_questions_are_left_alone(taught):
    memory, needed, trace = taught
    other = "Where does the choir rehearse?"
    before = [(grain["id"], grain["score"]) for grain in memory.ask(other)["grains"]]
    memory.vote(trace, missed=[needed])
    memory.drain()
    after = [(grain["id"], grain["score"]) for grain in memory.ask(other)["grains"]]
    assert [one for one, _ in after] == [one for one, _ in before]
    assert [score for _, score in after] == pytest.approx([score for _, score in before], abs=0.01)


def test_taken_back_the_arrays_equal_those_before(taught):
    memory, needed, trace = taught
    space = memory.principal.space
    before, order = learned(space), memory.texts(QUESTION)
    memory.vote(trace, missed=[needed])
    memory.drain()
    assert not same(learned(space), before)
    feedback.withdraw(memory.principal, trace=trace, grain=needed)
    memory.drain()
    empty = learned(space)
    assert all(len(array) == 0 for array in empty.values())
    assert memory.texts(QUESTION) == order


def test_an_arena_that_followed_and_one_that_was_built_have_learned_the_same(taught):
    memory, needed, trace = taught
    memory.vote(trace, missed=[needed])
    for turn in range(4):
        answer = memory.ask(f"Which piece number {turn} does the choir rehearse?")
        for place, grain in enumerate(answer["grains"]):
            memory.vote(answer["trace_id"], grain["id"], useful=place % 2 == 0, strength=1 - place / 10)
        memory.drain()
    space = memory.principal.space
    built = build_arena(space, encoder_name()).index.learned
    assert same(learned(space), built.arrays())
    assert len(built.questions) == JudgedQuestion.objects.count() == 5


def test_a_recall_after_a_vote_makes_no_more_statements_than_after_a_store(taught):
    memory, needed, trace = taught
    memory.ask(QUESTION)
    memory.vote(trace, missed=[needed])
    memory.drain()
    with CaptureQueriesContext(connection) as captured:
        memory.ask(QUESTION)
    read = [query["sql"] for query in captured if query["sql"].startswith("SELECT")]
    assert len(read) <= 4, read
