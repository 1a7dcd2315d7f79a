"""Exact memory over REST in server CPU: a compare-and-set against a plain set, a get among a million keys and few."""

from __future__ import annotations

import json
import statistics
from itertools import count, cycle
from typing import Any

from benchmarks.home import prepare
from benchmarks.requests import REQUESTS, Server

ROUNDS = 9
FEW, MANY = 10_000, 1_000_000
_CAPABILITIES = ["memory.read", "memory.write", "bb.read", "bb.write"]


def agent() -> str:
    """A token that may, and limits that are not what is measured."""
    from accounts import agents, tokens
    from accounts.principals import shell
    from fluxsite.home import current_home
    from fluxsite.setup import FIRST_SPACE

    with current_home().config.open("a") as config:
        config.write("MAX_KV_WRITES_PER_MINUTE: 10000000\nMAX_KV_KEYS: 10000000\n")
    agents.create_agent(shell(), space=FIRST_SPACE, name="keeper", capabilities=_CAPABILITIES)
    return str(tokens.mint(shell(), space=FIRST_SPACE, agent="keeper")["token"])


def fill(board: str, keys: int) -> None:
    """Rows as the verbs write them, without their history."""
    from django.db import transaction

    from accounts.models import Space
    from accounts.principals import shell
    from fluxcore import clock, raw_sql
    from memory.keyvalue import boards
    from memory.keyvalue.models import Item, Namespace
    from memory.keyvalue.validation import check_value

    space = Space.objects.first()
    boards.make(shell(space), board=board)
    home, at, value = Namespace.objects.get(name=board), clock.now(), check_value({"theme": "dark", "retries": 3})
    names = (
        "namespace",
        "key",
        "value",
        "version",
        "sha",
        "size",
        "expires",
        "told",
        "written_at",
        "writer",
        "displaced",
    )
    for first in range(0, keys, 50_000):
        with transaction.atomic():
            raw_sql.insert(
                Item,
                names,
                [
                    (
                        home.pk,
                        f"notes/{number:07d}",
                        value.text,
                        1,
                        value.sha,
                        value.size,
                        None,
                        False,
                        at,
                        "agent:x",
                        -1,
                    )
                    for number in range(first, min(first + 50_000, keys))
                ],
            )
    Namespace.objects.filter(pk=home.pk).update(keys=keys, bytes=keys * value.size)


def main() -> None:
    from django.db import connection

    prepare(door="rest")
    token = agent()
    for board, keys in (("few", FEW), ("many", MANY)):
        fill(board, keys)
    connection.close()
    server = Server(token)
    try:
        spent = _measured(server)
    finally:
        server.stop()
    print(
        json.dumps(
            [
                _row(spent, "cas", "set", "compare-and-set ÷ plain set, over REST", "≤ 1.3"),
                _row(spent, "get of many", "get of few", f"get among {MANY:,} keys ÷ among {FEW:,}", "≤ 1.5"),
            ]
        )
    )


def _measured(server: Server) -> dict[str, list[float]]:
    versions, values = count(1), count()
    server.call("PUT", "/agents/keeper/kv/cas", {"value": 0})
    places = {name: cycle(range(0, keys, max(1, keys // 4999))) for name, keys in (("few", FEW), ("many", MANY))}
    calls: dict[str, Any] = {
        "set": lambda: ("PUT", "/agents/keeper/kv/set", {"value": next(values)}),
        "cas": lambda: ("PUT", "/agents/keeper/kv/cas", {"value": next(values), "expected_version": next(versions)}),
        **{
            f"get of {name}": lambda name=name: ("GET", f"/boards/{name}/kv/notes/{next(places[name]):07d}", None)
            for name in places
        },
    }
    spent: dict[str, list[float]] = {name: [] for name in calls}
    for number in range(ROUNDS + 1):
        for name, call in calls.items():
            one = _microseconds(server, call)
            if number:  # the first round warms up
                spent[name].append(one)
    return spent


def _microseconds(server: Server, call: Any) -> float:
    from benchmarks.requests import cpu_nanoseconds

    before = cpu_nanoseconds(server.worker)
    for _ in range(REQUESTS):
        server.call(*call())
    return (cpu_nanoseconds(server.worker) - before) / REQUESTS / 1000


def _row(spent: dict[str, list[float]], ours: str, theirs: str, what: str, goal: str) -> dict[str, Any]:
    ratio = statistics.median(one / other for one, other in zip(spent[ours], spent[theirs], strict=True))
    measured = f"{statistics.median(spent[ours]):.0f} ÷ {statistics.median(spent[theirs]):.0f} µs CPU"
    return {"what": what, "ratio": ratio, "goal": goal, "measured": measured, "rounds": spent[ours]}


if __name__ == "__main__":
    main()
