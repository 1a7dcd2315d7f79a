"""The fit of the confidence, and how honest it is on questions that taught it nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from benchmarks import judged, measure
from benchmarks.descent import minimum
from benchmarks.fitting import Recipe
from benchmarks.judged import Floats, Lesson
from memory.engine.ranking import confidence, rank

UNFITTED = rank.Ranker("none", (), (), np.zeros_like(rank.FITTED_RANKER.shared), ())


def evidence_of(lesson: Lesson, ranker: rank.Ranker) -> list[tuple[Floats, float]]:
    """Signs of each answer, and whether a right one was among the first five. Misleading questions are left out."""
    weights, _ = ranker.weights(lesson.shape)
    found = []
    for one in lesson.questions:
        if not len(one.base) or one.category == "adversarial":
            continue
        scores = judged.ranked(one, weights.astype(np.float64))
        order = judged.order(scores)
        signs = confidence.signs(scores[order].astype(np.float32), one.found[:, order], one.facts)
        found.append((signs, float(one.answers[order][: confidence.FIRST].any())))
    return found


def fit_confidence(lessons: Sequence[Lesson], ranker: rank.Ranker, recipe: Recipe = Recipe()) -> tuple[Floats, float]:  # noqa: B008
    """Logistic regression over collections as they came, ranked as fitted and as if nothing like them had been.

    Sets count alike however many questions they have.
    """
    by_set: dict[str, list[tuple[Floats, float]]] = {}
    for lesson in lessons:
        if not lesson.variant:
            for ranked in (ranker, UNFITTED):
                by_set.setdefault(lesson.set, []).extend(evidence_of(lesson, ranked))
    signs, hits, weights = [], [], []
    for name, pairs in by_set.items():
        signs += [pair[0] for pair in pairs]
        hits += [pair[1] for pair in pairs]
        weights += [(recipe.made_sure if name.startswith("made-") else 1.0) / len(pairs)] * len(pairs)
    x, y, w = np.array(signs), np.array(hits), np.array(weights)
    w = w / w.sum()
    mean, deviation = x.mean(axis=0), np.maximum(x.std(axis=0), 1e-6)
    x = (x - mean) / deviation
    used = np.ones(x.shape[1], np.bool_)
    while True:
        found = _logistic(np.c_[x * used, np.ones(len(x))], y, w)
        against = used & (found[:-1] * _LEANS < 0)
        if not against.any():
            break
        used &= ~against  # a sign that points the wrong way has learned an accident of the sets
    slopes = np.where(used, found[:-1], 0) / deviation
    return slopes, float(found[-1] - slopes @ mean)


# +1: the more of it the surer, -1: the less sure; 0: the fit may say.
_LEANS = np.array([0 if name == "terms" else -1 if name == "unknown" else 1 for name in confidence.SIGNS])


def _logistic(x: Floats, y: Floats, w: Floats) -> Floats:
    pull = np.r_[np.full(x.shape[1] - 1, 1e-3), 0]

    def loss(at: Floats) -> tuple[float, Floats]:
        guess = 1 / (1 + np.exp(-np.clip(x @ at, -30, 30)))
        value = -float(w @ (y * np.log(guess + 1e-12) + (1 - y) * np.log(1 - guess + 1e-12)))
        return value + 0.5 * float(pull @ (at * at)), x.T @ (w * (guess - y)) + pull * at

    return minimum(loss, np.zeros(x.shape[1]))


def calibrate(
    lessons: Iterable[Lesson], ranker: rank.Ranker, fitted: tuple[Floats, float]
) -> tuple[float, list[tuple[float, float, int]]]:
    said, true = [], []
    for lesson in lessons:
        near = ranker.gates(lesson.shape)[0]
        for signs, hit in evidence_of(lesson, ranker):
            said.append(confidence.probability(signs, *fitted, near))
            true.append(hit)
    return measure.calibration(np.array(said), np.array(true))
