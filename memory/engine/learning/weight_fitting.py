"""A space's own weights: a bounded step from the shipped ones, fitted on the questions its votes have judged.

    x = shipped score + z . d,      d = sum of a_k w_k + e

w_k are the shipped weights, shared and of each kind: a space that no fitted shape is near finds with a few questions
how much of them holds for it (a). e moves single weights and is pulled back hard. The fit is a listwise softmax, like
that of the shipped weights, with Newton's method. No weight moves by more than MOST_EACH and all together by no more
than MOST, and nothing moves unless questions that were left out of the fit are answered better by it.

It follows from the questions alone, in whatever order they come.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memory.engine.ranking import features, rank
from memory.engine.ranking.candidates import Floats

FEWEST_QUESTIONS = 12  # judged questions from which on weights may move
MOST_QUESTIONS = 200  # that are looked at, the latest: what a fit costs does not grow with history
MOST_EACH, MOST = 0.6, 1.5  # how far one weight may move, and all of them (Euclidean)
PULL_KIND, PULL_EACH = 4.0, 40.0  # towards 0, in questions: of the shipped directions, and of single weights
FOLDS = 5
LEAST_GAIN = 0.005  # of nDCG@10 on questions left out, below which nothing moves
HEARD = 6  # questions of one caller from which on it is asked whether they suffer
SURE = 1.5  # standard errors of that gain which it must exceed
_STEPS, _SIZES = 12, (1.0, 0.5, 0.25, 0.1, 0.02)

Wide = NDArray[np.float64]


@dataclass(frozen=True)
class FittingQuestion:
    """One judged question: its candidates as the shipped weights order them."""

    key: int  # of the question: fixes the order, and the fold
    scores: Wide  # [pool]
    z: Floats  # standardised features [pool, features]
    useful: NDArray[np.bool_]  # [pool]
    wanted: int  # useful grains, in the pool or not
    callers: frozenset[str] = frozenset()  # who judged it


@dataclass(frozen=True)
class FittedWeights:
    """How far the weights of a space lie from the shipped ones, and what speaks for it."""

    weights: Floats
    questions: int
    before: float  # nDCG@10 of questions that were left out of the fit
    after: float

    @property
    def moved(self) -> bool:
        return bool(self.weights.any())


def fit_weights(lessons: Sequence[FittingQuestion], ranker: rank.Ranker = rank.FITTED_RANKER) -> FittedWeights:
    """The weights these questions call for: none, unless they help where they were not fitted."""
    taught = sorted((one for one in lessons if one.useful.any()), key=lambda one: one.key)
    still = np.zeros(len(features.NAMES), np.float32)
    if len(taught) < FEWEST_QUESTIONS:
        return FittedWeights(still, len(taught), 0.0, 0.0)
    before, after = np.zeros(len(taught)), np.zeros(len(taught))
    for fold in range(FOLDS):
        step = _fit([one for at, one in enumerate(taught) if at % FOLDS != fold], ranker)
        for at in range(fold, len(taught), FOLDS):
            before[at] = ndcg(taught[at], taught[at].scores)
            after[at] = ndcg(taught[at], taught[at].scores + taught[at].z @ step)
    found = _fit(taught, ranker).astype(np.float32) if _helps(taught, after - before) else still
    return FittedWeights(found, len(taught), float(before.mean()), float(after.mean()))


def _helps(taught: Sequence[FittingQuestion], gains: Wide) -> bool:
    """Whether the gain is no accident, and no caller's questions pay for it."""
    error = float(gains.std()) / np.sqrt(len(gains))
    if float(gains.mean()) < max(LEAST_GAIN, SURE * error):
        return False
    callers = {caller for one in taught for caller in one.callers}
    own = ([gain for one, gain in zip(taught, gains, strict=True) if caller in one.callers] for caller in callers)
    return all(sum(some) >= 0 for some in own if len(some) >= HEARD)


def ndcg(one: FittingQuestion, scores: Wide) -> float:
    """nDCG@10 of an order of the pool; what is not in the pool counts as missed."""
    hits = one.useful[np.argsort(-scores, kind="stable")[:10]]
    worth = 1 / np.log2(np.arange(2, 12))
    return float(worth[: len(hits)][hits].sum() / worth[: min(one.wanted, 10)].sum())


def bound_step(step: Wide) -> Wide:
    held = np.clip(step, -MOST_EACH, MOST_EACH)
    length = float(np.linalg.norm(held))
    return held * (MOST / length) if length > MOST else held


def _fit(taught: Sequence[FittingQuestion], ranker: rank.Ranker) -> Wide:
    shipped = [ranker.shared, *(expert.weights for expert in ranker.experts)]
    width = len(features.NAMES)
    ways = np.vstack([*(one for one in shipped if one.any()), np.eye(width, dtype=np.float32)]).astype(np.float64)
    pull = np.full(len(ways), PULL_EACH)
    pull[: len(ways) - width] = PULL_KIND
    parts = [(one.scores, one.z @ ways.T, one.useful / one.useful.sum()) for one in taught]
    at = np.zeros(len(ways))
    loss, slope, bend = _loss(parts, pull, at)
    for _ in range(_STEPS):
        whole = np.linalg.solve(bend, slope)
        for size in _SIZES:  # the first that leads down: a whole step may overshoot where all is decided
            found = _loss(parts, pull, at - size * whole)
            if found[0] < loss:
                at = at - size * whole
                loss, slope, bend = found
                break
        else:
            break
    return bound_step(ways.T @ at)


def _loss(parts: Sequence[tuple[Wide, Wide, Wide]], pull: Wide, at: Wide) -> tuple[float, Wide, Wide]:
    """With its slope and its curvature."""
    loss, slope, bend = 0.5 * float(pull @ (at * at)), pull * at, np.diag(pull)
    for scores, z, share in parts:
        moved = scores + z @ at
        raised = np.exp(moved - moved.max())
        chance = raised / raised.sum()
        mean = chance @ z
        loss += float(np.log(raised.sum()) + moved.max() - share @ moved)
        slope = slope + mean - share @ z
        bend = bend + (z * chance[:, None]).T @ z - np.outer(mean, mean)
    return loss, slope, bend
