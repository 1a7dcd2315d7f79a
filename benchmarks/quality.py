"""How good recall is on labelled sets: means by set and category, what each signal is worth, honest confidence.

    python -m benchmarks.quality FOLDER              through the service: store, enrich, recall
    python -m benchmarks.quality FOLDER --engine     on the arrays alone, with ablation and calibration
    python -m benchmarks.quality FOLDER --guard      fitted without a set, measured on it and on its variants

Without FOLDER the generated sets are measured. FOLDER holds files in the format of `benchmarks/spaces.py`.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks import fit_ranker, fitting, measure, service, spaces, variants
from benchmarks.made.__main__ import sets as made_sets
from memory.engine.ranking import features, rank, recall
from memory.engine.ranking.settings import DEFAULT, Settings
from memory.engine.text import question

ROOT = Path(__file__).resolve().parent.parent
K = 20
SEED = 1
COLUMNS = ("recall@5", "recall@10", "all@10", "ndcg@10", "mrr")
# What can be taken away: the signals of `features.py`, and the fitted correction as a whole.
SIGNALS = (*dict.fromkeys(features.FEATURES.values()), "correction")

Row = dict[str, Any]


def engine_rows(
    spaces_of: Iterable[spaces.Space], settings: Settings = DEFAULT, ranker: rank.Ranker = rank.FITTED_RANKER
) -> list[Row]:
    """One row per question, on the arrays alone."""
    rows: list[Row] = []
    for space in spaces_of:
        ids = space.ids
        for at, query in enumerate(space.collection["queries"]):
            vector = None if space.vectors is None else space.vectors[at]
            began = time.process_time()
            asked = question.read_question(query["query"], space.now)
            found = recall.recall(
                space.index, asked, vector, allowed=None, k=K, now=space.now, settings=settings, ranker=ranker
            )
            took = time.process_time() - began
            items = [ids[row] for own, same in zip(found.rows, found.folded, strict=True) for row in (own, *same)]
            rows.append(_row(space.set, query, items, found.confidence, took))
    return rows


def service_rows(found: list[dict[str, Any]]) -> list[Row]:
    return [
        _row(one["name"], query, items, sure, 0.0)
        for one in found
        for query, items, sure in service.ranked(one["name"], one["collections"], K)
    ]


def _row(name: str, query: dict[str, Any], items: list[str], sure: float, took: float) -> Row:
    row: Row = {
        "set": name,
        "category": query["category"],
        "confidence": sure,
        "seconds": took,
        "answerable": bool(query["evidence"]),
    }
    scored = measure.scored(items, query["evidence"]) if query["evidence"] else {}
    return row | scored | {"right": scored.get("hit@5", 0.0)}


def means(rows: Iterable[Row], by: str) -> dict[str, dict[str, float]]:
    """Questions nothing answers, and misleading ones, are counted apart."""
    groups: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        if row["answerable"] and not measure.apart(row["category"]):
            groups[row[by] if by == "set" else f"{row['set']}: {row[by]}"].append(row)
    return {
        name: {"queries": len(group)} | {column: float(np.mean([row[column] for row in group])) for column in COLUMNS}
        for name, group in sorted(groups.items())
    }


def calibration(rows: Iterable[Row]) -> tuple[float, list[tuple[float, float, int]]]:
    counted = [row for row in rows if row["category"] != "adversarial"]
    return measure.calibration(
        np.array([row["confidence"] for row in counted]), np.array([row["right"] for row in counted])
    )


def ablation(
    found: list[spaces.Space], whole: dict[str, dict[str, float]], signals: Iterable[str]
) -> dict[str, dict[str, float]]:
    """nDCG@10 lost, in points, when a signal takes no part; the weights of the others stay as they are."""
    table: dict[str, dict[str, float]] = {}
    unfitted = rank.Ranker("none", (), (), np.zeros_like(rank.FITTED_RANKER.shared), ())
    for name in signals:
        if name == "correction":
            rows = engine_rows(found, ranker=unfitted)
        else:
            rows = engine_rows(found, Settings(without=frozenset({name})))
        table[name] = _lost(whole, means(rows, "set"))
    return table


def _lost(whole: dict[str, dict[str, float]], less: dict[str, dict[str, float]]) -> dict[str, float]:
    return {name: 100 * (whole[name]["ndcg@10"] - less[name]["ndcg@10"]) for name in whole}


def guard(found: list[dict[str, Any]], encoder: str, cache: Path | None) -> list[Row]:
    """Fitted without a set: the set and its variants against plain fusion. No row should lose more than a point."""
    lessons = fit_ranker.lessons_of(found, encoder, cache)
    rows: list[Row] = []
    for name in dict.fromkeys(lesson.set for lesson in lessons):
        # A mixture holds texts of another set: it is measured, never learned from.
        ranker = fitting.fit([one for one in lessons if one.set != name and not one.variant.startswith(variants.MIXED)])
        for variant in dict.fromkeys(lesson.variant for lesson in lessons if lesson.set == name):
            part = [lesson for lesson in lessons if (lesson.set, lesson.variant) == (name, variant)]
            plain, base, fitted = (
                fitting.evaluate(part, None, plain=True),
                fitting.evaluate(part, None),
                fitting.evaluate(part, ranker),
            )
            rows.append(
                {
                    "set": name,
                    "variant": variant,
                    "plain": plain,
                    "base": base,
                    "left out": fitted,
                    "gain": 100 * (fitted["ndcg@10"] - plain["ndcg@10"]),
                }
            )
    return rows


def show(console: Console, title: str, rows: dict[str, dict[str, float]]) -> None:
    table = Table(box=None, header_style="bold", pad_edge=False, title=title, title_justify="left")
    columns = list(next(iter(rows.values()), {}))
    table.add_column("")
    for column in columns:
        table.add_column(column, justify="right")
    for name, row in rows.items():
        cells = [
            f"{row[column]:.0f}" if column == "queries" else f"{_percent(column, row[column]):.1f}"
            for column in columns
        ]
        table.add_row(name, *cells)
    console.print(table)


def _percent(column: str, value: float) -> float:
    return 100 * value if column in COLUMNS else value


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--engine", action="store_true")
    parser.add_argument("--guard", action="store_true")
    parser.add_argument("--small", action="store_true", help="a few generated collections: a smoke run")
    parser.add_argument("--encoder", default="wordllama", choices=("minilm", "wordllama", "hashed", "none"))
    parser.add_argument("--cache", type=Path, help="where vectors are kept between runs")
    parser.add_argument("--collections", type=int, default=1_000, help="so many of each set")
    parser.add_argument("--signals", default=",".join(SIGNALS), help="which to take away one by one")
    parser.add_argument("--report", type=Path, default=ROOT / "reports")
    given = parser.parse_args(arguments)
    console = Console()
    began, load = time.time(), os.getloadavg()
    found = (
        [spaces.read(path) for path in sorted(given.folder.glob("*.json"))]
        if given.folder
        else made_sets(SEED, small=given.small)
    )
    for one in found:
        one["collections"] = one["collections"][: given.collections]
    report: dict[str, Any] = {
        "at": began,
        "seed": SEED,
        "encoder": given.encoder,
        "weights": rank.FITTED_RANKER.version,
        "load": [load],
        "versions": {"python": platform.python_version(), "numpy": np.__version__},
    }
    if given.guard:
        report["guard"] = guard(found, given.encoder, given.cache)
        show(
            console,
            "fitted without the set: nDCG@10",
            {
                f"{row['set']} {row['variant']}": {
                    name: 100 * row[name]["ndcg@10"] for name in ("plain", "base", "left out")
                }
                | {"gain": row["gain"]}
                for row in report["guard"]
            },
        )
    else:
        if given.engine:
            models = (given.cache or Path(tempfile.gettempdir()) / "flux-bench") / "models"
            vectors = spaces.Vectors(spaces.encoder(given.encoder, models), given.cache)
            built = [
                spaces.space(one["name"], collection, vectors) for one in found for collection in one["collections"]
            ]
            rows = engine_rows(built)
        else:
            service.prepare(given.encoder)
            rows = service_rows(found)
        whole = means(rows, "set")
        report |= {"sets": whole, "categories": means(rows, "category")}
        show(console, "recall", whole)
        show(console, "by category", report["categories"])
        error, bins = calibration(rows)
        report["calibration"] = {"expected error": error, "bins": bins}
        table = {
            f"bin {at}": {"said": 100 * said, "true": 100 * true, "queries": count}
            for at, (said, true, count) in enumerate(bins, start=1)
        }
        show(console, f"confidence, percent: expected error {error:.3f}", table)
        if given.engine:
            report["ablation"] = ablation(built, whole, filter(None, given.signals.split(",")))
            show(console, "nDCG@10 points lost without", report["ablation"])
            report["milliseconds"] = 1_000 * float(np.median([row["seconds"] for row in rows]))
            console.print(f"[dim]{report['milliseconds']:.2f} ms CPU per question, median, encoding not counted[/]")
    report["load"].append(os.getloadavg())
    given.report.mkdir(exist_ok=True)
    path = given.report / f"quality-{time.strftime('%Y%m%d-%H%M%S', time.gmtime(began))}.json"
    path.write_text(json.dumps(report, indent=1))
    console.print(f"[dim]load average {load[0]:.1f} before, {os.getloadavg()[0]:.1f} after; {path.name}[/]")
    return 0


if __name__ == "__main__":
    sys.exit(main())
