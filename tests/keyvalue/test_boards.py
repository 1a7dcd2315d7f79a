"""Boards, locks and queues over REST."""

from __future__ import annotations

import pytest

from memory.keyvalue import ephemeral, quotas
from memory.keyvalue.models import Item, Lock, Namespace, Task
from tests.rest.routes import refused

MAIN = "/boards/main/kv"


def test_a_board_is_seen_by_all_who_may(alice, bob, with_rights):
    alice.put(f"{MAIN}/status/alice", {"value": "busy"})
    assert bob.get(f"{MAIN}/status/alice").json()["writer"] == "agent:alice"
    carol = with_rights("memory.read", "memory.write", "bb.read:config/*")
    assert refused(carol.get(f"{MAIN}/status/alice"), 403, "forbidden")["missing"] == "bb.read@main:status/alice"
    assert carol.get(MAIN).json()["keys"] == []


def test_the_lock_of_the_seed(alice, bob, clocks):
    """`cas lock null "a"` takes it, `cas lock "a" null` lets it go, and a lifetime frees a crashed holder's."""
    take = {"value": "alice", "expected_value": None, "ttl_secs": 30}
    assert alice.put(f"{MAIN}/lock", take).status_code == 200
    seen = refused(bob.put(f"{MAIN}/lock", {"value": "bob", "expected_value": None}), 409, "conflict")
    assert seen["current_value"] == "alice"
    assert alice.put(f"{MAIN}/lock", {"value": None, "expected_value": "alice"}).json()["deleted"] is True
    assert bob.put(f"{MAIN}/lock", {**take, "value": "bob"}).json()["version"] == 2
    clocks.passes(30)
    assert alice.put(f"{MAIN}/lock", take).json()["version"] == 3
    refused(bob.put(f"{MAIN}/lock", {"value": None, "expected_value": "bob"}), 409, "conflict")


def test_null_that_is_written_counts_as_absent_to_who_compares_values(alice):
    alice.put(f"{MAIN}/lock", {"value": None})
    assert alice.put(f"{MAIN}/lock", {"value": "mine", "expected_value": None}).json()["version"] == 2


def test_named_boards_are_made_first(alice, bob):
    refused(alice.put("/boards/ops/kv/a", {"value": 1}), 404, "not_found")
    assert alice.post("/boards", {"board": "ops"}).json()["made"] is True
    assert alice.post("/boards", {"board": "ops"}).json()["made"] is False
    refused(alice.post("/boards", {"board": "ops", "ephemeral": True}), 409, "conflict")
    refused(alice.post("/boards", {"board": "Ops"}), 422, "invalid")
    alice.put("/boards/ops/kv/a", {"value": 1})
    refused(bob.get(f"{MAIN}/a"), 404, "not_found")
    assert bob.get("/boards/ops/kv/a").json()["value"] == 1
    assert [one["board"] for one in bob.get("/boards").json()["boards"]] == ["ops"]


def test_a_capability_can_name_its_board(alice, with_rights):
    for name in ("ops", "lab"):
        alice.post("/boards", {"board": name})
    carol = with_rights("bb.read@ops:a/*", "bb.write@ops")
    assert carol.put("/boards/ops/kv/a/1", {"value": 1}).status_code == 200
    assert carol.get("/boards/ops/kv/a/1").status_code == 200
    refused(carol.get("/boards/ops/kv/b"), 403, "forbidden")
    refused(carol.put("/boards/lab/kv/a/1", {"value": 1}), 403, "forbidden")
    assert [one["board"] for one in carol.get("/boards").json()["boards"]] == ["ops"]
    refused(carol.post("/boards", {"board": "other"}), 403, "forbidden")


def test_what_a_board_comes_to_is_told_to_who_may_read_all_of_it(alice, with_rights):
    alice.put(f"{MAIN}/secret", {"value": "x"})
    (seen,) = alice.get("/boards").json()["boards"]
    assert (seen["keys"], seen["bytes"]) == (1, 3)
    (part,) = with_rights("bb.read:a/*").get("/boards").json()["boards"]
    assert (part["board"], part["keys"], part["bytes"]) == ("main", None, None)


