"""A space's own weights: what its judged questions call for, within bounds, and only where it helps."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from memory.engine.index.space_index import SpaceWeights
from memory.engine.learning import weight_fitting
from memory.engine.learning.weight_fitting import FittingQuestion
from memory.engine.ranking import features, rank
from tests.engine.memories import ask, make_space

SESSION = features.NAMES.index("session_best")


def lessons(
    count: int, useful: Callable[[np.ndarray, np.random.Generator], int], *, caller: str = "agent:a", seed: int = 1
) -> list[FittingQuestion]:
    """Questions with forty candidates, whose shipped scores are noise; one of the candidates was useful."""
    random = np.random.default_rng(seed)
    made = []
    for number in range(count):
        standardised = random.normal(size=(40, len(features.NAMES))).astype(np.float32)
        hit = np.zeros(40, np.bool_)
        hit[useful(standardised, random)] = True
        made.append(
            FittingQuestion(1_000 * seed + number, random.normal(size=40), standardised, hit, 1, frozenset({caller}))
        )
    return made


def by_session(standardised: np.ndarray, random: np.random.Generator) -> int:
    return int(standardised[:, SESSION].argmax())


def at_random(standardised: np.ndarray, random: np.random.Generator) -> int:
    return int(random.integers(40))


def test_weights_move_towards_what_was_useful() -> None:
    found = weight_fitting.fit_weights(lessons(60, by_session))
    assert found.moved and found.weights[SESSION] == found.weights.max() > 0.1
    assert found.after > found.before + 0.05
    unseen = lessons(60, by_session, seed=2)
    before = [weight_fitting.ndcg(one, one.scores) for one in unseen]
    after = [weight_fitting.ndcg(one, one.scores + one.z @ found.weights) for one in unseen]
    assert np.mean(after) > np.mean(before) + 0.05


def test_weights_that_help_no_left_out_question_do_not_move() -> None:
    found = weight_fitting.fit_weights(lessons(60, at_random))
    assert not found.moved and found.questions == 60


def test_few_questions_move_nothing() -> None:
    assert not weight_fitting.fit_weights(lessons(weight_fitting.FEWEST_QUESTIONS - 1, by_session)).moved
    assert not weight_fitting.fit_weights([]).moved


def test_no_weight_moves_further_than_it_may() -> None:
    found = weight_fitting.fit_weights(lessons(200, by_session))
    assert np.abs(found.weights).max() <= weight_fitting.MOST_EACH + 1e-6
    assert np.linalg.norm(found.weights) <= weight_fitting.MOST + 1e-6
    step = weight_fitting.bound_step(np.full(len(features.NAMES), 100.0))
    assert np.linalg.norm(step) == pytest.approx(weight_fitting.MOST)


def test_the_order_of_the_questions_does_not_matter() -> None:
    made = lessons(40, by_session)
    assert np.array_equal(weight_fitting.fit_weights(made).weights, weight_fitting.fit_weights(made[::-1]).weights)


def test_one_callers_gain_is_not_anothers_loss() -> None:
    """A caller of many questions does not bend the order against one of a few."""

    def against(standardised: np.ndarray, random: np.random.Generator) -> int:
        return int(standardised[:, SESSION].argmin())

    many, few = lessons(120, by_session), lessons(12, against, caller="agent:b", seed=3)
    few = [FittingQuestion(one.key, one.scores + 3 * one.useful, one.z, one.useful, 1, one.callers) for one in few]
    assert weight_fitting.fit_weights(many).moved
    assert not weight_fitting.fit_weights([*many, *few]).moved


def test_own_weights_are_added_to_the_shipped_ones_and_reported() -> None:
    held = make_space(*(f"The ferry number {number} leaves the quay at nine" for number in range(12)))
    plain = ask(held, "Which ferry leaves?")
    step = np.zeros(len(features.NAMES), np.float32)
    step[SESSION] = 0.5
    held.index.own = SpaceWeights(rank.FITTED_RANKER.version, step, 40)
    moved = ask(held, "Which ferry leaves?")
    assert (moved.weights["questions"], moved.weights["moved"]) == (40, 0.5)
    assert "questions" not in plain.weights
    held.index.own = SpaceWeights("of another release", step, 40)
    assert ask(held, "Which ferry leaves?").weights == plain.weights
