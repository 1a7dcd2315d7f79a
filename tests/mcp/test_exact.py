"""Exact memory over MCP: every tool of its groups through the SDK's client, and the same capabilities as over REST."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mcp_bridge import registry
from tests.instances import Instance
from tests.keyvalue.test_doors import HELD, TRIED
from tests.keyvalue.tool_walkthrough import GROUPS, every_tool
from tests.mcp.driver import Driver, over_http, over_stdio
from tests.mcp.test_http import post

pytestmark = pytest.mark.xdist_group("mcp-server")

KEYS = ("notes/a", "plans/a")
RIGHTS = ("memory.read", "memory.write", "bb.read", "bb.write")
TOOLS = {tool.name for group in GROUPS for tool in registry.load_group(group).tools}


def _agents(instance: Instance, space: str, *agents: tuple[str, tuple[str, ...]]) -> list[str]:
    """A space of its own with agents that hold these rights and both groups of tools; their tokens."""
    lines = [f"flux_space create {space}"]
    for name, rights in agents:
        held = "".join(f" --capability {one}" for one in (*rights, "health.read"))  # none named would be everyday use
        lines += [
            f"flux_agent create {name} --space {space} --trust privileged{held}",
            f"flux_agent tools {name} memory,board --space {space}",
            f"flux_token mint {name} --space {space} --json",
        ]
    return [json.loads(said)["token"] for said in instance.commands(*lines)[3::3]]


def _all_of_them(driver: Driver) -> None:
    """Each is listed, and each is called once; what is answered keeps to what the list promises."""
    called = {"board_watch"}

    def call(name: str, **given: Any) -> Any:
        called.add(name)
        return driver.call(name, **given)

    try:
        assert set(driver.tools()) == TOOLS | {"flux_onboard", "flux_health"}
        since = driver.call("board_watch")["position"]
        every_tool(call)
        assert driver.call("board_watch", since=since)["changes"]
    finally:
        driver.close()
    assert called == TOOLS


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_every_tool_over_http(server: Instance, mode: str) -> None:
    (token,) = _agents(server, f"exact-{mode}", ("alice", RIGHTS))
    _all_of_them(over_http(server, token, mode))


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_every_tool_over_stdio(home: Instance, mode: str) -> None:
    _agents(home, f"exact-{mode}", ("alice", RIGHTS))
    _all_of_them(over_stdio(home, "--space", f"exact-{mode}", "--agent", "alice", mode=mode))


def test_the_rights_are_those_of_rest(server: Instance) -> None:
    """The matrix of tests/keyvalue/test_doors.py once more, over the wire on both sides."""
    names = [f"held-{number}" for number in range(len(HELD))]
    *tokens, _ = _agents(server, "matrix", *zip(names, HELD, strict=True), ("bob", ()))
    lines = [f"flux_kv write {name} {key} 1 --space matrix" for name in (*names, "bob") for key in KEYS]
    server.commands(*lines, *(f"flux_board write {key} 1 --space matrix" for key in KEYS))
    for name, token, held in zip(names, tokens, HELD, strict=True):
        for tried in TRIED:
            wanted = "done" if tried in HELD[held] else "forbidden"
            assert (_over_rest(server, name, token, tried), _over_mcp(server, token, tried)) == (wanted, wanted), (
                held,
                tried,
            )


def _over_rest(server: Instance, name: str, token: str, tried: str) -> str:
    what, where, key = tried.split()
    path = f"/boards/main/kv/{key}" if where == "board" else f"/agents/{name if where == 'own' else where}/kv/{key}"
    method, body = ("GET", None) if what == "read" else ("PUT", {"value": 2})
    answer = server.call(method, path, body, headers={"Authorization": f"Bearer {token}"})
    return "done" if answer.status == 200 else str(answer.json()["code"])


def _over_mcp(server: Instance, token: str, tried: str) -> str:
    what, where, key = tried.split()
    prefix = "board" if where == "board" else "memory"
    given = {"key": key, **({"agent": "bob"} if where == "bob" else {}), **({"value": 2} if what == "write" else {})}
    name = f"{prefix}_{'get' if what == 'read' else 'set'}"
    answer = post(server, "tools/call", {"name": name, "arguments": given}, Authorization=f"Bearer {token}").json()
    if "error" in answer:
        return str(answer["error"]["message"].partition(":")[0])
    result = answer["result"]
    return str(result["_meta"]["flux-memory/error"]["code"]) if result.get("isError") else "done"
