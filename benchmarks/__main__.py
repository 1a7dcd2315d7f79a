"""Run every benchmark in a process and a data home of its own, print the ratios, keep a JSON report."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).resolve().parent.parent
SECONDS = 2_400  # a million grains are made and read in most of it


@dataclass(frozen=True)
class Bench:
    module: str
    on: str = "sqlite"


BENCHES = (
    Bench("booth"),
    Bench("booth", "postgres"),
    Bench("requests"),
    Bench("audit"),
    Bench("store"),
    Bench("moving"),
    Bench("arena"),
    Bench("propagation"),
    Bench("encoders"),
    Bench("speed"),
    Bench("learning"),
    Bench("feedback"),
    Bench("health"),
    Bench("clustering"),
    Bench("live"),
    Bench("live", "postgres"),
    Bench("keyvalue"),
    Bench("files"),
    Bench("passages"),
    Bench("mcp"),
    Bench("flood"),
    Bench("attacks"),
    Bench("stdio"),
)


def run(bench: Bench) -> list[dict[str, Any]]:
    """The rows a benchmark reports: what, ratio, goal and what was divided by what."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("FLUX_", "DJANGO_"))}
    for name in ("DATABASE_URL", "REDIS_URL"):
        environment.pop(name, None)
    if bench.on == "postgres":
        from tests.servers import start_postgres

        environment["DATABASE_URL"] = start_postgres()
    with tempfile.TemporaryDirectory(prefix="flux-bench-") as home:
        done = subprocess.run(
            [sys.executable, "-m", f"benchmarks.{bench.module}"],
            env={**environment, "FLUX_HOME": home, "FLUX_NAME": "bench"},
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
            check=True,
            timeout=SECONDS,
        )
    rows: list[dict[str, Any]] = json.loads(done.stdout.strip().splitlines()[-1])
    return [{"bench": bench.module, "on": bench.on, **row} for row in rows]


def missed(row: dict[str, Any]) -> bool:
    """Whether a row with a goal, `≥ 2` or `≤ 3`, falls short of it."""
    relation, _, bound = row.get("goal", "").partition(" ")
    if relation == "≥":
        return float(row["ratio"]) < float(bound)
    return relation == "≤" and float(row["ratio"]) > float(bound)


def main(wanted: list[str]) -> int:
    console = Console()
    began, load = time.time(), os.getloadavg()
    rows = [row for bench in BENCHES if not wanted or bench.module in wanted for row in run(bench)]
    table = Table(box=None, header_style="bold", pad_edge=False)
    for column in ("benchmark", "on", "ratio", "goal", "measured"):
        table.add_column(column, overflow="fold", justify="right" if column == "ratio" else "left")
    for row in rows:
        style = "red" if missed(row) else ""
        table.add_row(row["what"], row["on"], f"{row['ratio']:.2f}", row.get("goal", ""), row["measured"], style=style)
    console.print(table)
    console.print(f"[dim]load average {load[0]:.1f} before, {os.getloadavg()[0]:.1f} after, {os.cpu_count()} cores[/]")
    report = ROOT / "reports" / f"benchmarks-{time.strftime('%Y%m%d-%H%M%S', time.gmtime(began))}.json"
    report.parent.mkdir(exist_ok=True)
    report.write_text(
        json.dumps(
            {"at": began, "seconds": time.time() - began, "load": [load, os.getloadavg()], "rows": rows}, indent=1
        )
    )
    console.print(f"[dim]{report.relative_to(ROOT)}[/]")
    short = [row["what"] for row in rows if missed(row)]
    if short:
        console.print(f"[red]Goal missed: {'; '.join(short)}[/]")
    return bool(short)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
