"""Watching over REST: nothing missed, nothing shown that may not be."""

from __future__ import annotations

import json

import pytest

from accounts import grants, tokens
from accounts.principals import shell
from memory.keyvalue import ephemeral, watch
from tests.event_log import wait_for_log
from tests.rest.routes import refused

# What is written must be committed to be followed on PostgreSQL.
pytestmark = pytest.mark.django_db(transaction=True)
MAIN = "/boards/main/kv"


def watched(api, since, **query):
    wait_for_log()
    answer = api.get("/watch", **{"place": "boards/main", "wait": 0, "since": since, **query})
    assert answer.status_code == 200, answer.content
    return answer.json()


def leave(answer):
    """As the server does when the caller hangs up; the test's own connection stays."""
    for close in answer._resource_closers:
        close()


@pytest.fixture
def here(alice):
    """A position before anything is written."""
    wait_for_log()
    return alice.get("/watch?place=boards/main&wait=0").json()["position"]


def test_changes_come_in_order_and_go_on_from_a_position(alice, bob, here):
    alice.put(f"{MAIN}/a", {"value": "not told"})
    bob.delete(f"{MAIN}/a")
    first = watched(bob, here)
    assert [(one["kind"], one["key"], one["version"], one["actor"]) for one in first["changes"]] == [
        ("kv.set", "a", 1, "agent:alice"),
        ("kv.deleted", "a", 1, "agent:bob"),
    ]
    assert "not told" not in json.dumps(first)
    alice.post("/locks", {"lock": "l"})
    alice.post("/queues", {"queue": "q", "value": 1})
    assert [one["kind"] for one in watched(bob, first["position"])["changes"]] == ["lock.acquired", "queue.added"]
    middle = first["changes"][0]["position"]
    assert [one["kind"] for one in watched(bob, middle)["changes"]] == ["kv.deleted", "lock.acquired", "queue.added"]


def test_only_what_matches_and_only_there(alice, here):
    for path in (f"{MAIN}/status/a", f"{MAIN}/status/a/b", f"{MAIN}/other", "/agents/alice/kv/status/a"):
        alice.put(path, {"value": 1})
    assert [one["key"] for one in watched(alice, here, pattern="status/*")["changes"]] == ["status/a"]
    assert [one["key"] for one in watched(alice, here, place="agents/alice")["changes"]] == ["status/a"]
    alice.put(f"{MAIN}/caf\u00e9", {"value": 1})
    assert watched(alice, here, pattern="cafe\u0301")["count"] == 1, "a pattern was read in another form than keys are"


def test_rights_are_asked_each_time_and_key_by_key(alice, with_rights, here):
    carol = with_rights("bb.read:status/*")
    alice.put(f"{MAIN}/status/a", {"value": 1})
    alice.put(f"{MAIN}/secret", {"value": 1})
    assert [one["key"] for one in watched(carol, here)["changes"]] == ["status/a"]
    given = grants.give(shell(), space="home", agent="carol", capability="bb.read:secret")
    assert [one["key"] for one in watched(carol, here)["changes"]] == ["status/a", "secret"]
    grants.revoke(shell(), grant=given["id"])
    assert [one["key"] for one in watched(carol, here)["changes"]] == ["status/a"]
    nobody = with_rights("memory.read", name="dave")
    refused(nobody.get("/watch?place=boards/main&wait=0"), 403, "forbidden")
    refused(nobody.get("/watch?place=agents/alice&wait=0"), 403, "forbidden")


def test_a_stream_says_the_same_and_ends_with_its_right(alice, make_token, here):
    token = make_token("eve", capabilities=("bb.read",))
    who = lambda: tokens.authenticate(token)  # noqa: E731
    alice.put(f"{MAIN}/a", {"value": 1})
    wait_for_log()
    told = iter(watch.Stream(who, watch.watch("boards/main", None), here, seconds=60))
    assert next(told)["kind"] == "watch.open"
    assert next(told)["key"] == "a"
    tokens.revoke(shell(), prefix=token[:13])
    alice.put(f"{MAIN}/b", {"value": 1})
    wait_for_log()
    with pytest.raises(Exception, match="not valid"):
        while True:
            assert next(told) is None


