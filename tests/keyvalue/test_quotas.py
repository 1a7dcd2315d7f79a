"""What counts in a namespace's quota, who may have how many boards, and how boards are deleted."""

from __future__ import annotations

import io
import json
from datetime import timedelta

import pytest
from django.core.management import call_command
from django.db.models import Sum

from accounts.models import AuditEntry, Space
from accounts.principals import shell
from fluxcore import clock
from fluxcore.writes import booth
from memory.keyvalue import boards, expiry, history
from memory.keyvalue.models import Item, Lock, Namespace, Revision, Task
from tests.rest.routes import refused

MINE = "/agents/alice/kv"


def counted(name="alice"):
    """Keys, bytes and history bytes as the namespace counts them, after a look whether the rows agree."""
    row = Namespace.objects.get(name=name)
    live = Item.objects.filter(namespace=row, value__isnull=False)
    kept = Revision.objects.filter(item__namespace=row).aggregate(all=Sum("size"))["all"] or 0
    assert (row.keys, row.bytes, row.history_bytes) == (live.count(), live.aggregate(all=Sum("size"))["all"] or 0, kept)
    return row.keys, row.bytes, row.history_bytes


# History ------------------------------------------------------------------------------------------


def test_history_counts_and_what_goes_gives_its_bytes_back(alice, configure, clocks):
    configure(KV_HISTORY_VERSIONS=2)
    for number in range(5):
        alice.put(f"{MINE}/a", {"value": "x" * (number + 1)})
    assert counted() == (1, 7, 5 + 6 + 7)
    alice.put(f"{MINE}/b", {"value": 1, "ttl_secs": 10})
    alice.delete(f"{MINE}/a")
    assert counted() == (1, 1, 5 + 6 + 7 + 1)
    Revision.objects.filter(size__in=(5, 6)).update(at=clock.now() - timedelta(days=40))
    booth.write(expiry.prune_history)
    assert counted() == (1, 1, 7 + 1)
    clocks.passes(10 + 25 * 3600)
    booth.write(lambda: (expiry.emit_expired(1e12), expiry.destroy(1e12)))
    assert counted() == (0, 0, 7)
    booth.write(lambda: history.remove(Revision.objects.all()))
    assert counted() == (0, 0, 0)


def test_deleted_keys_that_are_forgotten_take_their_history_along(alice, configure):
    alice.put(f"{MINE}/a", {"value": 1})
    alice.delete(f"{MINE}/a")
    configure(KV_TOMBSTONES=0)
    expiry.forget_deleted_keys(None)
    assert counted() == (0, 0, 0)


def test_a_full_namespace_gives_up_its_oldest_versions_and_never_a_value(alice, configure):
    configure(MAX_KV_BYTES=40)
    alice.put(f"{MINE}/a", {"value": "a" * 8})
    for letter in "bcd":
        alice.put(f"{MINE}/b", {"value": letter * 8})
    keys, size, kept = counted()
    assert (keys, size) == (2, 20) and size + kept <= 40
    # The copies of what the keys have now are the last to go.
    assert [one["version"] for one in alice.get("/agents/alice/history/b").json()["versions"]] == [3]
    assert AuditEntry.objects.filter(details__contains='"history_pruned":').exists()
    alice.put(f"{MINE}/c", {"value": "c" * 18})
    assert counted() == (3, 40, 0)
    assert alice.get(f"{MINE}/a").json()["value"] == "a" * 8
    details = refused(alice.put(f"{MINE}/d", {"value": 1}), 413, "quota")
    assert details == {"limit": 40, "what": "bytes", "raised_by": "MAX_KV_BYTES"}
    assert counted() == (3, 40, 0)


def test_a_batch_that_is_refused_prunes_nothing(alice, configure):
    for number in range(3):
        alice.put(f"{MINE}/a", {"value": number})
    before = counted()
    configure(MAX_KV_BYTES=8)
    operations = [{"op": "set", "key": "b", "value": 1}, {"op": "set", "key": "c", "value": "c" * 20}]
    refused(alice.post("/agents/alice/batch", {"operations": operations}), 413, "quota")
    assert counted() == before


def test_many_small_versions_are_pruned_for_one_large_value(alice, configure, monkeypatch):
    monkeypatch.setattr(history, "_PIECE", 3)
    for number in range(8):
        alice.put(f"{MINE}/a{number}", {"value": number})
    configure(MAX_KV_BYTES=30)
    alice.put(f"{MINE}/large", {"value": "l" * 20})
    assert counted() == (9, 30, 0)


# Boards -------------------------------------------------------------------------------------------


def test_one_agent_does_not_use_up_the_boards_of_the_space(alice, bob, configure):
    configure(MAX_BOARDS_PER_AGENT=2, MAX_BOARDS_PER_SPACE=4)
    for name in ("a1", "a2"):
        assert alice.post("/boards", {"board": name}).json()["made"] is True
    answer = alice.post("/boards", {"board": "a3"})
    assert refused(answer, 413, "quota")["raised_by"] == "MAX_BOARDS_PER_AGENT"
    assert "at most 2 boards" in answer.json()["message"] and "MAX_BOARDS_PER_AGENT" in answer.json()["message"]
    assert alice.post("/boards", {"board": "a2"}).json()["made"] is False
    assert bob.post("/boards", {"board": "b1"}).json()["made"] is True
    people = shell(Space.objects.get(name="home"))
    boards.make(people, board="p1")
    assert refused(bob.post("/boards", {"board": "b2"}), 413, "quota")["raised_by"] == "MAX_BOARDS_PER_SPACE"
    assert alice.delete("/boards/a1").json()["deleted"] is True
    assert bob.post("/boards", {"board": "b2"}).json()["made"] is True


