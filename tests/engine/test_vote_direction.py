"""Which way the answers of like questions lie: what nobody judged gains or loses a little by it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.spaces import Space
from memory.embedding.hashed import HashedEncoder
from memory.engine.index.dense import Dense
from memory.engine.learning import vote_boost, vote_direction
from memory.engine.learning.learned import Learned
from memory.engine.learning.vote_sums import VoteSample, VoteSums, learn_votes
from memory.engine.text import question
from tests.engine.memories import make_space

GARDEN = (
    "Tomatoes were planted in the raised bed in April.",  # useful
    "The gardening shop closes at six on Sundays.",  # shown in vain
    "Beans were planted in the raised bed in May.",  # nobody judged these two
    "The gardening shop opens at nine on Mondays.",
    "Otis the beagle hates thunder.",
)
JUDGED, NOW = "When did we plant the tomatoes?", "When did we plant the beans?"
EVERY = np.arange(len(GARDEN), dtype=np.int32)


def vote(row: int, strength: float, *, text: str = JUDGED, caller: int = 1) -> VoteSample:
    return VoteSample(question.read_question(text).keys, HashedEncoder().encode([text])[0], caller, row, strength)


def told(
    held: Space, learned: Learned, settings: vote_boost.VoteSettings = vote_boost.DEFAULT, **given: object
) -> vote_boost.VoteBoost:
    return vote_boost.compute_boost(
        learned, question.read_question(NOW), HashedEncoder().encode([NOW])[0], held.index, settings, **given
    )


def leant(held: Space, learned: Learned, settings: vote_boost.VoteSettings = vote_boost.DEFAULT) -> list[float]:
    """What each grain gains by where it lies, apart from everything else that votes say."""
    scores = np.zeros(len(GARDEN), np.float32)
    with_it, without = (
        told(held, learned).gains(EVERY, scores, one) for one in (settings, replace(settings, lean=0.0))
    )
    found: list[float] = (with_it - without).tolist()
    return found


def test_grains_near_useful_ones_gain_and_grains_near_useless_ones_lose() -> None:
    gains = leant(make_space(*GARDEN), learn_votes([vote(0, 1.0), vote(1, -1.0)]))
    assert gains[2] > 0.02 > -0.02 > gains[3]
    assert gains[2] > gains[4] > gains[3]


@pytest.mark.parametrize("votes", [[vote(0, 1.0)], [vote(1, -1.0)]])
def test_without_both_useful_and_useless_grains_there_is_no_direction(votes: list[VoteSample]) -> None:
    assert told(make_space(*GARDEN), learn_votes(votes)).direction is None


def test_a_dissimilar_question_adds_nothing_to_the_direction() -> None:
    other = "Which dog fears storms?"
    held = make_space(*GARDEN)
    both = learn_votes([vote(0, 1.0), vote(1, -1.0), vote(4, 1.0, text=other), vote(3, -1.0, text=other)])
    alone = learn_votes([vote(0, 1.0), vote(1, -1.0)])
    assert np.argmax(leant(held, both)) == np.argmax(leant(held, alone))
    assert told(held, learn_votes([vote(4, 1.0, text=other), vote(3, -1.0, text=other)])).direction is None


def test_the_gain_along_the_direction_is_bounded() -> None:
    votes = [
        vote(row, strength, text=f"{JUDGED[:-1]} {number}?", caller=number)
        for number in range(40)
        for row, strength in ((0, 1.0), (1, -1.0))
    ]
    most = 0.1
    gains = leant(make_space(*GARDEN), learn_votes(votes), replace(vote_boost.DEFAULT, lean_most=most))
    assert max(map(abs, gains)) == pytest.approx(most, abs=1e-6)


def test_weak_votes_count_less_and_useless_grains_weigh_as_much_as_useful_ones() -> None:
    held = make_space(*GARDEN)
    weak, whole = (leant(held, learn_votes([vote(0, strength), vote(1, -1.0)])) for strength in (0.5, 1.0))
    assert 0 < weak[2] < whole[2]
    weights = vote_direction._balance_credits(np.array([1.0, 1.0, -1.0, -0.5]), np.zeros(4, np.int64), 1)
    assert weights.sum() == pytest.approx(0)
    assert weights[:2].tolist() == [1.0, 1.0]


def test_undoing_a_vote_undoes_its_part_of_the_direction() -> None:
    held = make_space(*GARDEN)
    lessons = VoteSums([vote(0, 1.0), vote(1, -1.0)])
    before = told(held, lessons.learned).direction
    wrong = vote(3, 1.0, caller=2)
    lessons.add(wrong)
    assert not np.array_equal(told(held, lessons.learned).direction, before)
    lessons.remove(wrong)
    assert np.array_equal(told(held, lessons.learned).direction, before)


def test_hidden_and_deleted_grains_are_left_out_of_the_direction() -> None:
    held = make_space(*GARDEN)
    learned = learn_votes([vote(0, 1.0), vote(1, -1.0), vote(999, 1.0)])
    assert told(held, learned).direction is not None
    hidden = np.ones(held.index.size, np.bool_)
    hidden[0] = False
    assert told(held, learned, allowed=hidden).direction is None


def test_without_vectors_there_is_no_direction() -> None:
    learned = learn_votes([vote(0, 1.0), vote(1, -1.0)])
    assert told(make_space(*GARDEN, vectors=False), learned).direction is None


def test_a_grain_without_a_vector_neither_gains_nor_loses() -> None:
    held = make_space(*GARDEN)
    whole, dense = held.index, held.index.dense
    assert dense is not None
    learned = learn_votes([vote(0, 1.0), vote(1, -1.0)])
    dense.drop(2)
    assert leant(held, learned)[2] == 0
    # Stored since the vectors were made: they do not even reach as far.
    whole.dense = Dense.build(dense.data[:3], dense.scale[:3], np.array([True, True, False]))
    gains = leant(held, learned)
    assert gains[2:] == [0, 0, 0] and gains[0] > 0 > gains[1]
