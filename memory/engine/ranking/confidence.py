"""Confidence of an answer: the probability that a right grain is among the first five.

A logistic function of a dozen signs that do not depend on the size or length of the collection, fitted on judged
questions, some of which have no answer. The fit is known to hold only near fitted collections: the further a space is
from all of them, the more its confidence is moved towards an average value (DEFAULT_CONFIDENCE).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memory.engine.ranking import features, fitted_weights
from memory.engine.ranking.candidates import Candidates, Floats

FIRST = 5  # rows of an answer that confidence is about
# 0..1. Confidence of an answer in a space of which nothing is known.
DEFAULT_CONFIDENCE = 0.6
# 0..1. Weight of DEFAULT_CONFIDENCE in a space unlike any fitted collection.
DEFAULT_WEIGHT = 0.2
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
    """Facts about a question as a whole."""

    unknown: float  # share of the question's idf in terms that no grain has
    stands_out: float  # standard deviations by which the nearest vector is above the mean of the space
    terms: int


def question_facts(candidates: Candidates, size: int) -> QuestionFacts:
    idf = candidates.asked.idf
    missing = math.log1p((size + 0.5) / 0.5) * (len(idf) - int(np.count_nonzero(idf)))
    total = missing + float(np.add.reduce(idf))
    stands_out = (
        (candidates.best_meaning - candidates.mean) / candidates.deviation if candidates.deviation > 1e-6 else 0.0
    )
    return QuestionFacts(missing / total if total else 1.0, float(stands_out), len(candidates.asked.keys))


def signs(scores: Floats, raw: Floats, facts: QuestionFacts) -> NDArray[np.float64]:
    """Signs of an answer, from the scores of the pool and raw features [features, first], both best first."""
    first = raw[:, :FIRST]
    known_share = 1 - facts.unknown
    sixth = scores[min(FIRST, len(scores) - 1)]
    return np.array(
        [
            min(scores[0] - scores[1], 3.0) if len(scores) > 1 else 3.0,
            min(scores[0] - sixth, 6.0),
            min(float(scores[0] - np.add.reduce(scores) / np.float32(len(scores))), 10.0) / 2,
            first[_COVERAGE, 0] * known_share,
            np.maximum.reduce(first[_COVERAGE]) * known_share,
            first[_WORDS, 0],
            first[_MEANING, 0],
            min(facts.stands_out, 10.0) / 3,
            facts.unknown,
            np.maximum.reduce(first[_WORDS_RANK] + first[_MEANING_RANK]) / 2,
            np.log1p(facts.terms * known_share),
        ],
        np.float64,
    )


def probability(signs: NDArray[np.float64], weights: NDArray[np.float64], bias: float, near: float = 1.0) -> float:
    """Logistic function of the signs; `near` is the similarity of the space to a fitted one, 0 to 1."""
    pull = DEFAULT_WEIGHT * (1 - near)
    default_logit = math.log(DEFAULT_CONFIDENCE / (1 - DEFAULT_CONFIDENCE))
    logit = (1 - pull) * (float(signs @ weights) + bias) + pull * default_logit
    return 1 / (1 + math.exp(-min(max(logit, -20.0), 20.0)))


_FITTED = np.array([fitted_weights.CONFIDENCE["signs"].get(name, 0.0) for name in SIGNS])
_BIAS: float = fitted_weights.CONFIDENCE["bias"]


def confidence(scores: Floats, raw: Floats, facts: QuestionFacts, near: float = 1.0) -> float:
    """Confidence of an answer with the fitted weights; arguments as in `signs` and `probability`."""
    return probability(signs(scores, raw, facts), _FITTED, _BIAS, near)
