"""What a space's own weights are worth where no fitted shape is near it, and where one is.

    python -m benchmarks.attunement FOLDER       some questions of each collection are judged, the others measured

nDCG@10 of the questions that were not judged: by plain fusion with priors alone, as if the space lay outside the gate;
with its own weights from 25 and from 50 judged questions; the same with the shipped weights.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks import judged, spaces
from benchmarks.made.__main__ import sets as made_sets
from memory.engine.learning import weight_fitting
from memory.engine.ranking import rank

JUDGED = (25, 50)
SEEDS = (1, 2, 3)
LEAST_LEFT = 8  # questions to measure by


def lessons(one: judged.Lesson, weights: judged.Floats | None) -> list[weight_fitting.FittingQuestion]:
    return [
        weight_fitting.FittingQuestion(at, judged.ranked(asked, weights), asked.z, asked.answers, asked.wanted)
        for at, asked in enumerate(one.questions)
        if asked.counts and len(asked.base) and asked.wanted
    ]


def gain(given: list[weight_fitting.FittingQuestion], count: int, seed: int) -> tuple[float, float, bool] | None:
    """Before, after, and whether anything moved; None if too few questions are left."""
    order = np.random.default_rng(seed).permutation(len(given))
    left = [given[at] for at in order[count:]]
    if len(left) < LEAST_LEFT:
        return None
    own = weight_fitting.fit_weights([given[at] for at in order[:count]])
    before = [weight_fitting.ndcg(one, one.scores) for one in left]
    after = [
        weight_fitting.ndcg(one, one.scores + np.clip(one.z @ own.weights, -rank.BOUND, rank.BOUND)) for one in left
    ]
    return 100 * float(np.mean(before)), 100 * float(np.mean(after)), own.moved


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--encoder", default="wordllama", choices=("minilm", "wordllama", "hashed", "none"))
    parser.add_argument("--cache", type=Path, help="where vectors are kept between runs")
    parser.add_argument("--collections", type=int, default=1_000, help="so many of each set")
    given = parser.parse_args(arguments)
    found = [spaces.read(path) for path in sorted(given.folder.glob("*.json"))] if given.folder else made_sets()
    models = (given.cache or Path(tempfile.gettempdir()) / "flux-bench") / "models"
    vectors = spaces.Vectors(spaces.encoder(given.encoder, models), given.cache)
    table = Table(box=None, header_style="bold", pad_edge=False)
    for column in ("set", "weights", "judged", "before", "after", "gain", "moved"):
        table.add_column(column, justify="left" if column in ("set", "weights") else "right")
    rows = []
    for one in found:
        parts = one["collections"][: given.collections]
        taught = [judged.lesson(spaces.space(one["name"], part, vectors), given.encoder) for part in parts]
        for name in ("none near", "shipped"):
            for count in JUDGED:
                measured = [
                    result
                    for lesson in taught
                    for seed in SEEDS
                    if (result := gain(lessons(lesson, _weights(lesson, name)), count, seed)) is not None
                ]
                if measured:
                    before, after = (float(np.mean([result[at] for result in measured])) for at in (0, 1))
                    moved = sum(result[2] for result in measured)
                    table.add_row(
                        one["name"],
                        name,
                        str(count),
                        f"{before:.1f}",
                        f"{after:.1f}",
                        f"{after - before:+.2f}",
                        f"{moved} of {len(measured)}",
                    )
                    rows.append(
                        {
                            "what": f"{one['name']}, {name}: own weights from {count} questions, nDCG@10",
                            "ratio": after - before,
                            "goal": "",
                            "measured": f"{before:.1f} → {after:.1f}",
                        }
                    )
    Console(stderr=True, width=120).print(table)
    print(json.dumps(rows))
    return 0


def _weights(lesson: judged.Lesson, name: str) -> judged.Floats | None:
    return None if name == "none near" else rank.FITTED_RANKER.weights(lesson.shape)[0].astype(np.float64)


if __name__ == "__main__":
    sys.exit(main())
