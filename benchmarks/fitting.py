"""The fit of the ranker: which sets teach what, how much each counts, and the loss over all of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from benchmarks import judged, measure
from benchmarks.descent import minimum
from benchmarks.judged import Floats, Lesson
from memory.engine.ranking import features, rank
from memory.engine.ranking.collection_shape import CollectionShape

# Which sets teach the same kind of space. A set that is not named here is a kind of its own.
KINDS = {
    "locomo": "chat",
    "made-chats": "chat",
    "longmem": "assistant",
    "beam-100k": "assistant",
    "made-assistant": "assistant",
    "2wiki": "passages",
    "hotpotqa": "passages",
    "musique": "passages",
    "musique-train100": "passages",
    "made-passages": "passages",
    "made-notes": "notes",
    "made-languages": "notes",
}
# Sets whose sessions all hold evidence: what they teach about sessions is only half believed.
ONE_SIDED = frozenset({"longmem"})
# Generated long chats taught habits that real ones do not have: left out of a fit, a real set lost by them.
UNTAUGHT = frozenset({"made-assistant"})
# A standing rule must always be considered: where few questions are about one, a fit would count it against a grain.
NEVER_AGAINST = ("rule",)


@dataclass(frozen=True)
class Recipe:
    """How the fit is made."""

    # 0..1. Pull of the shared weights towards 0.
    shrink: float = 0.002
    # 1..100. How much harder those of one kind are pulled.
    shrink_kind: float = 10.0
    # 0..1. What a generated set counts beside a real one of its kind, and where there is no real one.
    made: float = 0.1
    made_alone: float = 0.3
    # 0..1. What a generated set counts beside a real one where the confidence is fitted.
    made_sure: float = 0.3
    # 0..1. What a variant counts beside the set itself.
    variant: float = 0.25
    # 0..1. How far generated and one-sided sets reach while fitting; they are believed less afterwards (`rank.HALF`).
    half: float = 0.5
    # 0..1. Shapes nearer to each other than this are one.
    alike: float = 0.12


def worth(lesson: Lesson, recipe: Recipe) -> float:
    made = recipe.made_alone if KINDS.get(lesson.set) == "notes" else recipe.made
    return (made if lesson.set.startswith("made-") else 1.0) * (recipe.variant if lesson.variant else 1.0)


def fit(lessons: Sequence[Lesson], recipe: Recipe = Recipe(), version: str = "fit") -> rank.Ranker:  # noqa: B008
    """Listwise softmax over each pool: the answers share the probability, everything else is pushed down."""
    lessons = [lesson for lesson in lessons if lesson.set not in UNTAUGHT]
    real, half = [one for one in lessons if not _half(one)], [one for one in lessons if _half(one)]
    width = len(features.NAMES)
    nothing = np.zeros(width, np.float32)
    of_kind = {kind: _of(real, kind) or _of(half, kind) for kind in sorted({_kind(one) for one in lessons})}
    experts = [
        rank.Expert(
            kind, _apart([one.shape for one in own], recipe.alike), nothing, 1.0 if not _half(own[0]) else recipe.half
        )
        for kind, own in of_kind.items()
    ]
    kinds = list(of_kind)
    blank = rank.Ranker(
        version,
        _apart([one.shape for one in real], recipe.alike),
        _apart([one.shape for one in half], recipe.alike),
        nothing,
        tuple(experts),
        recipe.half,
    )
    data = _Stack(lessons, blank, recipe)
    pull = np.concatenate(
        (np.full(width, recipe.shrink), np.full(width * len(kinds), recipe.shrink * recipe.shrink_kind))
    )

    def loss(at: Floats) -> tuple[float, Floats]:
        value, slope = data.loss(at.reshape(1 + len(kinds), width))
        return value + 0.5 * float(pull @ (at * at)), slope.ravel() + pull * at

    found = minimum(loss, np.zeros(len(pull))).reshape(1 + len(kinds), width).astype(np.float32)
    careful = [features.NAMES.index(name) for name in NEVER_AGAINST]
    found[:, careful] = np.maximum(found[:, careful], 0)
    believed = {expert.name: rank.HALF_OF_KIND.get(expert.name, rank.HALF) for expert in experts if expert.trust < 1}
    return replace(
        blank,
        shared=found[0],
        trust=rank.HALF,
        experts=tuple(
            replace(expert, weights=found[at], trust=believed.get(expert.name, 1.0))
            for at, expert in enumerate(experts, start=1)
        ),
    )


def _half(lesson: Lesson) -> bool:
    return lesson.set.startswith("made-") or lesson.set in ONE_SIDED


def _kind(lesson: Lesson) -> str:
    return KINDS.get(lesson.set, lesson.set)


def _of(lessons: Sequence[Lesson], kind: str) -> list[Lesson]:
    return [lesson for lesson in lessons if not lesson.variant and _kind(lesson) == kind]


class _Stack:
    """All pools one below the other, with the loss over them."""

    def __init__(self, lessons: Sequence[Lesson], ranker: rank.Ranker, recipe: Recipe) -> None:
        groups: dict[tuple[str, str], int] = {}
        for lesson in lessons:
            name = (lesson.set, lesson.variant)
            groups[name] = groups.get(name, 0) + sum(one.teaches for one in lesson.questions)
        taken = [(lesson, one) for lesson in lessons for one in lesson.questions if one.teaches]
        gates = {id(lesson): [(pair := ranker.gates(lesson.shape))[0], *pair[1]] for lesson in lessons}
        weights = np.array([worth(lesson, recipe) / groups[lesson.set, lesson.variant] for lesson, _ in taken])
        self.sizes = np.array([len(one.base) for _, one in taken])
        self.starts = np.concatenate(([0], np.cumsum(self.sizes)[:-1]))
        self.z = np.concatenate([one.z for _, one in taken])
        self.base = np.concatenate([one.base for _, one in taken])
        self.share = np.concatenate([one.answers / one.answers.sum() for _, one in taken])
        self.gate = np.repeat(np.array([gates[id(lesson)] for lesson, _ in taken], np.float32), self.sizes, axis=0)
        self.weight = np.repeat(weights / weights.sum(), self.sizes)

    def loss(self, weights: Floats) -> tuple[float, Floats]:
        scores = self.base + ((self.z @ weights.T.astype(np.float32)) * self.gate).sum(axis=1)
        top = np.repeat(np.maximum.reduceat(scores, self.starts), self.sizes)
        raised = np.exp(scores - top)
        total = np.repeat(np.add.reduceat(raised, self.starts), self.sizes)
        value = -float((self.weight * self.share * (scores - top - np.log(total))).sum())
        residual = (self.weight * (raised / total - self.share)).astype(np.float32)
        slope: Floats = ((self.gate * residual[:, None]).T @ self.z).astype(np.float64)
        return value, slope


def _apart(shapes: Iterable[CollectionShape], alike: float) -> tuple[CollectionShape, ...]:
    """So many of the shapes that every other is near one of them."""
    kept: list[CollectionShape] = []
    for shape in shapes:
        if all(shape.distance(other) > alike for other in kept):
            kept.append(shape)
    return tuple(kept)


def evaluate(lessons: Iterable[Lesson], ranker: rank.Ranker | None, plain: bool = False) -> dict[str, float]:
    """Means over the questions that count: plain fusion, the base, or the base corrected by a ranker."""
    rows = []
    for lesson in lessons:
        weights = None if ranker is None else ranker.weights(lesson.shape)[0].astype(np.float64)
        for one in lesson.questions:
            if one.counts:
                rows.append(judged.score(one, one.plain if plain else judged.ranked(one, weights)))
    return measure.mean(rows)
