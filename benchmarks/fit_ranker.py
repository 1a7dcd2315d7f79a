"""Fit the ranker and its confidence on judged questions, and write `memory/engine/ranking/fitted_weights.py`.

    python -m benchmarks.fit_ranker FOLDER [--cache FOLDER] [--write]

FOLDER holds labelled sets (see `benchmarks/spaces.py`); the generated sets are always among them. Only numbers
are kept: no text and no id of a set enters the repository.
"""

from __future__ import annotations

import argparse
import pprint
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import judged, spaces, variants
from benchmarks.fitting import Recipe, evaluate, fit
from benchmarks.judged import Floats, Lesson
from benchmarks.made.__main__ import sets as made_sets
from benchmarks.sureness import calibrate, fit_confidence
from memory.engine.ranking import confidence, features, rank
from memory.engine.ranking.collection_shape import CollectionShape

TARGET = Path(__file__).resolve().parent.parent / "memory" / "engine" / "ranking" / "fitted_weights.py"


def lessons_of(
    found: Sequence[dict[str, Any]],
    encoder: str,
    cache: Path | None,
    *,
    with_variants: bool = True,
    progress: Callable[[str], None] = lambda _: None,
) -> list[Lesson]:
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
    for name, both in mixtures(found) if with_variants else ():
        lessons.append(judged.lesson(spaces.space(name, both, vectors), encoder))
        progress(f"{name} {both['id']}")
    return lessons


def mixtures(found: Sequence[dict[str, Any]], others: int = 2) -> Iterator[tuple[str, dict[str, Any]]]:
    """The first collection of each set in one space with that of each of the sets after it, asked its own questions."""
    for at, one in enumerate(found):
        for step in range(1, min(others, len(found) - 1) + 1):
            other = found[(at + step) % len(found)]
            both = variants.mixed(one["collections"][0], other["collections"][0])
            own = len(one["collections"][0]["queries"])
            name = f"{both['id'].partition('/')[0]}/{variants.MIXED} with {other['name']}"
            yield one["name"], {**both, "id": name, "queries": both["queries"][:own]}


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
        f'"""Fitted weights of the ranker and of the confidence. Written by `python -m benchmarks.fit_ranker`.\n\n'
        f'{told}\n"""\n\nfrom __future__ import annotations\n\nfrom typing import Any\n\n'
        f"WEIGHTS: dict[str, Any] = {pprint.pformat(weights, width=116, compact=True, sort_dicts=False)}\n\n"
        f"CONFIDENCE: dict[str, Any] = {pprint.pformat(said, width=116, compact=True, sort_dicts=False)}\n"
    )
    target.write_text(body, "utf-8")


def _plain(shapes: Iterable[CollectionShape]) -> list[list[float]]:
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
