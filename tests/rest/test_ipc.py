"""POST /ipc: the envelopes of agentd's memory and blackboard, over the verbs of exact memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.conftest import Api

EVERYTHING = ("memory.read", "memory.write", "bb.read", "bb.write")


@pytest.fixture
def send(make_token: Callable[..., str]) -> Callable[..., Any]:
    api = Api(make_token(capabilities=EVERYTHING))
    make_token("bob", capabilities=("health.read",))

    def post(envelope: str, **fields: Any) -> Any:
        return api.post("/ipc", {envelope: fields})

    return post


def test_the_documented_flow_of_an_agents_memory(send: Callable[..., Any]) -> None:
    me = {"agent_id": "alice"}
    assert send("MemoryWrite", **me, key="config", value={"theme": "dark"}, ttl_secs=None).json()["version"] == 1
    assert send("MemoryRead", **me, key="config").json()["value"] == {"theme": "dark"}
    assert send("MemoryWriteCas", **me, key="counter", expected_version=0, value=41, ttl_secs=60).json()["version"] == 1
    changed = send("MemoryWriteCas", **me, key="counter", expected_version=1, value=42, ttl_secs=None).json()
    assert changed["version"] == 2
    stale = send("MemoryWriteCas", **me, key="counter", expected_version=1, value=43)
    assert (stale.status_code, stale.json()["details"]["current_version"]) == (409, 2)
    assert [one["key"] for one in send("MemoryList", **me, pattern="c*").json()["keys"]] == ["config", "counter"]
    assert send("MemoryDelete", **me, key="config").json()["deleted"] is True
    assert send("MemoryRead", **me, key="config").status_code == 404


def test_the_blackboard_swaps_by_value(send: Callable[..., Any]) -> None:
    assert send("BlackboardCas", agent_id="alice", key="lock", expected=None, new_value="a").status_code == 200
    taken = send("BlackboardCas", key="lock", expected=None, new_value="b")
    assert (taken.status_code, taken.json()["details"]["current_value"]) == (409, "a")
    assert send("BlackboardRead", key="lock").json()["value"] == "a"
    assert send("BlackboardCas", key="lock", expected="a", new_value=None).json()["deleted"] is True
    assert send("BlackboardWrite", key="status/x", value=1, ttl_secs=5).status_code == 200
    assert [one["key"] for one in send("BlackboardList", pattern="status/*").json()["keys"]] == ["status/x"]
    assert send("BlackboardDelete", key="status/x").status_code == 200


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({}, "Send one envelope: MemoryRead"),
        ({"MemoryRead": {"agent_id": "alice", "key": "a"}, "MemoryList": {"agent_id": "alice"}}, "Send one envelope"),
        ({"MemoryRead": 5}, "MemoryRead must be an object with agent_id, key."),
        ({"MemoryRead": {"agent_id": "alice"}}, "MemoryRead needs the field 'key'."),
        ({"MemoryRead": {"key": "a"}}, "MemoryRead needs the field 'agent_id'."),
        ({"MemoryRead": {"agent_id": "alice", "key": "a", "x": 1}}, "It takes: agent_id, key."),
        ({"MemoryRead": {"agent_id": 5, "key": "a"}}, "name of an agent"),
        ({"MemoryRead": {"agent_id": "alice", "key": 5}}, "key must be a text"),
        ({"MemoryWriteCas": {"agent_id": "alice", "key": "a", "value": 1}}, "needs the field 'expected_version'"),
        (
            {"MemoryWriteCas": {"agent_id": "alice", "key": "a", "value": 1, "expected_version": None}},
            "needs the field 'expected_version'",
        ),
        (
            {"BlackboardRead": {"agent_id": "bob", "key": "a"}},
            "agent_id must be 'alice', the caller itself, or be left out.",
        ),
        ({"MemoryPurge": {}}, "Unknown field 'MemoryPurge'"),
    ],
)
def test_a_request_that_cannot_be(make_token: Callable[..., str], body: Any, says: str) -> None:
    answer = Api(make_token(capabilities=EVERYTHING)).post("/ipc", body)
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid")
    assert says in answer.json()["message"]


def test_another_agents_memory_takes_a_capability_for_it(send: Callable[..., Any]) -> None:
    answer = send("MemoryRead", agent_id="bob", key="notes")
    assert (answer.status_code, answer.json()["details"]["missing"]) == (403, "memory.read@bob:notes")
