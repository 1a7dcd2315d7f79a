"""What votes are worth: half of a collection's questions are asked once and judged, then everything is asked again.

    python -m benchmarks.learning FOLDER                  LoCoMo and whatever else FOLDER holds
    python -m benchmarks.learning FOLDER --service        the same through the public service
    python -m benchmarks.learning FOLDER --what frontier  gain against harm, for a sweep of how strongly votes count
    python -m benchmarks.learning --small                 generated collections: a smoke run

nDCG@10 before and after of: the *same* questions; the same in other words (*keywords*, *synonyms*, *without the rarest*
word); questions that were not judged and share evidence with one that was (*related*); the others (*unrelated*: harm).
Two ways to judge: *told*, where what was missed is named too, and *shown*, where only what came back is judged. The
control is *popularity*: everything that was ever useful gains the same, whatever is asked.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from benchmarks import gains, popularity, service, spaces
from benchmarks.lessons import Memory, Scores, Split, asked_of, attack, measured, teach
from benchmarks.made.__main__ import sets as made_sets
from benchmarks.popularity import Popularity
from benchmarks.pupils import Engine, Service
from memory.engine.learning import vote_boost
from memory.engine.ranking.settings import DEFAULT

ROOT = Path(__file__).resolve().parent.parent
SEEDS = (1, 2, 3)
MODES = ("told", "shown")
SHIFTS = (-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0)  # of the logarithm of every share: points of the frontier


def collection(
    space: spaces.Space,
    vectors: spaces.Vectors,
    seeds: Sequence[int],
    what: Sequence[str],
    memory: Memory | None = None,
) -> dict[str, Any]:
    """Scores by seed and way, lists of one number per question; "before" among the ways."""
    engine = Engine(space, vectors)
    asked = asked_of(space)
    if memory is None:
        engine.encode([text for one in asked for text in (one.text, *one.others.values())])
        memory = engine
    found: dict[str, Any] = {}
    for seed in seeds:
        split = Split.of(asked, seed)
        ways: dict[str, Scores] = {"before": measured(memory, split.groups)}
        if "popularity" in what:
            control = Popularity(engine, split)
            ways |= {f"popularity {gain}": control.measured(gain) for gain in popularity.GAINS}
        for mode in MODES:
            if mode in what:
                teach(memory, split.judged, told=mode == "told")
                ways[mode] = measured(memory, split.groups)
                memory.forget()
        held = [one for one in split.groups if one[0] in ("related", "unrelated")]
        if "hostile" in what:
            attack(memory, split.judged, space.ids, seed)
            ways["hostile"] = measured(memory, held)
            memory.forget()
            ways["hostile, undone"] = measured(memory, held)
        if "frontier" in what and memory is engine:
            teach(engine, split.judged, told=True)
            for shift in SHIFTS:
                learning = replace(vote_boost.DEFAULT, alike=vote_boost.DEFAULT.alike + shift)
                engine.settings = replace(DEFAULT, learning=learning)
                ways[f"told {shift:+.1f}"] = measured(engine, held)
            engine.settings = DEFAULT
            engine.forget()
        found[str(seed)] = ways
    return found


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--small", action="store_true", help="a few generated collections")
    parser.add_argument("--encoder", default="wordllama", choices=("minilm", "wordllama", "hashed", "none"))
    parser.add_argument("--cache", type=Path, help="where vectors are kept between runs")
    parser.add_argument("--collections", type=int, help="so many of each set: all in FOLDER, two of generated ones")
    parser.add_argument("--seeds", type=int, default=len(SEEDS))
    parser.add_argument("--what", default="told,shown,popularity,hostile", help="and frontier")
    parser.add_argument("--service", action="store_true", help="through the verbs and the worker's job, not the arrays")
    parser.add_argument("--report", type=Path, default=ROOT / "reports")
    given = parser.parse_args(arguments)
    console = Console(stderr=True, width=120)
    began, load = time.time(), os.getloadavg()
    found = (
        [spaces.read(path) for path in sorted(given.folder.glob("*.json"))]
        if given.folder
        else made_sets(SEEDS[0], small=given.small)
    )
    if given.service:
        service.prepare(given.encoder)
    most = given.collections or (1_000 if given.folder else 2)
    models = (given.cache or Path(tempfile.gettempdir()) / "flux-bench") / "models"
    vectors = spaces.Vectors(spaces.encoder(given.encoder, models), given.cache)
    report: dict[str, Any] = {
        "at": began,
        "seeds": SEEDS[: given.seeds],
        "encoder": given.encoder,
        "load": [load],
        "settings": vars(vote_boost.DEFAULT),
        "sets": {},
        "versions": {"python": platform.python_version(), "numpy": np.__version__},
    }
    for one in found:
        ways = [
            collection(
                spaces.space(one["name"], part, vectors),
                vectors,
                SEEDS[: given.seeds],
                given.what.split(","),
                Service(service.stored(one["name"], number, part)) if given.service else None,
            )
            for number, part in enumerate(one["collections"][:most])
        ]
        report["sets"][one["name"]] = rows = gains.table(ways)
        gains.show(console, one["name"], rows)
    report["load"].append(os.getloadavg())
    given.report.mkdir(parents=True, exist_ok=True)
    path = given.report / f"learning-{time.strftime('%Y%m%d-%H%M%S', time.gmtime(began))}.json"
    path.write_text(json.dumps(report, indent=1))
    console.print(f"[dim]load average {load[0]:.1f} before, {os.getloadavg()[0]:.1f} after; {path.name}[/]")
    print(json.dumps(gains.goals(report["sets"], real=given.folder is not None)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
