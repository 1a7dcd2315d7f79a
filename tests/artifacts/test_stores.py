"""Stores: names, policy, deletion with undo, limits and upkeep."""

from __future__ import annotations

import os
import uuid
from datetime import timedelta

import pytest

from accounts import audit
from accounts.calls import handler
from accounts.models import AuditEntry
from accounts.tokens import authenticate
from flux.calls import files
from fluxcore import blobs, clock
from fluxcore.models import Job, JobLine, UptimeClock
from fluxcore.work import worker
from fluxcore.writes import booth
from memory.artifacts import jobs, stores, upkeep
from memory.artifacts.models import Content, File, FileChange, Message, Store, StoreUsage
from tests.rest.routes import refused

pytestmark = [pytest.mark.django_db, pytest.mark.storage]


def test_a_store_is_created_once_and_opened_often(alice):
    made = alice.post("/stores", {"key": "team notes", "org": "acme", "project": "birds", "domain": "dev"}).json()
    assert made["path"] == "agents/memory-store/v0/acme/birds/dev/team notes"
    again = alice.post("/stores", {"key": "team notes", "org": "acme", "project": "birds", "domain": "dev"})
    details = refused(again, 409, "already_exists")
    assert details["store"] == made["store"] and details["path"] == made["path"]
    assert "team notes" in again.json()["message"] and made["path"] in again.json()["message"]
    opened = alice.put("/stores", {"key": "team notes", "org": "acme", "project": "birds", "domain": "dev"}).json()
    assert (opened["created"], opened["store"]) == (False, made["store"])
    assert alice.put("/stores", {"key": "team notes"}).json()["created"]
    found = alice.get("/stores", key="team notes").json()["stores"]
    assert [store["org"] for store in found] == ["acme", "home"]
    # Without coordinates they are the space and twice `default`; a key that is not unique is reached by its id.
    assert alice.get("/stores/team notes").json()["path"] == "agents/memory-store/v0/home/default/default/team notes"
    assert alice.get(f"/stores/{made['store']}").json()["org"] == "acme"


def test_names_that_are_no_names_are_refused(alice):
    for key in ("", ".", "..", "a/b", "a\\b", "a\0b", "a\u202eb", "x" * 256):
        assert alice.post("/stores", {"key": key}).status_code == 422, key
    for name in ("a/b", "..", "-a", "a" * 65, "ü", "a..b"):
        assert refused(alice.post("/stores", {"key": "k", "project": name}), 422, "invalid_path")["field"] == "project"


def test_a_key_is_never_the_id_of_another_store(alice, with_stores):
    """Wherever a store is named, an id comes first."""
    ident = alice.get("/stores/notes").json()["store"]
    for key in (ident, ident.replace("-", "")):
        assert refused(alice.post("/stores", {"key": key}), 422, "invalid_path")["field"] == "key"
        assert alice.get(f"/stores/{key}").json()["key"] == "notes"
    other, third = str(uuid.uuid4()), str(uuid.uuid4())  # as programs name the stores of sessions
    assert alice.post("/stores", {"key": other}).status_code == 200
    assert alice.write("a", "x", other).status_code == 200 and alice.paths(other) == ["a"]
    scoped = with_stores(f"artifacts.write:{third}/**", name="scoped")
    write = handler(files.WriteFile)
    assert write(authenticate(scoped.token), store=third, path="a", text="x", create=True)["created"]


def test_versions_are_kept_as_the_policy_says(alice):
    alice.post("/stores", {"key": "none", "keep_versions": False})
    alice.post("/stores", {"key": "two", "max_versions": 2})
    for store in ("none", "two"):
        for number in range(5):
            alice.write("a", f"{store} {number}", store)
        kept = [one["version"] for one in alice.get(f"/stores/{store}/versions/a").json()["versions"] if one["kept"]]
        assert kept == {"none": [5], "two": [5, 4, 3]}[store]
        facts = alice.get(f"/stores/{store}").json()
        assert facts["history_bytes"] == sum(len(f"{store} {number}") for number in range(5)[5 - len(kept) : -1])
    assert refused(alice.file("a", "none", version=2), 410, "gone")
    assert Content.objects.count() == 4


