"""Scores before and after as a table: by way of judging, group and seed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks import paraphrases

GROUPS = ("same", *paraphrases.KINDS, "related", "unrelated")


def table(found: Iterable[dict[str, Any]]) -> dict[str, dict[str, dict[str, float]]]:
    """Way -> group -> before, after, gain, least and most gain over seeds, questions. Of the control the best gain."""
    whole: dict[str, dict[str, dict[str, list[float]]]] = defaultdict(lambda: defaultdict(lambda: defaultdict(list)))
    for one in found:
        for seed, ways in one.items():
            for way, groups in ways.items():
                for group, scores in groups.items():
                    whole[way][seed][group] += scores
    rows: dict[str, dict[str, dict[str, float]]] = {}
    for way, seeds in whole.items():
        if way != "before":
            rows[way] = {group: row for group in GROUPS if (row := _row(whole["before"], seeds, group)) is not None}
    controls = [way for way in rows if way.startswith("popularity")]
    if controls:
        best = max(controls, key=lambda way: rows[way].get("related", {}).get("gain", 0.0))
        equal = min(controls, key=lambda way: abs(_harm(rows[way]) - _harm(rows.get("told", {}))))
        kept = {f"{best} (best related)": rows[best], f"{equal} (nearest harm)": rows[equal]}
        rows = {way: row for way, row in rows.items() if way not in controls} | kept
    return rows


def _harm(row: dict[str, dict[str, float]]) -> float:
    return row.get("unrelated", {}).get("gain", 0.0)


def _row(before: dict[str, Any], after: dict[str, Any], group: str) -> dict[str, float] | None:
    each = [
        (float(np.mean(before[seed][group])), float(np.mean(after[seed][group])), len(after[seed][group]))
        for seed in after
        if after[seed][group]
    ]
    if not each:
        return None
    gains = [late - early for early, late, _ in each]
    return {
        "before": float(np.mean([early for early, *_ in each])),
        "after": float(np.mean([late for _, late, _ in each])),
        "gain": float(np.mean(gains)),
        "least": min(gains),
        "most": max(gains),
        "questions": sum(n for *_, n in each),
    }


def show(console: Console, name: str, rows: dict[str, dict[str, dict[str, float]]]) -> None:
    drawn = Table(box=None, header_style="bold", pad_edge=False, title=name, title_justify="left")
    for column in ("votes", "group", "before", "after", "gain", "by seed", "questions"):
        drawn.add_column(column, justify="left" if column in ("votes", "group") else "right")
    for way, groups in rows.items():
        said = [row for kind in paraphrases.KINDS if (row := groups.get(kind))]
        for group, row in groups.items():
            drawn.add_row(way, group, *_cells(row), f"{row['questions']:.0f}")
        if said:
            drawn.add_row(way, "mean in other words", *_cells(_mean(said)), "")
    console.print(drawn)


def _mean(rows: list[dict[str, float]]) -> dict[str, float]:
    return {key: float(np.mean([row[key] for row in rows])) for key in rows[0]}


def _cells(row: dict[str, float]) -> list[str]:
    return [
        f"{row['before']:.1f}",
        f"{row['after']:.1f}",
        f"{row['gain']:+.2f}",
        f"{row['least']:+.1f}…{row['most']:+.1f}",
    ]


# Way, group, what is looked at, and the floor on real conversations. Generated questions follow a few forms and are
# few: there only what must never fail is a goal.
FLOORS = (
    ("told", "same", "after", "≥ 92"),
    ("told", "other words", "after", "≥ 80"),
    ("told", "related", "gain", "≥ 4"),
    ("told", "unrelated", "gain", "≥ -1.0"),
    ("shown", "same", "gain", "≥ 14"),
    ("hostile", "unrelated", "gain", "≥ -1.0"),
)


def goals(found: dict[str, Any], *, real: bool) -> list[dict[str, Any]]:
    """Rows for the common report of all benchmarks."""
    rows: list[dict[str, Any]] = []
    for name, ways in found.items():
        for way, group, column, goal in FLOORS:
            groups = ways.get(way, {})
            if said := [groups[kind] for kind in paraphrases.KINDS if kind in groups]:
                groups = groups | {"other words": _mean(said)}
            if row := groups.get(group):
                rows.append(
                    {
                        "what": f"{name}, {way}: {group}, nDCG@10 {column}",
                        "ratio": row[column],
                        "goal": goal if real or (way, group) == ("told", "same") else "",
                        "measured": f"{row['before']:.1f} → {row['after']:.1f}",
                    }
                )
    return rows
