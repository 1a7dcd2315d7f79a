"""How good an order is, given which items answer: recall, all found, nDCG, and how honest a confidence is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

# Categories whose questions nothing answers, or whose answer is meant to mislead: counted apart.
APART = frozenset({"adversarial", "abstention", "no answer"})


def apart(category: str) -> bool:
    return category in APART or category.endswith("_abs")


def scored(ranked: Sequence[str], evidence: Iterable[str]) -> dict[str, float]:
    """Of one question; an item that comes twice gains nothing."""
    wanted = set(evidence)
    hits = [one in wanted for one in dict.fromkeys(ranked)]
    gain = sum(1 / np.log2(at + 2) for at, hit in enumerate(hits[:10]) if hit)
    best = sum(1 / np.log2(at + 2) for at in range(min(len(wanted), 10)))
    first = hits.index(True) + 1 if True in hits else 0
    return {
        "recall@5": sum(hits[:5]) / len(wanted),
        "recall@10": sum(hits[:10]) / len(wanted),
        "hit@5": float(any(hits[:5])),
        "all@10": float(sum(hits[:10]) == len(wanted)),
        "ndcg@10": float(gain / best),
        "mrr": 1 / first if first else 0.0,
    }


def mean(rows: Sequence[dict[str, float]]) -> dict[str, float]:
    return {name: float(np.mean([row[name] for row in rows])) for name in rows[0]} if rows else {}


def calibration(
    said: NDArray[np.float64], true: NDArray[np.float64], bins: int = 10
) -> tuple[float, list[tuple[float, float, int]]]:
    """Expected error over bins of equal count, and each bin: mean said, share true, how many."""
    order = np.argsort(said, kind="stable")
    table = [
        (float(said[part].mean()), float(true[part].mean()), len(part))
        for part in np.array_split(order, bins)
        if len(part)
    ]
    total = sum(count for *_, count in table)
    return sum(abs(one - other) * count for one, other, count in table) / max(total, 1), table
