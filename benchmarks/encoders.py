"""What each encoder costs and how well it tells texts apart: `python -m benchmarks.encoders` prints the table.

Every figure comes from a process of its own with one thread: CPU milliseconds per text (median), memory at its peak.
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from memory.embedding import encoder_kinds
from tests.embedding.sentences import SENTENCES, TRIPLES

ROOT = Path(__file__).resolve().parent.parent
ROUNDS = 25
TEXTS = {
    "query": "Where did Anna move last year?",
    "turn": "I went hiking with my sister last weekend and we saw three deer near the lake; it was wonderful outside.",
    "passage": " ".join(SENTENCES[:12]),
}


def milliseconds(encoder: Any, text: str) -> float:
    spent = []
    for number in range(ROUNDS):
        began = time.process_time()
        encoder.encode([f"{text} {number}"])
        spent.append((time.process_time() - began) * 1000)
    return statistics.median(spent)


def agreement(encoder: Any) -> dict[str, float]:
    """The eight-bit graph against the 32-bit weights in numpy, on every sentence."""
    import numpy as np

    from memory.embedding import tensors
    from tests.embedding import reference

    package = encoder_kinds.package_folder(encoder_kinds.MINILM.weights)
    assert package is not None
    weights = reference.aligned(tensors.read_tensors(package / "model" / "model.safetensors"))
    exact = np.stack([reference.vector(encoder._pieces.encode(text).ids, weights) for text in SENTENCES])
    ours = encoder.encode(SENTENCES)
    cosines = (exact * ours).sum(axis=1)

    def nearest(rows: Any) -> Any:
        likeness = rows @ rows.T
        np.fill_diagonal(likeness, -1)
        return np.argsort(-likeness, axis=1, kind="stable")[:, :10]

    shared = [len(set(one) & set(other)) / 10 for one, other in zip(nearest(exact), nearest(ours), strict=True)]
    return {"mean": float(cosines.mean()), "least": float(cosines.min()), "top10": statistics.mean(shared)}


def one(wanted: str, models: str, what: str) -> dict[str, Any]:
    """Measured in this process, which does nothing else."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = time.process_time()
    from memory.embedding.active_encoder import make_encoder

    kind = next(kind for kind in encoder_kinds.KINDS if kind.wanted == wanted)
    encoder = make_encoder(kind, Path(models))
    found: dict[str, Any] = {"name": kind.name, "load": time.process_time() - began}
    if what == "cost":
        found |= {name: milliseconds(encoder, text) for name, text in TEXTS.items()}
        rows = [encoder.encode(triple) for triple in TRIPLES]
        found["similar"] = statistics.mean(float(first @ same) for first, same, _ in rows)
        found["unrelated"] = statistics.mean(float(first @ other) for first, _, other in rows)
    elif what == "agreement":
        found |= agreement(encoder)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {**found, "base_mb": before / 1024, "peak_mb": peak / 1024}


def measured(arguments: Sequence[str]) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.encoders", *arguments],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def main() -> None:
    with tempfile.TemporaryDirectory() as models:
        built = measured([encoder_kinds.MINILM.wanted, models, "build"])
        costs = [measured([kind.wanted, models, "cost"]) for kind in encoder_kinds.KINDS]
        alike = measured([encoder_kinds.MINILM.wanted, models, "agreement"])
    table = Table(box=None, header_style="bold", pad_edge=False)
    columns = ("load", *TEXTS, "similar", "unrelated", "base_mb", "peak_mb")
    for column in (
        "encoder",
        "load, CPU s",
        "query, ms",
        "turn",
        "passage",
        "similar",
        "unrelated",
        "MB before",
        "peak",
    ):
        table.add_column(column, justify="left" if column == "encoder" else "right")
    for row in costs:
        table.add_row(row["name"], *(f"{row[name]:.{0 if name.endswith('mb') else 2}f}" for name in columns))
    console = Console(stderr=True)
    console.print(table)
    console.print(
        f"[dim]graph built in {built['load']:.2f} CPU s, peak {built['peak_mb']:.0f} MB; int8 against float32 on "
        f"{len(SENTENCES)} sentences: cosine {alike['mean']:.4f} (least {alike['least']:.4f}), "
        f"{alike['top10']:.0%} of the ten nearest the same; load average {os.getloadavg()[0]:.1f}[/]"
    )
    minilm, static, _ = costs
    print(
        json.dumps(
            [
                {
                    "what": "minilm ÷ wordllama, CPU of a query",
                    "ratio": minilm["query"] / static["query"],
                    "measured": f"{minilm['query']:.2f} ÷ {static['query']:.2f} ms",
                    "encoders": costs,
                    "build": built,
                },
                {
                    "what": "cosine of int8 to float32",
                    "ratio": alike["mean"],
                    "goal": "≥ 0.985",
                    "measured": f"least {alike['least']:.3f}, {alike['top10']:.0%} of the ten nearest",
                    "agreement": alike,
                },
            ]
        )
    )


if __name__ == "__main__":
    if len(sys.argv) == 4:
        print(json.dumps(one(*sys.argv[1:])))
    else:
        main()
