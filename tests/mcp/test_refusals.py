"""Refusals over MCP are as precise as REST's: the missing capability, the time to wait, and always a code."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from accounts import agents, tokens
from accounts.models import AuditEntry
from accounts.principals import shell
from mcp_bridge import registry, server
from tests.conftest import Api
from tests.instances import Instance
from tests.mcp.driver import Driver, over_http
from tests.mcp.test_http import post

ERROR = "flux-memory/error"


@pytest.fixture
def call(make_token: Callable[..., str]) -> Callable[..., Any]:
    """Call a tool as an agent with these capabilities and all groups switched on."""

    def run(tool: str, given: dict[str, Any], *capabilities: str) -> Any:
        token = make_token(capabilities=capabilities or ("health.read",))
        agents.set_tools(shell(), space="home", name="alice", tools=list(registry.SWITCHED_GROUPS))
        context = SimpleNamespace(session=SimpleNamespace(client_params=None))
        return server.run_tool(lambda ctx: tokens.authenticate(token), context, tool, given)  # type: ignore[arg-type]

    return run


@pytest.mark.parametrize(
    ("tool", "given", "asked", "name"),
    [
        ("memory_get", {"key": "notes/a"}, "memory.read", "notes/a"),
        ("memory_set", {"key": "notes/a", "value": 1}, "memory.write", "notes/a"),
        ("memory_set", {"key": "notes/a", "value": 1, "agent": "bob"}, "memory.write@bob", "notes/a"),
        ("memory_batch", {"operations": [{"op": "set", "key": "x", "value": 1}]}, "memory.write", "x"),
        ("board_set", {"key": "plan", "value": 1}, "bb.write@main", "plan"),
        ("board_lock", {"lock": "deploy", "board": "ops"}, "bb.write@ops", "deploy"),
        ("board_add_task", {"queue": "mail", "value": 1}, "bb.write@main", "mail"),
        ("board_list", {"board": "ops"}, "bb.read@ops", ""),
        ("flux_store", {"content": "x"}, "grains.write", ""),
    ],
)
def test_it_is_audited_with_the_name_and_proposes_that_scope(
    call: Callable[..., Any], tool: str, given: dict[str, Any], asked: str, name: str
) -> None:
    answer = call(tool, given)
    assert answer.is_error
    details = answer.meta[ERROR]["details"]
    wanted = f"{asked}:{name}" if name else asked
    assert (details["missing"], details["ask"]["body"]["capability"]) == (wanted, wanted)
    (entry,) = AuditEntry.objects.filter(outcome="refused")
    assert (entry.action, entry.object) == (f"tools.{tool}", name)


def test_the_scope_is_the_one_rest_proposes(call: Callable[..., Any], make_token: Callable[..., str]) -> None:
    over_rest = Api(make_token("carol", capabilities=("health.read",))).get("/agents/carol/kv/notes/a").json()
    over_mcp = call("memory_get", {"key": "notes/a"}).meta[ERROR]
    assert over_mcp["details"] == over_rest["details"]


def test_a_limit_tells_programs_how_long_to_wait(call: Callable[..., Any], configure: Callable[..., None]) -> None:
    configure(MAX_GRAINS_PER_MINUTE=1)
    call("flux_store", {"content": "One."}, "grains.write")
    answer = call("flux_store", {"content": "Two."}, "grains.write")
    assert answer.meta[ERROR]["code"] == "rate_limited"
    assert 1 <= answer.meta["retry_after"] <= 61
    assert f"Wait {answer.meta['retry_after']} s." in answer.content[0].text


def test_what_waiting_does_not_help_has_no_wait(call: Callable[..., Any]) -> None:
    assert "retry_after" not in call("flux_store", {"content": "x"}).meta


@pytest.mark.xdist_group("mcp-server")
@pytest.mark.parametrize(("mode", "missing"), [("auto", -32602), ("legacy", -32002)])
def test_an_unknown_tool_and_a_missing_resource_are_errors_of_the_protocol(
    server: Instance, mode: str, missing: int
) -> None:
    driver: Driver = over_http(server, mode=mode)
    try:
        assert _error(lambda: driver.try_call("flux_purge")) == (-32602, "not_found")
        assert _error(lambda: driver.ask(lambda client: client.read_resource("flux://x"))) == (missing, "not_found")
    finally:
        driver.close()


def _error(work: Callable[[], Any]) -> tuple[int, str]:
    with pytest.raises(Exception, match="not_found: ") as refused:
        work()
    return refused.value.error.code, refused.value.error.data["code"]  # type: ignore[attr-defined]


def test_a_server_that_stops_answers_with_a_code(made: Callable[..., Instance]) -> None:
    """A write that waits for the database when the server stops; uvicorn alone would answer a bare 500."""
    one = made("stopping").start()
    holder = sqlite3.connect(one.folder / "flux.db", isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with ThreadPoolExecutor(1) as beside:
        given = {"name": "flux_store", "arguments": {"content": "Said at the last moment."}}
        waiting = beside.submit(post, one, "tools/call", given)
        _until_it_runs(one)
        one.stop()
        answer = waiting.result()
    holder.execute("ROLLBACK")
    holder.close()
    error = answer.json()["error"]
    assert (answer.status, error["code"], error["data"]["code"]) == (503, -32003, "outcome_unknown")
    assert "same idempotency key" in error["message"]


def _until_it_runs(one: Instance) -> None:
    """The server has read the message: nothing of it is left in the socket's buffer on either side."""
    port = f":{one.state['ports']['mcp']:04X} "
    while True:
        lines = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines() if port in line]
        busy = [line for line in lines if line[3] == "01"]
        if len(busy) == 2 and all(line[4] == "00000000:00000000" for line in busy):
            return
        time.sleep(0.02)