def test_a_store_without_a_log_keeps_the_audit_chain(alice):
    alice.post("/stores", {"key": "silent", "audit": False})
    alice.write("a", "x", "silent")
    assert alice.tail("silent") == []
    assert AuditEntry.objects.filter(object="stores/silent/a").count() == 1


def test_limits_of_a_store(alice):
    alice.post("/stores", {"key": "small", "max_files": 2, "max_bytes": 10})
    alice.write("a", "12345", "small")
    alice.write("b", "1234", "small")
    assert "2 files" in alice.write("c", "", "small").json()["message"]
    assert refused(alice.write("a", "12", "small"), 413, "quota")["limit"] == 10, "the old version is kept"
    assert refused(alice.post("/stores/small/messages", {"messages": [{"role": "user"}]}), 413, "quota")


def test_limits_of_a_space(alice, configure):
    configure(MAX_STORES_PER_SPACE=2, MAX_STORE_BYTES_PER_SPACE=100, MAX_FILE_BYTES=1000)
    alice.post("/stores", {"key": "second"})
    assert refused(alice.post("/stores", {"key": "third"}), 413, "quota")["raised_by"] == "MAX_STORES_PER_SPACE"
    details = refused(alice.write("a", "x" * 101), 413, "quota")
    assert (details["limit"], details["raised_by"]) == (100, "MAX_STORE_BYTES_PER_SPACE")
    assert Store.objects.get(key="notes").bytes == 0 and not File.objects.exists()


def test_deleted_stores_come_back_whole_or_end(alice, configure):
    alice.write("a", "one")
    alice.write("a", "two")
    alice.post("/stores/notes/messages", {"messages": [{"role": "user", "content": "hi"}]})
    assert alice.delete("/stores/notes").json()["deleted"]
    assert refused(alice.file("a"), 404, "not_found")
    assert [store["key"] for store in alice.get("/stores", deleted="true").json()["stores"]] == ["notes"]
    assert alice.post("/stores", {"key": "notes"}).status_code == 200
    assert refused(alice.post("/stores/notes/undelete", {}), 409, "already_exists")
    alice.delete("/stores/notes")
    first = Store.objects.order_by("id").first()
    assert alice.post(f"/stores/{first.uuid}/undelete", {}).json()["files"] == 1
    assert alice.file("a").content == b"two" and alice.file("a", version=1).content == b"one"
    alice.delete("/stores/notes")
    configure(STORE_UNDELETE_DAYS=0)
    upkeep.sweep(None)
    assert not any(model.objects.exists() for model in (Store, File, FileChange, Message, Content))
    usage = StoreUsage.objects.get()
    assert (usage.stores, usage.bytes) == (0, 0)


def test_agents_delete_only_stores_they_created(alice, with_stores):
    other = with_stores(name="other")
    details = refused(other.delete("/stores/notes"), 403, "forbidden")
    assert details["created_by"] == "agent:alice"


def test_scopes_of_stores_with_coordinates_of_their_own(with_stores):
    """The organisation is left empty in the scope of a store whose organisation is the space."""
    targets = ("mine", "//p/dev/mine", "/acme/p/dev/mine")
    scopes = [f"artifacts.{right}:{target}/**" for right in ("read", "write") for target in targets]
    api = with_stores(*scopes)
    for coordinates in ({}, {"project": "p", "domain": "dev"}, {"org": "acme", "project": "p", "domain": "dev"}):
        made = api.post("/stores", {"key": "mine", **coordinates})
        assert made.status_code == 200, made.content
        store = made.json()["store"]
        assert api.write("a", "x", store).status_code == 200 and api.paths(store) == ["a"]
        assert api.delete(f"/stores/{store}").json()["deleted"]
        assert api.post(f"/stores/{store}/undelete", {}).json()["files"] == 1, "by its id, with rights on it alone"
    other = api.post("/stores", {"key": "mine", "project": "q"})
    assert refused(other, 403, "forbidden")["missing"] == "artifacts.write://q/default/mine/"


