"""How sure an answer is: the probability that a right grain is among the first five.

A logistic function of a dozen signs that carry no scale of the collection, fitted on judged questions, some of
which nothing answers. Spaces differ in how often they can answer at all, and only those near a fitted one are known
to keep what was learned: the further a space is from all of them, the nearer its confidence is to an ordinary one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memory.engine.ranking import features, fitted_weights
from memory.engine.ranking.candidates import Candidates, Floats

FIRST = 5
# 0..1. How far a space without a fitted neighbour is drawn towards what a question is worth anywhere, and that worth.
DRAWN, ORDINARY = 0.2, 0.6
SIGNS = (
    "ahead",
    "ahead_of_sixth",
    "above_pool",
    "covered",
    "covered_by_five",
    "words",
    "meaning",
    "meaning_stands_out",
    "unknown",
    "agreed",
    "terms",
)
_COVERAGE, _WORDS, _MEANING, _WORDS_RANK, _MEANING_RANK = (
    features.NAMES.index(name) for name in ("coverage", "words", "meaning", "words_rank", "meaning_rank")
)


@dataclass(frozen=True)
class QuestionFacts:
    """What is true of the question as a whole."""

    unknown: float  # share of the question's weight that stands in no grain at all
    stands_out: float  # deviations by which the nearest vector is above the mean of the space
    terms: int


def question_facts(scene: Candidates, size: int) -> QuestionFacts:
    idf = scene.asked.idf
    missing = math.log1p((size + 0.5) / 0.5) * (len(idf) - int(np.count_nonzero(idf)))
    total = missing + float(np.add.reduce(idf))
    stands_out = (scene.best_meaning - scene.mean) / scene.deviation if scene.deviation > 1e-6 else 0.0
    return QuestionFacts(missing / total if total else 1.0, float(stands_out), len(scene.asked.keys))


def signs(scores: Floats, found: Floats, known: QuestionFacts) -> NDArray[np.float64]:
    """The signs of an answer: scores of the pool and raw features [features, first], both best first."""
    first = found[:, :FIRST]
    heard = 1 - known.unknown
    last = scores[min(FIRST, len(scores) - 1)]
    return np.array(
        [
            min(scores[0] - scores[1], 3.0) if len(scores) > 1 else 3.0,
            min(scores[0] - last, 6.0),
            min(float(scores[0] - np.add.reduce(scores) / np.float32(len(scores))), 10.0) / 2,
            first[_COVERAGE, 0] * heard,
            np.maximum.reduce(first[_COVERAGE]) * heard,
            first[_WORDS, 0],
            first[_MEANING, 0],
            min(known.stands_out, 10.0) / 3,
            known.unknown,
            np.maximum.reduce(first[_WORDS_RANK] + first[_MEANING_RANK]) / 2,
            np.log1p(known.terms * heard),
        ],
        np.float64,
    )


def probability(of: NDArray[np.float64], weigh: NDArray[np.float64], bias: float, near: float = 1.0) -> float:
    """`near` is how much the space resembles a fitted one, 0 to 1."""
    drawn = DRAWN * (1 - near)
    logit = (1 - drawn) * (float(of @ weigh) + bias) + drawn * math.log(ORDINARY / (1 - ORDINARY))
    return 1 / (1 + math.exp(-min(max(logit, -20.0), 20.0)))


_FITTED = np.array([fitted_weights.CONFIDENCE["signs"].get(name, 0.0) for name in SIGNS])
_BIAS: float = fitted_weights.CONFIDENCE["bias"]


def confidence(scores: Floats, found: Floats, known: QuestionFacts, near: float = 1.0) -> float:
    return probability(signs(scores, found, known), _FITTED, _BIAS, near)
