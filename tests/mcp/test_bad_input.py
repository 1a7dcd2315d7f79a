"""Bad input over MCP: the model gets a code and a next step, and the process keeps running."""

from __future__ import annotations

import shutil
import sqlite3
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.instances import Instance
from tests.mcp.driver import Driver, over_stdio

NOBODY = "00000000-0000-0000-0000-000000000000"


@pytest.mark.parametrize(
    ("tool", "given", "code", "says"),
    [
        ("flux_store", {"content": "x", "banana": 1}, "invalid", "It takes: content"),
        ("flux_store", {}, "invalid", "content"),
        ("flux_store", {"content": 5}, "invalid", "content"),
        ("flux_store", {"content": "x" * 20_000}, "invalid", "Split it"),
        ("flux_store", {"content": "a\0b"}, "invalid", "content"),
        ("flux_store", {"content": "x", "items": [{"content": "y"}]}, "invalid", "not both"),
        ("flux_store", {"items": "x"}, "invalid", "items"),
        ("flux_store", {"items": [{"content": "x"}] * 101}, "invalid", "at most 100"),
        ("flux_store", {"content": "x", "provenance": "user_confirmed"}, "invalid", "provenance"),
        ("flux_store", {"content": "x", "tags": "a"}, "invalid", "tags"),
        ("flux_store", {"content": "x", "time": "yesterday"}, "invalid", "time"),
        ("flux_store", {"content": "x", "idempotency_key": 5}, "invalid", "idempotency_key"),
        ("flux_store", {"content": "x", "reason": "y" * 501}, "invalid", "reason"),
        ("flux_store", {"content": "x", "caller_id": "y" * 129}, "invalid", "caller_id"),
        ("flux_retrieve", {}, "invalid", "'query'"),
        ("flux_retrieve", {"query": ["a"]}, "invalid", "query"),
        ("flux_retrieve", {"query": "a", "k": 0}, "invalid", "k must be"),
        ("flux_retrieve", {"query": "a", "k": True}, "invalid", "k must be"),
        ("flux_retrieve", {"query": "a", "max_tokens": 1}, "invalid", "max_tokens"),
        ("flux_retrieve", {"query": "a", "max_tokens": "many"}, "invalid", "max_tokens"),
        ("flux_retrieve", {"query": "a", "explain": "yes"}, "invalid", "explain"),
        ("flux_retrieve", {"query": "a", "since": "2026-01-02T00:00:00"}, "invalid", "since"),
        ("flux_feedback", {"trace_id": "banana", "grain_id": NOBODY, "useful": True}, "invalid", "trace_id"),
        ("flux_feedback", {"trace_id": NOBODY, "grain_id": NOBODY, "useful": True}, "not_found", "no trace"),
        ("flux_feedback", {"trace_id": NOBODY, "grain_id": NOBODY, "useful": "yes"}, "invalid", "useful"),
        ("flux_feedback", {"items": []}, "invalid", "items"),
        ("flux_list_grains", {"status": "banana"}, "invalid", "status"),
        ("flux_list_grains", {"status": 5}, "invalid", "status"),
        ("flux_list_grains", {"limit": "5"}, "invalid", "limit"),
        ("flux_list_grains", {"limit": 0}, "invalid", "limit"),
        ("flux_list_grains", {"cursor": "banana"}, "invalid", "cursor"),
        ("flux_list_grains", {"pinned": "yes"}, "invalid", "pinned"),
        ("flux_health", {"explain": 1}, "invalid", "explain"),
        ("flux_onboard", {"x": 1}, "invalid", "It takes: none"),
    ],
)
def test_a_call_that_cannot_be(stdio: Driver, tool: str, given: dict[str, Any], code: str, says: str) -> None:
    found, text = stdio.refused(tool, **given)
    assert (found, says in text) == (code, True), text


@pytest.mark.parametrize("tool", ["flux_purge", "flux_extract"])  # the second is of a group that is not switched on
def test_a_tool_that_is_not_offered_is_an_error_of_the_protocol(stdio: Driver, tool: str) -> None:
    with pytest.raises(Exception, match=f"no tool '{tool}' for you. Allowed: flux_onboard") as refused:
        stdio.try_call(tool, content="x")
    assert refused.value.error.code == -32602  # type: ignore[attr-defined]


def test_the_process_lived_through_all_of_it(stdio: Driver) -> None:
    assert stdio.call("flux_store", content="Still here.")["status"] == "stored"


def test_a_trace_of_somebody_else_is_nobodys(stdio: Driver, home: Instance) -> None:
    home.command("flux_agent", "create", "other")
    other = over_stdio(home, "--agent", "other")
    try:
        stored = other.call("flux_store", content="Somebody else's question.")
        trace = other.call("flux_retrieve", query="Somebody else's question")["trace_id"]
    finally:
        other.close()
    assert stdio.refused("flux_feedback", trace_id=trace, grain_id=stored["grain_id"], useful=True)[0] == "not_found"
    with pytest.raises(Exception, match="not_found: "):
        stdio.ask(lambda client: client.read_resource(f"flux://traces/{trace}"))


def test_an_agent_that_is_switched_off_in_mid_session(home: Instance) -> None:
    home.command("flux_agent", "create", "leaver")
    driver = over_stdio(home, "--agent", "leaver")
    try:
        driver.call("flux_store", content="Before.")
        home.command("flux_agent", "stop", "leaver")
        code, text = driver.refused("flux_store", content="After.")
        assert code == "forbidden" and "flux_agent resume leaver" in text
        assert driver.tools() == {}
        home.command("flux_agent", "resume", "leaver")
        driver.call("flux_store", content="After that.")
    finally:
        driver.close()


def test_an_agent_nobody_made(home: Instance) -> None:
    driver = over_stdio(home, "--agent", "nobody")
    try:
        code, text = driver.refused("flux_onboard")
        assert code == "not_found" and "flux_agent create nobody" in text
    finally:
        driver.close()


@pytest.fixture
def own(blank: Instance, instance: Any) -> Iterator[tuple[Driver, Instance]]:
    """An instance whose database a test may damage."""
    one = instance("harmed")
    shutil.copytree(blank.folder, one.folder)
    driver = over_stdio(one)
    yield driver, one
    driver.close()


def test_a_database_locked_for_three_seconds_is_waited_for(own: tuple[Driver, Instance]) -> None:
    driver, one = own
    driver.call("flux_store", content="Before the lock.")
    holder = sqlite3.connect(one.folder / "flux.db", check_same_thread=False, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    threading.Timer(3, lambda: holder.execute("COMMIT")).start()
    started = time.monotonic()
    assert driver.call("flux_store", content="While it was locked.")["status"] == "stored"
    assert time.monotonic() - started >= 2


def test_a_database_that_goes_away_and_comes_back(own: tuple[Driver, Instance]) -> None:
    driver, one = own
    driver.call("flux_store", content="Before it went.")
    away = one.folder.with_name("away")
    one.folder.rename(away)
    code, text = driver.refused("flux_store", content="While it was away.")
    assert code == "not_ready" and "There is no instance" in text
    assert not one.folder.exists()  # none was made in its place
    assert len(driver.tools()) == 7  # a client asks once: what it calls later tells it more
    away.rename(one.folder)
    assert driver.call("flux_list_grains")["count"] == 1


def test_an_instance_nobody_made(instance: Any) -> None:
    one = instance("nowhere")
    driver = over_stdio(one)
    try:
        assert driver.refused("flux_onboard")[0] == "not_ready"
        assert not one.folder.exists()
    finally:
        driver.close()
