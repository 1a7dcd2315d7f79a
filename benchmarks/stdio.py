"""Processor time of `flux_mcp` to its first answered recall: by itself, and handing over to a running server.

`python -m benchmarks.stdio [--against FOLDER] [--starts N]`. FOLDER is another checkout, measured in turns with this
one in the same run, each with a data home of its own. Counted is user and system time of the process and of what it
started, from its start to the answers of initialize, tools/list and the first `flux_retrieve`.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent.parent
STARTS = 7
_TICKS = os.sysconf("SC_CLK_TCK")
OPENING = [
    {
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "benchmark", "version": "1"},
        },
    },
    {"method": "notifications/initialized"},
    {"id": 2, "method": "tools/list", "params": {}},
]
RECALL = {"id": 3, "method": "tools/call", "params": {"name": "flux_retrieve", "arguments": {"query": "night train"}}}


class Checkout:
    """A folder with this program, and an instance of its own in a folder that goes with the benchmark."""

    def __init__(self, folder: Path, home: str) -> None:
        self.folder = folder
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("FLUX_", "DJANGO_"))}
        kept.pop("PYTHONDONTWRITEBYTECODE", None)  # compiling all of it would be most of every start
        self.environment = {
            **kept,
            "FLUX_HOME": home,
            "FLUX_NAME": "bench",
            "PYTHONPYCACHEPREFIX": f"{home}/bytecode",
        }
        subprocess.run(self._words("flux_init", "--no-input"), **self._where(), stdout=subprocess.DEVNULL, check=True)

    def _words(self, *words: str) -> list[str]:
        return [sys.executable, "manage.py", *words]

    def _where(self) -> dict[str, Any]:
        return {"cwd": self.folder, "env": self.environment}

    def first_recall(self) -> float:
        """Seconds of processor time to the first answered recall of a new process."""
        process = subprocess.Popen(
            self._words("flux_mcp"),
            **self._where(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        assert process.stdin is not None and process.stdout is not None
        for message in (*OPENING, RECALL):
            process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
            process.stdin.flush()
            if "id" in message:
                assert "result" in json.loads(process.stdout.readline()), message
        spent = _spent(process.pid)
        process.communicate(timeout=60)
        return spent

    def start_server(self) -> subprocess.Popen[bytes]:
        ready = Path(self.environment["FLUX_HOME"]) / "ready.json"
        ports = ["--rest-port", "0", "--people-port", "0", "--mcp-port", "0"]
        process = subprocess.Popen(
            self._words("flux_start", "--ready-file", str(ready), *ports),
            **self._where(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )
        while not ready.exists():
            assert process.poll() is None, "the server did not start"
            time.sleep(0.1)
        return process


def _spent(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / _TICKS


def measure(here: Checkout, other: Checkout | None, starts: int) -> dict[str, list[float]]:
    """Seconds by way: this checkout by itself, the other one, and this one with its server running."""
    found: dict[str, list[float]] = {"alone": [], "other": [], "handed over": []}
    for one in (here, other):
        if one is not None:
            one.first_recall()  # compiles what it loads
    for _ in range(starts):
        found["alone"].append(here.first_recall())
        if other is not None:
            found["other"].append(other.first_recall())
    server = here.start_server()
    try:
        here.first_recall()  # the server loads the SDK for its first session
        found["handed over"] = [here.first_recall() for _ in range(starts)]
    finally:
        server.send_signal(signal.SIGINT)
        server.wait(60)
    return found


def main(arguments: list[str]) -> list[dict[str, Any]]:
    parser = argparse.ArgumentParser("benchmarks.stdio")
    parser.add_argument("--against", type=Path, help="another checkout of this program")
    parser.add_argument("--starts", type=int, default=STARTS)
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="flux-bench-") as own, tempfile.TemporaryDirectory() as others:
        other = Checkout(given.against.resolve(), others) if given.against else None
        found = measure(Checkout(HERE, own), other, given.starts)
    middle = {way: statistics.median(seconds) for way, seconds in found.items() if seconds}

    def row(what: str, way: str, over: str, goal: str) -> dict[str, Any]:
        return {
            "what": f"flux_mcp, processor time to the first recall: {what}",
            "ratio": middle[way] / middle[over],
            "goal": goal,
            "measured": f"{middle[way]:.2f} s / {middle[over]:.2f} s",
        }

    if other is None:
        return [row("handed over / by itself", "handed over", "alone", "≤ 0.3")]
    return [
        row("by itself / the other checkout", "alone", "other", "≤ 0.9"),
        row("handed over / the other checkout", "handed over", "other", "≤ 0.3"),
    ]


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main(sys.argv[1:])) + "\n")