def test_lists_of_many_stores(alice, with_stores, monkeypatch, django_assert_max_num_queries):
    """Nobody's list ends before all stores were looked at, and its statements do not grow with it."""
    for number in range(6):
        alice.post("/stores", {"key": f"s{number}"})
    scoped = with_stores("artifacts.read:s5/**", name="scoped")
    monkeypatch.setattr(stores, "_MAX_SCANNED", 3)
    found, cursor, pages = [], None, 0
    while pages == 0 or cursor is not None:
        page = scoped.get("/stores", **({"cursor": cursor} if cursor else {})).json()
        found += [store["key"] for store in page["stores"]]
        cursor, pages = page["next_cursor"], pages + 1
    assert (found, pages) == (["s5"], 3)
    monkeypatch.setattr(stores, "_MAX_SCANNED", 100)
    with django_assert_max_num_queries(8):
        assert alice.get("/stores").json()["count"] == 7


def test_retention_forgets_old_versions_and_never_the_current_one(alice):
    alice.post("/stores", {"key": "short", "retention_days": 1})
    for text in ("one", "two", "three"):
        alice.write("a", text, "short")
    FileChange.objects.update(at=clock.now() - timedelta(days=2))
    upkeep.sweep(None)
    assert alice.file("a", "short").content == b"three"
    assert refused(alice.file("a", "short", version=1), 410, "gone")
    assert alice.get("/stores/short").json()["history_bytes"] == 0
    assert Content.objects.count() == 1


def test_a_clock_in_doubt_deletes_nothing(alice, configure):
    """Neither what can no longer be restored nor blobs, until the instance has run for a while with that clock."""
    large = b"x" * 100_000
    blob = alice.write("a", large).json()["sha"]
    alice.delete("/stores/notes")
    old = (clock.now() - timedelta(days=3)).timestamp()
    os.utime(blobs.of_instance().path(blob), (old, old))
    configure(STORE_UNDELETE_DAYS=0)
    jumped = UptimeClock.objects.create(pk=1, at=clock.now() - timedelta(days=900), lived=10.0)
    for job in (jobs.ask_to_sweep, jobs.ask_to_collect):
        booth.write(job)
    worker.drain([jobs.SWEEP, jobs.COLLECT])
    assert [job.state for job in Job.objects.filter(kind__startswith="artifacts.")] == ["done"] * 2
    assert [line.text for line in JobLine.objects.all()] == ["The clock is in doubt. Nothing was deleted."] * 2
    assert alice.post("/stores/notes/undelete", {}).status_code == 200 and b"".join(alice.file("a")) == large
    jumped.delete()
    alice.delete("/stores/notes")
    upkeep.sweep(None)
    upkeep.collect_blobs(None)
    assert not Store.objects.exists() and blob not in [left.name for left in blobs.of_instance()]


def test_ephemeral_stores_are_deleted_when_the_instance_starts(alice):
    alice.post("/stores", {"key": "scratch", "ephemeral": True})
    alice.write("a", "x", "scratch")
    assert upkeep.delete_ephemeral() == 1
    assert [store["key"] for store in alice.get("/stores").json()["stores"]] == ["notes"]
    entry = AuditEntry.objects.get(action="stores.delete")
    assert (entry.actor, entry.object, entry.reason) == ("shell:instance", "stores/scratch", "ephemeral")
    assert entry.chain == Store.objects.get(key="scratch").space.uuid.hex and '"files":1' in entry.details
    assert audit.verify(entry.chain).sound
    assert upkeep.delete_ephemeral() == 0 and AuditEntry.objects.filter(action="stores.delete").count() == 1


def test_stores_of_another_space_do_not_exist(alice, with_stores):
    alice.write("a", "secret")
    uuid = Store.objects.get().uuid
    stranger = with_stores(name="stranger", space="office")
    for store in ("notes", str(uuid)):
        assert refused(stranger.get(f"/stores/{store}"), 404, "not_found")
        assert refused(stranger.file("a", store), 404, "not_found")
        assert refused(stranger.write("a", "x", store), 404, "not_found")
    assert stranger.get("/stores").json()["stores"] == []
    assert stranger.post("/stores", {"key": "notes"}).status_code == 200


def test_a_write_can_create_the_store(alice):
    written = alice.post("/stores/talks/messages", {"messages": [{"role": "user"}], "create": True})
    assert written.json()["seqs"] == [1]
    assert alice.get("/stores/talks").json()["created_by"] == "agent:alice"
    assert refused(alice.post("/stores/none/messages", {"messages": [{"role": "user"}]}), 404, "not_found")
