"""The client against a real REST server: store, recall, feedback, trace."""

from __future__ import annotations

import asyncio

import pytest

from flux import errors
from flux.client import AsyncFluxClient, FluxClient

EXACT = ("memory.read", "memory.write", "bb.read", "bb.write")
EVERYDAY = ("grains.read", "grains.write", "grains.feedback", "grains.manage", "metrics.read", "health.read")


@pytest.fixture
def server(live_server, make_token):
    return {"url": live_server.url, "token": make_token(capabilities=EVERYDAY)}


def test_store_retrieve_feedback(server):
    with FluxClient(**server) as flux:
        stored = flux.store("Paris is the capital of France", provenance="user_stated", tags=["geography"])
        flux.store("Lisbon lies on the Tagus")
        answer = flux.retrieve("French capital Paris", k=1)
        assert [one["id"] for one in answer["grains"]] == [stored["grain_id"]]
        assert flux.feedback(answer["trace_id"], stored["grain_id"], True)["changed"] is True
        assert flux.withdraw_feedback(answer["trace_id"], stored["grain_id"], reason="a slip")["changed"] is True
        assert flux.get_trace(answer["trace_id"])["query"] == "French capital Paris"


def test_the_async_client_does_the_same(server):
    async def talk():
        async with AsyncFluxClient(**server) as flux:
            stored = await flux.store("Paris is the capital of France", provenance="user_stated")
            answer = await flux.retrieve("French capital Paris")
            voted = await flux.feedback(answer["trace_id"], stored["grain_id"], True)
            pages = await asyncio.gather(*(flux.list_grains(limit=1) for _ in range(3)))
            return stored, answer, voted, pages

    stored, answer, voted, pages = asyncio.run(talk())
    assert answer["grains"][0]["id"] == stored["grain_id"] == voted["grain_id"]
    assert [page["grains"][0]["id"] for page in pages] == [stored["grain_id"]] * 3


def test_the_other_calls(server):
    with FluxClient(**server, caller="editor") as flux:
        batch = flux.store_batch([{"content": "one"}, {"content": " "}, {"content": "two", "session": "s"}])
        assert (batch["count"], batch["refused"]) == (2, 1)
        one, _, two = batch["grain_ids"]
        assert flux.list_grains(session="s")["grains"][0]["id"] == two
        assert flux.get_grain(one)["label"] == "editor"
        assert flux.list_grains(pinned=False, limit=1)["next_cursor"]
        assert flux.pin_grain(one)["pinned"] is True
        assert flux.unpin_grain(one)["pinned"] is False
        assert flux.archive_grain(one, reason="done with")["status"] == "archived"
        assert flux.restore_grain(one)["status"] == "active"
        assert flux.quarantine_grain(one)["status"] == "quarantined"
        assert flux.release_grain(one)["status"] == "active"
        assert flux.delete_grain(one)["status"] == "pending_deletion"
        assert flux.undelete_grain(one)["status"] == "active"
        assert flux.close_grain(one)["changed"] is True
        assert flux.feedback_batch([{"trace_id": one, "grain_id": one, "useful": True}])["refused"] == 1
        assert flux.pending_feedback()["pending"] == []
        assert flux.list_clusters()["clusters"] == []
        assert flux.me()["agent"] == "alice"
        assert flux.ask_for_grant("transcript.read:x", reason="to look")["state"] == "waiting"
        assert flux.list_grant_requests(state="waiting")["count"] == 1
        assert flux.root()["name"] == "Flux Memory"
        assert flux.ready() == {"ready": True}
        assert "status" in flux.health()
        assert "flux_" in flux.metrics()


def test_a_refusal_is_the_exception_of_its_code(server, make_token):
    server["token"] = make_token("bo", capabilities=EVERYDAY, ceiling="ai_stated")
    with FluxClient(**server) as flux:
        with pytest.raises(errors.Invalid) as blank:
            flux.store(" ")
        assert blank.value.code == "invalid" and blank.value.details["field"] == "content"
        assert blank.value.request_id
        with pytest.raises(errors.NotFound):
            flux.get_grain("no/such?grain")
        with pytest.raises(errors.OriginAboveCeiling):
            flux.store("said by a person", provenance="user_stated")
    with FluxClient(server["url"], "flux_wrong") as stranger, pytest.raises(errors.Unauthenticated):
        stranger.me()


def test_the_same_key_counts_once(server):
    with FluxClient(**server) as flux:
        first = flux.store("said once", idempotency_key="a-key")
        assert flux.store("said once", idempotency_key="a-key") == first
        assert flux.get_grain(first["grain_id"])["corroborations"] == 0
        with pytest.raises(errors.IdempotencyKeyReused):
            flux.store("said otherwise", idempotency_key="a-key")


def test_where_and_who_come_from_the_environment(server, monkeypatch):
    monkeypatch.setenv("FLUX_URL", server["url"] + "/")
    monkeypatch.setenv("FLUX_TOKEN", server["token"])
    with FluxClient() as flux:
        assert flux.me()["space"] == "home"


def test_exact_memory_boards_locks_and_queues(live_server, make_token):
    with FluxClient(live_server.url, make_token(capabilities=(*EVERYDAY, *EXACT))) as flux:
        assert flux.memory_set("alice", "notes/a b", {"any": None})["version"] == 1
        assert flux.memory_get("alice", "notes/a b")["value"] == {"any": None}
        with pytest.raises(errors.Conflict):
            flux.memory_set("alice", "notes/a b", 1, expected_value=None)
        assert flux.memory_set("alice", "new", 1, expected_value=None)["version"] == 1
        assert flux.memory_patch("alice", "notes/a b", {"more": 1})["value"] == {"any": None, "more": 1}
        assert flux.memory_change("alice", "count", "incr", by=2)["value"] == 2
        assert flux.memory_list("alice", "notes/*", values=True)["count"] == 1
        assert flux.memory_history("alice", "notes/a b")["version"] == 2
        assert flux.memory_batch("alice", [{"op": "set", "key": "x", "value": 1}])["count"] == 1
        assert flux.memory_delete("alice", "count", expected_version=1)["deleted"] is True
        assert flux.memory_delete("alice", "notes/a b", history="forget")["forgotten"] == 2
        assert flux.make_board("plans")["made"] is True
        assert flux.board_set("plans", "k", [1])["version"] == 1
        assert flux.watch("boards/plans", wait=0)["position"]
        assert flux.board_delete("plans", "k", history="forget") == {
            "key": "k",
            "deleted": True,
            "version": 1,
            "forgotten": 1,
        }
        lock = flux.acquire_lock("deploy", board="plans", ttl_secs=30)
        assert flux.board_set("plans", "k", [2], fence={"lock": "deploy", "token": lock["token"]})["version"] == 2
        assert flux.release_lock("deploy", lock["token"], board="plans")["lock"] == "deploy"
        task = flux.add_task("work", {"n": 1}, board="plans")["task"]
        claimed = flux.claim_task("work", board="plans")
        assert (claimed["task"], claimed["value"]) == (task, {"n": 1})
        assert flux.finish_task("work", task, claimed["token"], board="plans")["task"] == task
        assert flux.claim_task("work", board="plans")["task"] is None
        assert flux.delete_board("plans") == {"board": "plans", "deleted": True, "keys": 1, "bytes": 6, "tasks": 0}
        assert flux.extract("Anna: I moved to Oslo. Bo: since when?")["status"] == "stored"
