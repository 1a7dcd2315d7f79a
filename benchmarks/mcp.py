"""What MCP over standard input and output costs: to the first answer, and for each call beside the verb it calls.

`python -m benchmarks.mcp [CALLS]`. Starts are compared with a process that imports django, numpy and mcp.server, taken
in turns in the same run; calls with the same verb in a process of the same kind. Times are processor time.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

from benchmarks.home import prepare
from benchmarks.live import spent

STARTS = 5
CALLS, WARM = 400, 60
GRAINS = 500
ALLOWED_MILLISECONDS = 2.5
_BASE = "import django, numpy, mcp.server, sys; sys.stdout.write('x'); sys.stdout.flush(); sys.stdin.read()"


class Process:
    """A process that can be looked at between its lines."""

    def __init__(self, words: list[str]) -> None:
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=dict(os.environ))
        self.number = 0

    def call(self, method: str, **params: Any) -> Any:
        from mcp_bridge.proxy import envelope

        assert self.process.stdin is not None and self.process.stdout is not None
        self.number += 1
        message = {"jsonrpc": "2.0", "id": self.number, "method": method, "params": {**params, "_meta": envelope("b")}}
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())["result"]

    def tool(self, name: str, **arguments: Any) -> Any:
        found = self.call("tools/call", name=name, arguments=arguments)
        assert not found.get("isError"), found
        return found["structuredContent"]

    def cost(self) -> tuple[float, float]:
        """Seconds of processor time and the most memory so far, in megabytes."""
        with open(f"/proc/{self.process.pid}/status") as file:  # noqa: PTH123
            peak = next(int(line.split()[1]) for line in file if line.startswith("VmHWM"))
        return spent(self.process.pid), peak / 1024

    def end(self) -> None:
        self.process.communicate(timeout=60)


def _server() -> Process:
    return Process([sys.executable, "manage.py", "flux_mcp", "--ceiling", "user_stated"])


def starts() -> dict[str, list[tuple[float, float]]]:
    found: dict[str, list[tuple[float, float]]] = {"base": [], "answer": [], "tool": [], "recall": []}
    for _ in range(STARTS):
        base = Process([sys.executable, "-c", _BASE])
        assert base.process.stdout is not None
        base.process.stdout.read(1)
        found["base"].append(base.cost())
        base.end()
        server = _server()
        server.call("server/discover")
        found["answer"].append(server.cost())
        server.tool("flux_onboard")
        found["tool"].append(server.cost())
        server.tool("flux_retrieve", query="What did the first one say?")
        found["recall"].append(server.cost())
        server.end()
    return found


def timed(calls: int, work: Callable[[int], Any]) -> float:
    """Milliseconds of this process for each call."""
    for number in range(WARM):
        work(-number)
    began = time.process_time()
    for number in range(calls):
        work(number)
    return (time.process_time() - began) / calls * 1000


def served(calls: int, work: Callable[[Process, int], Any]) -> float:
    """Milliseconds of the server for each call."""
    server = _server()
    for number in range(WARM):
        work(server, -number)
    time.sleep(0.2)
    began = spent(server.process.pid)
    for number in range(calls):
        work(server, number)
    cost = (spent(server.process.pid) - began) / calls * 1000
    server.end()
    return cost


def main(calls: int = CALLS) -> list[dict[str, Any]]:
    os.environ["FLUX_ENCODER"] = "none"
    prepare(door="stdio")
    os.environ.pop("FLUX_DOOR")
    from accounts import local_agent
    from memory.grains import store
    from memory.recall import recall

    me = local_agent.find_local_agent("main", "assistant", "user_stated")
    said = "Number {} said that the river {} rises in spring near mill {}."
    for begin in range(0, GRAINS, 100):
        store.store_batch(me, items=[{"content": said.format(n, n % 17, n % 29)} for n in range(begin, begin + 100)])
    began = starts()
    rows = []

    def cost(kind: str, which: int) -> float:
        return statistics.median(one[which] for one in began[kind])

    for kind, what in (("answer", "the first answer"), ("tool", "the first answer of a tool"), ("recall", "a recall")):
        goal = kind == "answer"
        rows.append(
            {
                "what": f"flux_mcp: processor time to {what} / importing django, numpy and mcp.server",
                "ratio": cost(kind, 0) / cost("base", 0),
                "goal": "≤ 1.7" if goal else "",
                "measured": f"{cost(kind, 0):.2f} s / {cost('base', 0):.2f} s",
            }
        )
        rows.append(
            {
                "what": f"flux_mcp: memory at {what} / the same",
                "ratio": cost(kind, 1) / cost("base", 1),
                "goal": "≤ 1.35" if goal else "",
                "measured": f"{cost(kind, 1):.0f} MB / {cost('base', 1):.0f} MB",
            }
        )
    question = "What did number {} say about river {}?"
    pairs = {
        "flux_retrieve": (
            timed(calls, lambda n: recall.recall(me, query=question.format(n % GRAINS, n % 17))),
            served(calls, lambda s, n: s.tool("flux_retrieve", query=question.format(n % GRAINS, n % 17))),
        ),
        "flux_store": (
            timed(calls, lambda n: store.store(me, content=f"Alone {n} of {os.getpid()} went to the mill.")),
            served(calls, lambda s, n: s.tool("flux_store", content=f"{s.process.pid} served {n} to the mill.")),
        ),
    }
    for tool, (verb, whole) in pairs.items():
        rows.append(
            {
                "what": f"{tool} over stdio, less {ALLOWED_MILLISECONDS} ms / its verb",
                "goal": "≤ 1.5",
                "ratio": max(whole - ALLOWED_MILLISECONDS, 0.0) / verb,
                "measured": f"{whole:.2f} ms a call / {verb:.2f} ms",
            }
        )
    return rows


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main(*map(int, sys.argv[1:]))) + "\n")