def test_a_start_empties_ephemeral_boards_and_keeps_their_versions(alice):
    alice.post("/boards", {"board": "scratch", "ephemeral": True})
    alice.put("/boards/scratch/kv/a", {"value": 1})
    alice.put(f"{MAIN}/a", {"value": 1})
    token = alice.post("/locks", {"lock": "l", "board": "scratch"}).json()["token"]
    alice.post("/queues", {"queue": "q", "value": 1, "board": "scratch"})
    assert ephemeral.clear_ephemeral() == 1
    refused(alice.get("/boards/scratch/kv/a"), 404, "not_found")
    refused(alice.get("/boards/scratch/history/a", version=1), 404, "not_found")
    assert alice.get(f"{MAIN}/a").status_code == 200
    assert alice.put("/boards/scratch/kv/a", {"value": 2, "expected_version": 0}).json()["version"] == 2
    assert alice.post("/locks", {"lock": "l", "board": "scratch"}).json()["token"] == token + 1
    assert not Task.objects.exists()


def test_one_holds_a_lock_and_its_token_grows(alice, bob, clocks):
    mine = alice.post("/locks", {"lock": "deploy", "ttl_secs": 10, "note": "v7"}).json()
    assert mine["token"] == 1
    answer = bob.post("/locks", {"lock": "deploy"})
    held = refused(answer, 409, "held")
    assert (held["holder"], held["note"], held["token"], answer.headers["Retry-After"]) == (
        "agent:alice",
        "v7",
        1,
        "10",
    )
    refused(alice.post("/locks", {"lock": "deploy"}), 409, "held")
    assert alice.post("/locks/renew", {"lock": "deploy", "token": 1, "ttl_secs": 20}).status_code == 200
    clocks.passes(15)
    refused(bob.post("/locks", {"lock": "deploy"}), 409, "held")
    clocks.passes(5)
    assert bob.post("/locks", {"lock": "deploy"}).json()["token"] == 2
    assert refused(alice.post("/locks/renew", {"lock": "deploy", "token": 1}), 409, "fenced")["current_token"] == 2
    refused(alice.post("/locks/release", {"lock": "deploy", "token": 2}), 409, "fenced")
    assert bob.get("/locks").json()["locks"][0]["holder"] == "agent:bob"
    assert bob.post("/locks/release", {"lock": "deploy", "token": 2}).status_code == 200
    refused(bob.post("/locks/release", {"lock": "deploy", "token": 2}), 409, "fenced")
    assert bob.get("/locks").json()["locks"] == []
    assert alice.post("/locks", {"lock": "deploy"}).json()["token"] == 3


def test_the_late_holder_is_refused_by_its_token(alice, bob, clocks):
    first = alice.post("/locks", {"lock": "l", "ttl_secs": 10}).json()["token"]
    assert alice.put(f"{MAIN}/out", {"value": 1, "fence": {"lock": "l", "token": first}}).status_code == 200
    clocks.passes(10)
    refused(alice.put(f"{MAIN}/out", {"value": 2, "fence": {"lock": "l", "token": first}}), 409, "fenced")
    second = bob.post("/locks", {"lock": "l", "ttl_secs": 10}).json()["token"]
    assert bob.put(f"{MAIN}/out", {"value": 3, "fence": {"lock": "l", "token": second}}).status_code == 200
    late = refused(alice.put(f"{MAIN}/out", {"value": 4, "fence": {"lock": "l", "token": first}}), 409, "fenced")
    assert late["current_token"] == second
    assert bob.get(f"{MAIN}/out").json()["value"] == 3
    refused(bob.put("/agents/bob/kv/x", {"value": 1, "fence": {"lock": "l", "token": second}}), 422, "invalid")


def test_a_fence_tells_nothing_of_a_lock_one_may_not_read(alice, with_rights):
    alice.post("/locks", {"lock": "secret/deploy"})
    body = {"value": 1, "fence": {"lock": "secret/deploy", "token": 9}}
    assert refused(alice.put("/boards/main/kv/notes/a", body), 409, "fenced")["current_token"] == 1
    carol = with_rights("bb.write:notes/*", "bb.read:notes/*")
    assert "current_token" not in refused(carol.put("/boards/main/kv/notes/a", body), 409, "fenced")


