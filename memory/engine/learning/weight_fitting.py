"""Fitting of a space's own ranker weights: a bounded step from the shipped ones, from its judged questions.

    x = shipped score + z . d,      d = sum of a_k w_k + e

w_k are the shipped weights, shared and of each expert: a space far from all fitted shapes needs only a few questions to
find how much of them applies to it (a). e changes single weights and is strongly regularised. The fit is a listwise
softmax, like that of the shipped weights, with Newton's method. No weight moves by more than MOST_EACH and all together
by no more than MOST, and nothing moves unless questions left out of the fit are answered better.

The result depends on the questions only, not on their order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memory.engine.ranking import features, rank
from memory.engine.ranking.candidates import Floats

FEWEST_QUESTIONS = 12  # judged questions below which weights do not move
MOST_QUESTIONS = 200  # latest judged questions that are used: the cost of a fit does not grow with history
MOST_EACH, MOST = 0.6, 1.5  # how far one weight may move, and all of them (Euclidean)
PULL_KIND, PULL_EACH = 4.0, 40.0  # L2 regularisation in questions: of shipped directions, and of single weights
FOLDS = 5  # of the cross-validation
LEAST_GAIN = 0.005  # gain of nDCG@10 on questions left out, below which nothing moves
HEARD = 6  # questions of one caller from which on a loss for that caller rejects the fit
SURE = 1.5  # standard errors that the gain must exceed
_STEPS, _SIZES = 12, (1.0, 0.5, 0.25, 0.1, 0.02)

Wide = NDArray[np.float64]


@dataclass(frozen=True)
class FittingQuestion:
    """One judged question: its candidates as the shipped weights order them."""

    key: int  # of the question: decides its order and fold
    scores: Wide  # [pool]
    z: Floats  # standardised features [pool, features]
    useful: NDArray[np.bool_]  # [pool]
    wanted: int  # number of useful grains, also outside the pool
    callers: frozenset[str] = frozenset()  # callers that judged it


@dataclass(frozen=True)
class FittedWeights:
    """Fitted difference of a space's weights from the shipped ones, with its cross-validation."""

    weights: Floats
    questions: int
    before: float  # nDCG@10 of questions left out of the fit, with the shipped weights
    after: float  # nDCG@10 of the same questions with the fitted weights

    @property
    def moved(self) -> bool:
        return bool(self.weights.any())


def fit_weights(questions: Sequence[FittingQuestion], ranker: rank.Ranker = rank.FITTED_RANKER) -> FittedWeights:
    """Fit weights to these questions; no change unless it helps questions that were left out of the fit."""
    usable = sorted((question for question in questions if question.useful.any()), key=lambda question: question.key)
    unchanged = np.zeros(len(features.NAMES), np.float32)
    if len(usable) < FEWEST_QUESTIONS:
        return FittedWeights(unchanged, len(usable), 0.0, 0.0)
    before, after = np.zeros(len(usable)), np.zeros(len(usable))
    for fold in range(FOLDS):
        step = _fit([question for at, question in enumerate(usable) if at % FOLDS != fold], ranker)
        for at in range(fold, len(usable), FOLDS):
            before[at] = ndcg(usable[at], usable[at].scores)
            after[at] = ndcg(usable[at], usable[at].scores + usable[at].z @ step)
    weights = _fit(usable, ranker).astype(np.float32) if _helps(usable, after - before) else unchanged
    return FittedWeights(weights, len(usable), float(before.mean()), float(after.mean()))


def _helps(questions: Sequence[FittingQuestion], gains: Wide) -> bool:
    """Whether the gain is significant, and the questions of no caller get worse."""
    error = float(gains.std()) / np.sqrt(len(gains))
    if float(gains.mean()) < max(LEAST_GAIN, SURE * error):
        return False
    callers = {caller for question in questions for caller in question.callers}
    by_caller = (
        [gain for question, gain in zip(questions, gains, strict=True) if caller in question.callers]
        for caller in callers
    )
    return all(sum(own_gains) >= 0 for own_gains in by_caller if len(own_gains) >= HEARD)


def ndcg(question: FittingQuestion, scores: Wide) -> float:
    """nDCG@10 of the pool ordered by scores; useful grains outside the pool count as missed."""
    hits = question.useful[np.argsort(-scores, kind="stable")[:10]]
    discount = 1 / np.log2(np.arange(2, 12))
    return float(discount[: len(hits)][hits].sum() / discount[: min(question.wanted, 10)].sum())


def bound_step(step: Wide) -> Wide:
    """The step clipped to MOST_EACH per weight and shortened to the length MOST."""
    clipped = np.clip(step, -MOST_EACH, MOST_EACH)
    length = float(np.linalg.norm(clipped))
    return clipped * (MOST / length) if length > MOST else clipped


def _fit(questions: Sequence[FittingQuestion], ranker: rank.Ranker) -> Wide:
    shipped = [ranker.shared, *(expert.weights for expert in ranker.experts)]
    width = len(features.NAMES)
    directions = np.vstack(
        [*(weights for weights in shipped if weights.any()), np.eye(width, dtype=np.float32)]
    ).astype(np.float64)
    pull = np.full(len(directions), PULL_EACH)
    pull[: len(directions) - width] = PULL_KIND
    parts = [
        (question.scores, question.z @ directions.T, question.useful / question.useful.sum()) for question in questions
    ]
    at = np.zeros(len(directions))
    loss, slope, curvature = _loss(parts, pull, at)
    for _ in range(_STEPS):
        step = np.linalg.solve(curvature, slope)
        for size in _SIZES:  # the first size that lowers the loss: a full Newton step may overshoot
            tried = _loss(parts, pull, at - size * step)
            if tried[0] < loss:
                at = at - size * step
                loss, slope, curvature = tried
                break
        else:
            break
    return bound_step(directions.T @ at)


def _loss(parts: Sequence[tuple[Wide, Wide, Wide]], pull: Wide, at: Wide) -> tuple[float, Wide, Wide]:
    """Loss at a point, with its gradient and its Hessian."""
    loss, slope, curvature = 0.5 * float(pull @ (at * at)), pull * at, np.diag(pull)
    for scores, z, share in parts:
        moved = scores + z @ at
        exponentials = np.exp(moved - moved.max())
        probability = exponentials / exponentials.sum()
        mean = probability @ z
        loss += float(np.log(exponentials.sum()) + moved.max() - share @ moved)
        slope = slope + mean - share @ z
        curvature = curvature + (z * probability[:, None]).T @ z - np.outer(mean, mean)
    return loss, slope, curvature
