"""What declared calls cost against another checkout: `python -m benchmarks.calls OLD` from the new one.

Set, get and list over REST, as MCP tools and as verbs, in one process of each checkout that take turns; and what it
costs to start: routes of REST, tools of MCP, the client. Processor time, medians of nine pairs.
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

ROUNDS, TURNS, CALLS = 9, 6, 60  # pairs; how often the two take turns within one; calls in a turn
_DJANGO = (
    "import os; os.environ.setdefault('DJANGO_SETTINGS_MODULE', 'tests.settings'); import django; django.setup(); "
)
_GROUPS = (
    "import mcp.server; from mcp_bridge import registry; "
    "new = hasattr(registry, 'load_group'); "  # else 0.6.0 or earlier
    "load = registry.load_group if new else registry.group; "
    "switched = registry.SWITCHED_GROUPS if new else registry.SWITCHED; "
)
STARTS = {
    "routes of REST": _DJANGO + "import memory.api.urls",
    "tools of MCP, usual": _DJANGO + _GROUPS + "load('grains')",
    "tools of MCP, all groups": _DJANGO
    + _GROUPS
    + "[[one.input_schema() for one in load(name).tools] for name in ('grains', *switched)]",
    "client": "import flux.client",
    "django": _DJANGO,
}


# In a process of one checkout ---------------------------------------------------------------------------
def work() -> None:
    """Answer each name on standard input with microseconds of processor time per call."""
    calls = _calls()
    for one in calls.values():
        for _ in range(30):
            one()
    sys.stdout.write("\n")
    sys.stdout.flush()
    for line in sys.stdin:
        call = calls[line.strip()]
        began = time.process_time()
        for _ in range(CALLS):
            call()
        sys.stdout.write(f"{(time.process_time() - began) / CALLS * 1e6}\n")
        sys.stdout.flush()


def _calls() -> dict[str, Callable[[], Any]]:
    from benchmarks.home import prepare

    prepare(door="rest")
    from django.test import Client

    from accounts import agents, tokens
    from accounts.principals import shell
    from fluxsite.home import current_home
    from fluxsite.setup import FIRST_SPACE
    from mcp_bridge import registry, server

    with current_home().config.open("a") as config:
        config.write("MAX_KV_WRITES_PER_MINUTE: 10000000\n")
    held = ["memory.read", "memory.write", "bb.read", "bb.write"]
    agents.create_agent(shell(), space=FIRST_SPACE, name="keeper", capabilities=held)
    agents.set_tools(shell(), space=FIRST_SPACE, name="keeper", tools=["memory", "board"])
    token = str(tokens.mint(shell(), space=FIRST_SPACE, agent="keeper")["token"])
    rest, headers = Client(SERVER_NAME="127.0.0.1"), {"Authorization": f"Bearer {token}"}
    context: Any = SimpleNamespace(session=SimpleNamespace(client_params=None))
    who = tokens.authenticate(token)
    put, get, listed = _verbs()
    run_tool = getattr(server, "run_tool", None) or server.call  # its name up to 0.6.0
    for number in range(20):
        put(who, f"notes/{number}", number)

    def sent(method: str, path: str, body: Any = None) -> None:
        more = {"data": json.dumps(body), "content_type": "application/json"} if body is not None else {}
        answer = getattr(rest, method)(path, headers=headers, **more)
        assert answer.status_code == 200, answer.content

    def tool(name: str, **given: Any) -> None:
        answer = run_tool(lambda ctx: who, context, name, given)
        assert not answer.is_error, answer

    assert registry.find_for(who, "memory_set")
    return {
        "REST set": lambda: sent("put", "/agents/keeper/kv/notes/1", {"value": {"a": 1}, "ttl_secs": 3600}),
        "REST get": lambda: sent("get", "/agents/keeper/kv/notes/1"),
        "REST list": lambda: sent("get", "/agents/keeper/kv?pattern=notes/*&limit=10"),
        "MCP set": lambda: tool("memory_set", key="notes/1", value={"a": 1}, ttl_secs=3600),
        "MCP get": lambda: tool("memory_get", key="notes/1"),
        "MCP list": lambda: tool("memory_list", pattern="notes/*", limit=10),
        "verb set": lambda: put(who, "notes/1", {"a": 1}),
        "verb get": lambda: get(who, "notes/1"),
        "verb list": lambda: listed(who),
    }


def _verbs() -> tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any]]:
    """Of this checkout, or of one from before calls were declared."""
    from memory.keyvalue import listing

    place = "agents/keeper"
    try:
        from memory.keyvalue import reads, verbs
    except ImportError:
        from memory.keyvalue import keeping, reading  # type: ignore[attr-defined]

        return (
            lambda who, key, value: keeping.put(who, where=place, key=key, value=value, ttl_secs=3600),
            lambda who, key: reading.get(who, where=place, key=key),
            lambda who: listing.page(who, where=place, pattern="notes/*", limit=10),
        )
    return (
        lambda who, key, value: verbs.set_key(who, place=place, key=key, value=value, ttl_secs=3600),
        lambda who, key: reads.get_key(who, place=place, key=key),
        lambda who: listing.list_keys(who, place=place, pattern="notes/*", limit=10),
    )


# The comparison ------------------------------------------------------------------------------------------
class Worker:
    def __init__(self, checkout: Path) -> None:
        words = [str(checkout / ".venv/bin/python"), "-P", str(Path(__file__).resolve()), "--work"]
        environment = {**os.environ, "PYTHONPATH": str(checkout)}
        environment.pop("FLUX_HOME", None)
        self.process = subprocess.Popen(
            words, cwd=checkout, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        self.process.stdout.readline()

    def cost(self, name: str) -> float:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(f"{name}\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())


def start_cost(checkout: Path, code: str) -> float:
    """Milliseconds of processor time."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([str(checkout / ".venv/bin/python"), "-c", code], cwd=checkout, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1000


def main() -> None:
    old, new = Path(sys.argv[1]).resolve(), Path.cwd()
    workers = [Worker(old), Worker(new)]
    names = [f"{door} {call}" for door in ("REST", "MCP", "verb") for call in ("set", "get", "list")]
    pairs: dict[str, list[list[float]]] = {name: [] for name in (*names, *STARTS)}
    for number in range(ROUNDS):
        order = (0, 1) if number % 2 else (1, 0)
        for name in names:
            spent = [0.0, 0.0]
            for which in order * TURNS:
                spent[which] += workers[which].cost(name) / TURNS
            pairs[name].append(spent)
        for name, code in STARTS.items():
            found = {which: start_cost((old, new)[which], code) for which in order}
            pairs[name].append([found[0], found[1]])
    for name, found in pairs.items():
        ratio = statistics.median(after / before for before, after in found)
        before, after = (statistics.median(one[which] for one in found) for which in (0, 1))
        unit = "ms" if name in STARTS else "µs"
        print(f"{name:26} {before:8.0f} → {after:8.0f} {unit} CPU   ratio {ratio:.3f}")


if __name__ == "__main__":
    if "--work" in sys.argv:
        work()
    else:
        main()