def test_a_deleted_board_is_gone_with_all_that_was_on_it(alice, bob):
    alice.post("/boards", {"board": "ops"})
    for value in (1, 2):
        bob.put("/boards/ops/kv/a", {"value": value})
    alice.post("/queues", {"queue": "q", "value": 7, "board": "ops"})
    alice.post("/locks", {"lock": "l", "board": "ops"})
    answer = alice.send("DELETE", "/boards/ops", {"reason": "done with it"}).json()
    assert answer == {"board": "ops", "deleted": True, "keys": 1, "bytes": 3, "tasks": 1}
    assert not Namespace.objects.filter(name="ops").exists()
    assert not any(model.objects.exists() for model in (Item, Revision, Lock, Task))
    entry = AuditEntry.objects.filter(action="boards.delete").get()
    assert (entry.object, entry.outcome, entry.reason) == ("boards/ops", "done", "done with it")
    refused(bob.get("/boards/ops/kv/a"), 404, "not_found")
    refused(alice.delete("/boards/ops"), 404, "not_found")


def test_a_name_is_used_again_and_nothing_of_the_old_board_fits_the_new_one(alice, bob):
    alice.post("/boards", {"board": "ops"})
    for value in (1, 2, 3):
        alice.put("/boards/ops/kv/a", {"value": value})
    old = [alice.post("/locks", {"lock": "l", "board": "ops"}).json()["token"]]
    alice.post("/locks/release", {"lock": "l", "board": "ops", "token": old[0]})
    alice.delete("/boards/ops")
    assert bob.post("/boards", {"board": "ops", "ephemeral": True}).json()["created_by"] == "agent:bob"
    written = bob.put("/boards/ops/kv/a", {"value": "new"}).json()
    assert written["version"] == 4
    refused(alice.put("/boards/ops/kv/a", {"value": 4, "expected_version": 3}), 409, "conflict")
    token = bob.post("/locks", {"lock": "l", "board": "ops"}).json()["token"]
    assert token > old[0]
    refused(alice.put("/boards/ops/kv/a", {"value": 4, "fence": {"lock": "l", "token": old[0]}}), 409, "fenced")


def test_who_may_delete_a_board(alice, bob, with_rights, clocks):
    assert refused(alice.delete("/boards/main"), 422, "invalid")["field"] == "board"
    alice.post("/boards", {"board": "ops"})
    assert refused(bob.delete("/boards/ops"), 403, "forbidden")["created_by"] == "agent:alice"
    assert AuditEntry.objects.filter(action="boards.delete", outcome="refused", actor="agent:bob").count() == 1
    refused(with_rights("bb.write:a/*").delete("/boards/ops"), 403, "forbidden")
    lock = bob.post("/locks", {"lock": "l", "board": "ops", "ttl_secs": 20}).json()
    answer = alice.delete("/boards/ops")
    assert refused(answer, 409, "held")["holder"] == "agent:bob"
    assert answer.headers["Retry-After"] == "20"
    bob.post("/locks/release", {"lock": "l", "board": "ops", "token": lock["token"]})
    bob.post("/queues", {"queue": "q", "value": 1, "board": "ops"})
    bob.post("/queues/claim", {"queue": "q", "board": "ops", "ttl_secs": 20})
    assert "a task" in alice.delete("/boards/ops").json()["message"]
    out = io.StringIO()
    call_command("flux_board", "remove", "ops", "--space", "home", "--json", stdout=out)
    assert json.loads(out.getvalue())["tasks"] == 1
    assert [one["board"] for one in alice.get("/boards").json()["boards"]] == []


def test_an_agent_deletes_what_it_made_after_everybody_elses_claim_has_run_out(alice, bob, clocks):
    alice.post("/boards", {"board": "ops"})
    bob.post("/locks", {"lock": "l", "board": "ops", "ttl_secs": 20})
    clocks.passes(20)
    assert alice.delete("/boards/ops").status_code == 200


# Locks --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/locks", "/locks/renew"])
def test_a_lock_lasts_at_most_a_day(alice, path):
    body = {"lock": "l", "ttl_secs": 86_401} | ({"token": 1} if path.endswith("renew") else {})
    answer = alice.post(path, body)
    assert refused(answer, 422, "invalid") == {"field": "ttl_secs", "limit": 86_400}
    assert answer.json()["message"] == "ttl_secs must be more than 0 and at most 86400 seconds."
    assert alice.post("/locks", {"lock": "l", "ttl_secs": 86_400}).status_code == 200
    assert alice.put("/boards/main/kv/long", {"value": 1, "ttl_secs": 86_401}).status_code == 200


def test_a_value_that_lost_its_history_can_still_be_compared(alice, configure):
    """Compare-and-set looks at the key, not at its history."""
    alice.put(f"{MINE}/a", {"value": 1})
    configure(MAX_KV_BYTES=1)
    assert alice.put(f"{MINE}/a", {"value": 2, "expected_version": 1}).json()["version"] == 2
    refused(alice.get("/agents/alice/history/a", version=1), 404, "not_found")
