"""Fit the ranker and its confidence on judged questions, and write `memory/engine/weights.py`.

    python -m benchmarks.fit_ranker FOLDER [--cache FOLDER] [--write]

FOLDER holds labelled sets (see `benchmarks/spaces.py`); the generated sets are always among them. Only numbers
are kept: no text and no id of a set enters the repository.
"""

from __future__ import annotations

import argparse
import pprint
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import judged, measure, spaces, variants
from benchmarks.descent import minimum
from benchmarks.judged import Floats, Lesson
from benchmarks.made.__main__ import sets as made_sets
from memory.engine import confidence, features, rank
from memory.engine.shape import Shape

TARGET = Path(__file__).resolve().parent.parent / "memory" / "engine" / "weights.py"
# Which sets teach the same kind of space. A set that is not named here is a kind of its own.
KINDS = {
    "locomo": "chat", "made-chats": "chat", "longmem": "assistant", "beam-100k": "assistant",
    "made-assistant": "assistant",
    "musique": "passages", "musique-train100": "passages", "made-passages": "passages", "made-notes": "notes",
    "made-languages": "notes",
}  # fmt: skip
# Sets whose sessions all hold evidence: what they teach about sessions is only half believed.
ONE_SIDED = frozenset({"longmem"})
# Generated long chats taught habits that real ones do not have: left out of a fit, a real set lost by them.
UNTAUGHT = frozenset({"made-assistant"})


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
    # 0..1. What a variant counts beside the set itself.
    variant: float = 0.25
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
            kind, _apart([one.shape for one in own], recipe.alike), nothing, 1.0 if not _half(own[0]) else rank.HALF
        )
        for kind, own in of_kind.items()
    ]
    kinds = list(of_kind)
    blank = rank.Ranker(
        version, _apart([one.shape for one in real], recipe.alike), _apart([one.shape for one in half], recipe.alike),
        nothing, tuple(experts),
    )  # fmt: skip
    data = _Stack(lessons, blank, recipe)
    pull = np.concatenate(
        (np.full(width, recipe.shrink), np.full(width * len(kinds), recipe.shrink * recipe.shrink_kind))
    )

    def loss(at: Floats) -> tuple[float, Floats]:
        value, slope = data.loss(at.reshape(1 + len(kinds), width))
        return value + 0.5 * float(pull @ (at * at)), slope.ravel() + pull * at

    found = minimum(loss, np.zeros(len(pull))).reshape(1 + len(kinds), width).astype(np.float32)
    return replace(
        blank, shared=found[0],
        experts=tuple(replace(expert, weights=found[at]) for at, expert in enumerate(experts, start=1)),
    )  # fmt: skip


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


def _apart(shapes: Iterable[Shape], alike: float) -> tuple[Shape, ...]:
    """So many of the shapes that every other is near one of them."""
    kept: list[Shape] = []
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


# Confidence


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
    """Logistic regression; sets count as they do for the ranker."""
    signs, hits, weights = [], [], []
    for lesson in lessons:
        pairs = evidence_of(lesson, ranker)
        signs += [pair[0] for pair in pairs]
        hits += [pair[1] for pair in pairs]
        weights += [worth(lesson, recipe)] * len(pairs)
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
    pairs = [pair for lesson in lessons for pair in evidence_of(lesson, ranker)]
    said = np.array([confidence.probability(signs, *fitted) for signs, _ in pairs])
    return measure.calibration(said, np.array([hit for _, hit in pairs]))


# Files


def lessons_of(
    found: Sequence[dict[str, Any]], encoder: str, cache: Path | None, *, with_variants: bool = True,
    progress: Callable[[str], None] = lambda _: None,
) -> list[Lesson]:  # fmt: skip
    """Every collection as it came, and as others would have kept it."""
    models = (cache or Path.home() / ".cache" / "flux-bench") / "models"
    vectors = spaces.Vectors(spaces.encoder(encoder, models), cache)
    lessons = []
    for one in found:
        for collection in one["collections"]:
            took = time.monotonic()
            lessons.append(judged.lesson(spaces.space(one["name"], collection, vectors), encoder))
            if with_variants:
                for name, change in variants.SINGLE.items():
                    if name == "merged" and not any(item["session"] for item in collection["items"]):
                        continue
                    lessons.append(judged.lesson(spaces.space(one["name"], change(collection), vectors), encoder))
            progress(f"{one['name']} {collection['id']} {time.monotonic() - took:.1f} s")
    if with_variants and len(found) > 1:
        for one, other in zip(found, [*found[1:], found[0]], strict=True):
            both = variants.mixed(one["collections"][0], other["collections"][0])
            own = len(one["collections"][0]["queries"])
            lessons.append(
                judged.lesson(spaces.space(one["name"], {**both, "queries": both["queries"][:own]}, vectors), encoder)
            )
            progress(f"{one['name']} mixed with {other['name']}")
    return lessons