def test_a_task_is_claimed_once_until_its_claim_runs_out(alice, bob, clocks):
    for number in (1, 2):
        alice.post("/queues", {"queue": "work", "value": {"n": number}})
    mine = alice.post("/queues/claim", {"queue": "work", "ttl_secs": 10}).json()
    other = bob.post("/queues/claim", {"queue": "work", "ttl_secs": 100}).json()
    assert (mine["value"], other["value"]) == ({"n": 1}, {"n": 2})
    assert alice.post("/queues/claim", {"queue": "work"}).json()["task"] is None
    assert bob.get("/queues").json()["queues"] == [{"queue": "work", "waiting": 0, "claimed": 2}]
    said = {"queue": "work", "task": mine["task"], "token": mine["token"]}
    refused(bob.post("/queues/done", said), 409, "fenced")
    assert alice.post("/queues/renew", {**said, "ttl_secs": 20}).status_code == 200
    clocks.passes(20)
    again = bob.post("/queues/claim", {"queue": "work"}).json()
    assert (again["task"], again["token"]) == (mine["task"], 2)
    refused(alice.post("/queues/done", said), 409, "fenced")
    assert bob.post("/queues/done", {**said, "token": 2}).status_code == 200
    refused(bob.post("/queues/done", {**said, "token": 2}), 404, "not_found")
    back = {"queue": "work", "task": other["task"], "token": other["token"]}
    assert bob.post("/queues/release", back).status_code == 200
    assert alice.post("/queues/claim", {"queue": "work"}).json()["value"] == {"n": 2}


def test_tasks_and_locks_have_an_end_and_what_is_done_makes_room(alice, monkeypatch, configure):
    monkeypatch.setattr(quotas, "MAX_TASKS", 2)
    for number in (1, 2):
        alice.post("/queues", {"queue": "work", "value": number})
    assert refused(alice.post("/queues", {"queue": "other", "value": 3}), 413, "quota")["what"] == "tasks"
    task = alice.post("/queues/claim", {"queue": "work"}).json()
    refused(alice.post("/queues/done", {"queue": "other", "task": task["task"], "token": 1}), 404, "not_found")
    assert alice.post("/queues/done", {"queue": "work", "task": task["task"], "token": 1}).status_code == 200
    configure(MAX_KV_BYTES=8)
    assert refused(alice.post("/queues", {"queue": "work", "value": "x" * 8}), 413, "quota")["what"] == "bytes"
    assert alice.post("/queues", {"queue": "work", "value": 3}).status_code == 200
    assert Namespace.objects.values_list("queued", "queued_bytes").get(kind="board") == (2, 2)
    monkeypatch.setattr(quotas, "MAX_LOCKS", 1)
    held = alice.post("/locks", {"lock": "a"}).json()
    assert refused(alice.post("/locks", {"lock": "b"}), 413, "quota")["what"] == "locks"
    alice.post("/locks/release", {"lock": "a", "token": held["token"]})
    assert alice.post("/locks", {"lock": "a"}).json()["token"] == 2


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/locks", {}),
        ("/locks", {"lock": ""}),
        ("/locks", {"lock": "a\n"}),
        ("/locks", {"lock": "a", "ttl_secs": 0}),
        ("/locks", {"lock": "a", "board": "No"}),
        ("/locks", {"lock": "a", "note": "a\nb"}),
        ("/locks/renew", {"lock": "a"}),
        ("/locks/release", {"lock": "a", "token": 0}),
        ("/locks/release", {"lock": "a", "token": True}),
        ("/queues", {"queue": "q"}),
        ("/queues/claim", {"queue": 7}),
        ("/queues/done", {"queue": "q", "task": "x", "token": 1}),
        ("/boards", {}),
        ("/boards", {"board": "a", "ephemeral": 1}),
        ("/boards", {"board": "main", "ephemeral": True}),
    ],
)
def test_bad_input_is_named(alice, path, body):
    assert refused(alice.post(path, body), 422, "invalid")["field"]
    assert not Lock.objects.exists() and not Item.objects.exists()
