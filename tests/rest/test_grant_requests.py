"""GET /me and /grant-requests: what an agent is and holds, and the way from a refusal to a grant."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
import time_machine
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts import agents, grants
from accounts.models import GrantRequest
from accounts.principals import shell
from fluxcore import clock
from tests.rest.routes import refused


@pytest.fixture
def alice(make_token, as_agent):
    return as_agent(make_token(capabilities=("grains.write",), trust="trusted"))


def test_a_refusal_leads_to_a_grant(alice):
    """Never block, always gate: the refusal carries the call to send."""
    ask = refused(alice.get("/grains"), 403, "forbidden")["ask"]
    assert ask == {"call": "POST /api/v1/grant-requests", "body": {"capability": "grains.read"}}
    method, path = ask["call"].split()
    assert method == "POST"
    asked = alice.post(path, {**ask["body"], "reason": "to answer questions"})
    assert asked.status_code == 200
    assert alice.get("/grains").status_code == 403
    grants.accept(shell(), request=asked.json()["id"], reason="for today")
    assert alice.get("/grains").status_code == 200
    (seen,) = alice.get("/grant-requests").json()["requests"]
    assert (seen["state"], seen["answer"], seen["expires_at"]) == ("accepted", "for today", None)
    grants.revoke(shell(), grant=seen["grant"])
    assert alice.get("/grains").status_code == 403


def test_a_refusal_that_no_grant_could_lift_does_not_say_to_ask(make_token, as_agent):
    sandboxed = as_agent(make_token("low", capabilities=("grains.read",), trust="sandboxed"))
    assert refused(sandboxed.post("/store", {"content": "x"}), 403, "forbidden") == {"missing": "grains.write"}
    child = as_agent(make_token("child", capabilities=("grains.read",), trust="sandboxed", parent="low"))
    assert refused(child.get("/metrics"), 403, "forbidden") == {"missing": "metrics.read"}


def test_me_tells_an_agent_what_it_is_and_holds_now(make_token, as_agent):
    make_token("boss", capabilities=("grains.read", "memory.read:notes/**"), trust="trusted")
    token = make_token(
        "helper",
        capabilities=("grains.read",),
        trust="sandboxed",
        parent="boss",
        ceiling="ai_inferred",
        expires_at="2090-01-01T00:00:00Z",
    )
    made = grants.give(
        shell(), space="home", agent="helper", capability="memory.read:notes/*", expires_at="2080-01-01T00:00:00Z"
    )
    assert as_agent(token).get("/me").json() == {
        "agent": "helper",
        "space": "home",
        "trust": "sandboxed",
        "parent": "boss",
        "token": {"prefix": token[:13], "ceiling": "ai_inferred", "expires_at": "2090-01-01T00:00:00.000000Z"},
        "capabilities": ["grains.read", "memory.read:notes/*"],
        "grants": [
            {
                "id": made["id"],
                "capability": "memory.read:notes/*",
                "granted_at": made["granted_at"],
                "expires_at": "2080-01-01T00:00:00.000000Z",
            }
        ],
    }


def test_me_shows_nothing_that_is_over(alice):
    start = clock.now()
    with time_machine.travel(start, tick=False) as moved:
        soon = clock.rfc3339(start + timedelta(hours=1))
        grants.give(shell(), space="home", agent="alice", capability="grains.read", expires_at=soon)
        assert alice.get("/me").json()["capabilities"] == ["grains.read", "grains.write"]
        moved.shift(timedelta(hours=1))
        assert alice.get("/me").json()["capabilities"] == ["grains.write"]
        assert alice.get("/me").json()["grants"] == []
        agents.set_trust(shell(), space="home", name="alice", trust="untrusted")
        assert alice.get("/me").json()["capabilities"] == []


def test_an_agent_without_any_capability_sees_itself_and_may_ask(make_token, as_agent):
    api = as_agent(make_token(capabilities=()))
    assert api.get("/me").json()["capabilities"] == []
    assert api.get("/grant-requests").json() == {"requests": [], "count": 0}
    assert api.post("/grant-requests", {"capability": "grains.read"}).status_code == 200


def test_an_agent_sees_its_own_requests_only(alice, make_token, as_agent):
    alice.post("/grant-requests", {"capability": "grains.read"})
    for stranger in (make_token("bob"), make_token(space="elsewhere")):
        assert as_agent(stranger).get("/grant-requests").json()["count"] == 0


def test_requests_are_listed_newest_first_and_by_state(alice):
    ids = [alice.post("/grant-requests", {"capability": f"memory.read:{n}"}).json()["id"] for n in range(3)]
    grants.decline(shell(), request=ids[1])

    def listed(**query):
        return [one["id"] for one in alice.get("/grant-requests", **query).json()["requests"]]

    assert listed() == ids[::-1]
    assert listed(state="declined") == [ids[1]]
    assert listed(state="waiting", limit=1) == [ids[2]]


@pytest.mark.parametrize("query", [{"state": "open"}, {"limit": 0}, {"limit": 201}, {"limit": "x"}, {"agent": "bob"}])
def test_a_bad_query_is_refused(alice, query):
    refused(alice.get("/grant-requests", **query), 422, "invalid")


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"capability": None},
        {"capability": 7},
        {"capability": ["grains.read"]},
        {"capability": ""},
        {"capability": "grains"},
        {"capability": "purge"},
        {"capability": "grant"},
        {"capability": "grains.read:x"},
        {"capability": "memory.read:***"},
        {"capability": "memory.read:\u202e"},
        {"capability": "memory.read:\u0000"},
        {"capability": "memory.read:" + "x" * 10_000},
        {"capability": "grains.read", "agent": "bob"},
        {"capability": "grains.read", "expires_at": "2090-01-01T00:00:00Z"},
        {"capability": "grains.read", "reason": "x" * 501},
        {"capability": "grains.read", "reason": "\u0000"},
        {"capability": "grains.read", "reason": 5},
        [],
        "grains.read",
    ],
    ids=lambda body: ascii(body)[:60],
)
def test_a_bad_body_is_refused_and_asks_nothing(alice, body):
    refused(alice.post("/grant-requests", body), 422, "invalid")
    assert not GrantRequest.objects.exists()


def test_what_is_out_of_reach_is_refused_by_name(alice):
    details = refused(alice.post("/grant-requests", {"capability": "graph.export"}), 403, "above_trust")
    assert details == {"capability": "graph.export", "trust": "trusted", "needed": "privileged"}
    refused(alice.post("/grant-requests", {"capability": "grains.write"}), 409, "conflict")


def test_a_repeat_under_one_key_asks_once(alice):
    first, second = (
        alice.post("/grant-requests", {"capability": "grains.read"}, headers={"Idempotency-Key": "k"}) for _ in range(2)
    )
    assert first.json() == second.json()
    refused(
        alice.post("/grant-requests", {"capability": "bb.read"}, headers={"Idempotency-Key": "k"}),
        409,
        "idempotency_key_reused",
    )


def test_asking_too_often_is_told_when_to_come_back(alice, monkeypatch):
    monkeypatch.setattr(grants, "MAX_REQUESTS_PER_MINUTE", 2)
    answers = [alice.post("/grant-requests", {"capability": f"memory.read:{n}"}) for n in range(3)]
    refused(answers[2], 429, "rate_limited")
    assert int(answers[2].headers["Retry-After"]) > 0


@pytest.mark.parametrize(("path", "statements"), [("/me", 3), ("/grant-requests", 2)])
def test_a_read_costs_as_many_statements_as_written_down(alice, path, statements):
    for n in range(10):
        alice.post("/grant-requests", {"capability": f"memory.read:{n}"})
        grants.give(shell(), space="home", agent="alice", capability=f"bb.read:{n}")
    with CaptureQueriesContext(connection) as captured:
        assert alice.get(path).status_code == 200
    assert len(captured) == statements, "\n".join(query["sql"] for query in captured)


@pytest.mark.parametrize(
    ("capability", "valid"),
    [
        ("metrics.read", True),
        ("metrics.read:*", True),
        ("metrics.read:x", False),
        ("memory.read:a/**/b", True),
        ("memory.read:***", False),
        ("memory.read:\\*", True),
        ("memory.read:a\\", False),
        ("memory.read:", False),
        ("memory.read:**", True),
        ("memory.read:a*\\\\", True),
        ("purge", False),
        ("memory.read:a\nb", False),
        ("memory.read:\u200b", False),
        ("memory.read:é/*", True),
        ("", False),
        ("memory.read:a**b*c", True),
    ],
)
def test_the_published_pattern_says_what_is_taken(alice, capability, valid):
    document = alice.get("/api/v1/openapi.json").json()
    pattern = document["components"]["schemas"]["AskForGrantRequest"]["properties"]["capability"]["pattern"]
    assert (re.search(pattern, capability) is not None) is valid
    assert (alice.post("/grant-requests", {"capability": capability}).status_code == 200) is valid
