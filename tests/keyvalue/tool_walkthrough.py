"""Every tool of exact memory once, in an order that makes sense; whoever calls them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

GROUPS = ("memory", "board")
Call = Callable[..., dict[str, Any]]


def every_tool(call: Call) -> None:
    """`call` answers what the tool answers, and raises where it refuses."""
    for prefix in GROUPS:
        assert call(f"{prefix}_cas", key="n", value=1, expected_version=0)["version"] == 1
        assert call(f"{prefix}_get", key="n")["value"] == 1
        assert call(f"{prefix}_change", key="n", op="incr", by=4)["value"] == 5
        assert call(f"{prefix}_change", key="o", op="patch", patch={"a": 1})["value"] == {"a": 1}
        assert call(f"{prefix}_batch", operations=[{"op": "delete", "key": "o"}])["count"] == 1
        assert [one["key"] for one in call(f"{prefix}_list", pattern="n*", values=True)["keys"]] == ["n"]
        assert call(f"{prefix}_history", key="n")["versions"][0]["version"] == 2
        assert call(f"{prefix}_history", key="n", version=1)["value"] == 1
        assert call(f"{prefix}_set", key="null", value=None)["version"] == 1
        assert call(f"{prefix}_delete", key="n")["deleted"] is True
    call("board_make", board="ops", ephemeral=True)
    assert {one["board"] for one in call("board_boards")["boards"]} == {"main", "ops"}
    assert call("board_remove", board="ops")["deleted"] is True
    token = call("board_lock", lock="l", ttl_secs=60)["token"]
    assert call("board_locks")["locks"][0]["token"] == token
    call("board_set", key="under", value=1, fence={"lock": "l", "token": token})
    call("board_renew", lock="l", token=token)
    call("board_unlock", lock="l", token=token)
    call("board_add_task", queue="q", value={"n": 1})
    task = call("board_claim_task", queue="q")
    held = {"queue": "q", "task": task["task"], "token": task["token"]}
    call("board_renew_task", **held)
    call("board_release_task", **held)
    again = call("board_claim_task", queue="q")
    call("board_finish_task", **{**held, "token": again["token"]})
    assert call("board_claim_task", queue="q")["task"] is None
    assert call("board_queues")["queues"] == []
