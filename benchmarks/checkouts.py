"""Processor time per request of this checkout's servers ÷ another's: `python -m benchmarks.checkouts OLD`.

Both instances run with the same settings and the same memories. Turns of requests over REST and MCP alternate between
them, nine pairs, and the first checkout of a pair changes each time. What counts is the time of the server process and
its threads as the scheduler has it, not the wall clock. The worker's processes are not counted.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from benchmarks.flood import Caller, Server, fill
from benchmarks.requests import cpu_nanoseconds

PAIRS, TURNS, REQUESTS = 9, 3, 60  # pairs of medians; turns of each checkout within one; requests in a turn
WORDS = ["river", "mill", "stone", "cart", "bread"]


class Checkout:
    """A running instance of a checkout, with callers over REST and MCP."""

    def __init__(self, folder: Path, home: str) -> None:
        self.server = Server(folder, home)
        state = json.loads(Path(home, "ready.json").read_text())
        token = self.server.agent("bench")
        self.pids = {"REST": _descendants(state["pids"]["rest"]), "MCP": _descendants(state["pids"]["people"])}
        self.rest = Caller(self.server.port, token)
        self.mcp = Caller(state["ports"]["mcp"], token)
        self.mcp.headers["Accept"] = "application/json, text/event-stream"
        fill(self.rest, "bench")
        self.numbers = iter(range(10**9))

    def cost(self, name: str) -> float:
        """Microseconds of processor time per request of this kind."""
        door, send = name.split()[0], self.calls()[name]
        before = sum(map(cpu_nanoseconds, self.pids[door]))
        for _ in range(REQUESTS):
            assert send() == 200, name
        return (sum(map(cpu_nanoseconds, self.pids[door])) - before) / REQUESTS / 1000

    def calls(self) -> dict[str, Callable[[], int]]:
        return {
            "REST me": lambda: self.rest.call("GET", "/me"),
            "REST store": lambda: self.rest.call("POST", "/store", {"content": self._text()}),
            "REST recall": lambda: self.rest.call("POST", "/retrieve", {"query": self._query()}),
            "REST list": lambda: self.rest.call("GET", "/grains?limit=20"),
            "MCP recall": lambda: self._tool("flux_retrieve", query=self._query()),
            "MCP store": lambda: self._tool("flux_store", content=self._text()),
        }

    def _text(self) -> str:
        number = next(self.numbers)
        return f"Anna{number} took the {WORDS[number % 5]} to the {WORDS[number // 5 % 5]} at {number}."

    def _query(self) -> str:
        return f"What was seen near river{'abcdefghij'[next(self.numbers) % 10]}?"

    def _tool(self, name: str, **arguments: Any) -> int:
        params = {"name": name, "arguments": arguments}
        return self.mcp.call(
            "POST", "/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}, prefix=""
        )


def _descendants(pid: int) -> list[int]:
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [pid, *(found for child in children for found in _descendants(int(child)))]


def measure(old: Path, new: Path) -> Iterator[dict[str, Any]]:
    with ExitStack() as stack:
        both = []
        for folder in (old, new):
            home = stack.enter_context(tempfile.TemporaryDirectory(prefix="flux-checkout-"))
            both.append(Checkout(folder, home))
            stack.callback(both[-1].server.stop)
        names = list(both[0].calls())
        for name in names:  # warm
            for one in both:
                one.cost(name)
        pairs: dict[str, list[tuple[float, float]]] = {name: [] for name in names}
        for number in range(PAIRS):
            for name in names:
                spent: tuple[list[float], list[float]] = ([], [])
                for _ in range(TURNS):
                    for which in (0, 1) if number % 2 else (1, 0):
                        spent[which].append(both[which].cost(name))
                pairs[name].append((statistics.median(spent[0]), statistics.median(spent[1])))
        for name, found in pairs.items():
            ratios = [after / before for before, after in found]
            yield {
                "what": name,
                "ratio": statistics.median(ratios),
                "low": min(ratios),
                "high": max(ratios),
                "old": statistics.median(before for before, _ in found),
                "new": statistics.median(after for _, after in found),
            }


def main() -> None:
    old = Path(sys.argv[1]).resolve()
    for row in measure(old, Path(__file__).resolve().parent.parent):
        print(
            f"{row['what']:12} {row['old']:7.0f} → {row['new']:7.0f} µs CPU   ratio {row['ratio']:.3f} "
            f"({row['low']:.2f} to {row['high']:.2f})",
            flush=True,
        )


if __name__ == "__main__":
    main()