def write(ranker: rank.Ranker, sure: tuple[Floats, float], told: str, target: Path = TARGET) -> None:
    weights = {
        "version": ranker.version,
        "shapes": _plain(ranker.shapes),
        "half": _plain(ranker.half),
        "shared": _named(ranker.shared),
        "experts": [
            {
                "name": expert.name,
                "trust": expert.trust,
                "shapes": _plain(expert.shapes),
                "weights": _named(expert.weights),
            }
            for expert in ranker.experts
        ],
    }
    said = {
        "bias": round(sure[1], 4),
        "signs": {name: round(float(w), 4) for name, w in zip(confidence.SIGNS, sure[0], strict=True)},
    }
    body = (
        f'"""The fitted numbers of the ranker and of its confidence. Written by `python -m benchmarks.fit_ranker`.\n\n'
        f'{told}\n"""\n\nfrom __future__ import annotations\n\nfrom typing import Any\n\n'
        f"WEIGHTS: dict[str, Any] = {pprint.pformat(weights, width=116, compact=True, sort_dicts=False)}\n\n"
        f"CONFIDENCE: dict[str, Any] = {pprint.pformat(said, width=116, compact=True, sort_dicts=False)}\n"
    )
    target.write_text(body, "utf-8")


def _plain(shapes: Iterable[Shape]) -> list[list[float]]:
    return [[round(number, 3) for number in shape] for shape in shapes]


def _named(weights: NDArray[np.float32]) -> dict[str, float]:
    return {
        name: round(float(weight), 3)
        for name, weight in zip(features.NAMES, weights, strict=True)
        if abs(weight) >= 0.0005
    }


def table(lessons: Sequence[Lesson], ranker: rank.Ranker) -> Iterable[str]:
    """Plain fusion, base and corrected, by set and variant."""
    for name in dict.fromkeys((one.set, one.variant) for one in lessons):
        part = [one for one in lessons if (one.set, one.variant) == name]
        cells = [evaluate(part, None, plain=True), evaluate(part, None), evaluate(part, ranker)]
        if cells[0]:
            numbers = "  ".join(
                f"{100 * c['recall@5']:5.1f} {100 * c['recall@10']:5.1f} {100 * c['ndcg@10']:5.1f}" for c in cells
            )
            yield f"{' / '.join(filter(None, name)):34} {numbers}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--encoder", action="append")
    parser.add_argument(
        "--collections", type=int, default=1_000, help="so many of each set teach, the rest only measure"
    )
    parser.add_argument("--version", default=time.strftime("%Y-%m-%d", time.gmtime()))
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    found = [spaces.read(path) for path in sorted(given.folder.glob("*.json"))] if given.folder else []
    lessons = [
        lesson
        for name in given.encoder or ["wordllama"]
        for lesson in lessons_of([*found, *made_sets()], name, given.cache, progress=print)
    ]
    teach = [one for one in lessons if _number(one, lessons) < given.collections]
    rest = [one for one in lessons if _number(one, lessons) >= given.collections]
    ranker = fit(teach, version=given.version)
    sure = fit_confidence(teach, ranker)
    print("fitted: recall@5 recall@10 nDCG@10 of plain fusion, base, corrected", *table(teach, ranker), sep="\n")
    if rest:
        print("not fitted", *table(rest, ranker), sep="\n")
        print("expected error of confidence, not fitted", calibrate(rest, ranker, sure)[0])
    if given.write:
        names = ", ".join(
            f"{name} ({len({o.collection for o in teach if o.set == name})})"
            for name in dict.fromkeys(o.set for o in teach)
        )
        write(ranker, sure, f"Fitted on {names}: collections of each in brackets. Recipe: {Recipe()}.")


def _number(lesson: Lesson, lessons: Sequence[Lesson]) -> int:
    return list(dict.fromkeys(one.collection for one in lessons if one.set == lesson.set)).index(lesson.collection)


if __name__ == "__main__":
    main()