def test_the_stream_in_its_own_format(alice, here):
    alice.put(f"{MAIN}/ä", {"value": 1})
    wait_for_log()
    answer = alice.get(f"/watch?place=boards/main&since={here}", headers={"Accept": "text/event-stream"})
    assert answer.headers["Content-Type"] == "text/event-stream" and answer.streaming
    lines = iter(answer.streaming_content)
    opened, change = next(lines).decode(), next(lines).decode()
    leave(answer)
    assert opened.startswith(f"id: {here}\nevent: watch.open\n")
    position, kind, data, *_ = change.split("\n")
    assert kind == "event: kv.set" and json.loads(data.removeprefix("data: "))["key"] == "ä"
    again = alice.get("/watch?place=boards/main&wait=0", headers={"Last-Event-ID": position.removeprefix("id: ")})
    assert again.json()["changes"] == []
    assert watch._open_watches == []


def test_an_agent_has_two_watches_a_space_four_and_a_process_eight(alice, bob, with_rights):
    def follow(who):
        return who.get("/watch?place=boards/main", headers={"Accept": "text/event-stream"})

    open_ones = [follow(who) for who in (alice, alice)]
    refusal = follow(alice)
    assert refused(refusal, 429, "too_many_watches")["limit"] == 2 and refusal.headers["Retry-After"] == "5"
    refused(alice.get("/watch?place=boards/main&wait=1"), 429, "too_many_watches")
    open_ones += [follow(who) for who in (bob, bob)]
    carol = with_rights("bb.read", name="carol")
    assert refused(follow(carol), 429, "too_many_watches")["limit"] == 4
    for name in ("dora", "emil"):
        elsewhere = with_rights("bb.read", name=name, space="elsewhere")
        open_ones += [follow(elsewhere) for _ in range(2)]
    assert {one.status_code for one in open_ones} == {200} and len(open_ones) == 8
    last = with_rights("bb.read", name="frida", space="third")
    assert refused(follow(last), 503, "busy")["limit"] == 8
    leave(open_ones.pop(0))
    open_ones.append(follow(last))
    assert open_ones[-1].status_code == 200
    for one in open_ones:
        leave(one)
    assert watch._open_watches == []


def test_a_board_that_was_emptied_is_told(alice):
    alice.post("/boards", {"board": "scratch", "ephemeral": True})
    wait_for_log()
    here = alice.get("/watch?place=boards/scratch&wait=0").json()["position"]
    ephemeral.clear_ephemeral()
    assert [one["kind"] for one in watched(alice, here, place="boards/scratch")["changes"]] == ["board.cleared"]


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("", "place"),
        ("?place=boards", "place"),
        ("?place=spaces/main", "place"),
        ("?place=boards/main&since=x", "since"),
        ("?place=boards/main&since=9.999999999999", "since"),
        ("?place=boards/main&wait=61", "wait"),
        ("?place=boards/main&wait=-1", "wait"),
        ("?place=boards/main&pattern=***", "pattern"),
        ("?place=boards/main&what=1", "what"),
        ("?place=boards/No!", "name"),
    ],
)
def test_bad_questions_are_named(alice, query, field):
    assert refused(alice.get(f"/watch{query}"), 422, "invalid")["field"] == field


def test_a_board_that_was_deleted_is_told_and_so_is_the_next_of_its_name(alice, bob):
    alice.post("/boards", {"board": "ops"})
    wait_for_log()
    here = bob.get("/watch?place=boards/ops&wait=0").json()["position"]
    alice.delete("/boards/ops")
    bob.post("/boards", {"board": "ops"})
    seen = watched(bob, here, place="boards/ops")["changes"]
    assert [one["kind"] for one in seen] == ["board.deleted", "board.made"]
