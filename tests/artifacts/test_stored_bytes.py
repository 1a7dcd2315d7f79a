"""What stores count and when they are full: each content once, limits of a policy, and what makes room."""

from __future__ import annotations

import random
from datetime import timedelta
from functools import partial

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.principals import find_space, shell
from fluxcore import clock
from fluxcore.work import worker
from fluxcore.writes import booth, write_locks
from memory.artifacts import contents, jobs, stores, upkeep
from memory.artifacts.models import File, FileChange, Message, Store, StoreUsage
from tests.artifacts import counts
from tests.rest.routes import refused

pytestmark = [pytest.mark.django_db, pytest.mark.storage]


def counted(store="notes"):
    """Bytes of current and of earlier contents, after a comparison of all counts with what is there."""
    counts.check()
    row = Store.objects.get(key=store)
    return row.bytes, row.history_bytes


def kept(api, path, store="notes"):
    found = api.get(f"/stores/{store}/versions/{path}").json()["versions"]
    return [one["version"] for one in found if one["kept"]]


def remove(api, path, store="notes"):
    return api.post(f"/stores/{store}/delete", {"path": path})


@pytest.fixture
def owner(alice):
    return shell(find_space("home"))


def test_unchanged_content_costs_nothing(alice):
    """Renames, copies, restored versions, and the same bytes in another file."""
    alice.write("a", "x" * 50)
    for path, to in (("a", "b"), ("b", "c"), ("c", "d"), ("d", "a")):
        assert alice.post("/stores/notes/move", {"path": path, "to": to}).status_code == 200
        assert counted() == (50, 0)
    alice.post("/stores/notes/move", {"path": "a", "to": "copy", "keep": True})
    alice.write("again", "x" * 50)
    assert counted() == (50, 0)
    alice.write("a", "y" * 30)
    assert counted() == (80, 0), "the copies still have the old content"
    for path in ("copy", "again"):
        remove(alice, path)
    assert counted() == (30, 50)
    version = kept(alice, "a")[1]
    alice.post("/stores/notes/restore/a", {"version": version})
    assert counted() == (50, 30)
    alice.append("a", "z")
    assert counted() == (51, 80)
    remove(alice, "a")
    assert counted() == (0, 131)


def test_unchanged_content_fits_into_a_full_store(alice):
    alice.post("/stores", {"key": "full", "max_bytes": 100_000})
    large = random.Random(1).randbytes(contents.INLINE_BYTES + 1)
    alice.write("a", large, "full")
    assert alice.post("/stores/full/move", {"path": "a", "to": "b"}).status_code == 200
    assert alice.post("/stores/full/move", {"path": "b", "to": "c", "keep": True}).status_code == 200
    assert alice.write("d", large, "full").status_code == 200
    alice.write("b", "small", "full")
    assert alice.post("/stores/full/restore/b", {"version": 1}).status_code == 200
    assert counted("full") == (len(large), len("small"))
    refused(alice.write("e", large + b"x", "full"), 413, "quota")


def test_a_write_counts_with_few_statements(alice):
    """A new file takes none for it, a new version one, however many files and versions have the contents."""
    alice.post("/stores", {"key": "short", "max_versions": 1})
    for store in ("notes", "short"):
        alice.write("old", "0", store)

    def statements(path, text, store="notes"):
        with CaptureQueriesContext(connection) as found:
            assert alice.write(path, text, store).status_code == 200
        return sum("CASE WHEN EXISTS" in one["sql"] for one in found)

    assert statements("new", "n") == 0
    assert statements("old", "1") == 1
    assert statements("same", "n") == 1
    assert statements("old", "2", "short") == 1
    assert statements("old", "3", "short") == 2


def test_max_versions_make_room_below_max_bytes(alice):
    alice.post("/stores", {"key": "small", "max_versions": 1, "max_bytes": 200})
    for number in range(6):
        assert alice.write("a", f"{number}" * 80, "small").status_code == 200
    assert counted("small") == (80, 80) and kept(alice, "a", "small") == [6, 5]
    refused(alice.write("a", "x" * 121, "small"), 413, "quota")
    assert (counted("small"), kept(alice, "a", "small")) == ((80, 80), [6, 5]), "a refused write forgets nothing"
    large = random.Random(2).randbytes(contents.INLINE_BYTES + 1)
    alice.post("/stores", {"key": "large", "max_versions": 1, "max_bytes": 2 * (len(large) + 1) + 7})
    for number in range(4):
        assert alice.write("a", large + bytes([number]), "large").status_code == 200
        assert alice.append("b", "x", "large").status_code == 200


def test_a_full_store_says_what_makes_room(alice, owner):
    """And that is what makes room."""
    alice.post("/stores", {"key": "full", "max_bytes": 100, "max_files": 2})
    for number in range(2):
        alice.write("a", f"{number}" * 50, "full")
    error = alice.write("b", "b" * 50, "full")
    details = refused(error, 413, "quota")
    assert (details["limit"], details["policy"]) == (100, "max_bytes")
    assert "flux_files policy full --max-bytes N" in details["changed_by"]
    message = error.json()["message"]
    assert "max_versions" in message and details["changed_by"] in message
    assert "fixed" not in message and "Delete" not in message.replace("Deleted", "")
    remove(alice, "a", "full")
    refused(alice.write("b", "b" * 50, "full"), 413, "quota")  # as the message says
    stores.change_policy(owner, store="full", max_versions=1)
    worker.drain([jobs.SWEEP])
    assert alice.write("b", "b" * 50, "full").status_code == 200
    # Without versions a deletion makes room at once, and the message says that.
    stores.change_policy(owner, store="full", keep_versions=False)
    worker.drain([jobs.SWEEP])
    alice.write("a", "a" * 50, "full")
    assert "Delete a file first" in alice.write("b", "b" * 60, "full").json()["message"]
    details = refused(alice.write("c", "", "full"), 413, "quota")
    assert (details["policy"], details["limit"]) == ("max_files", 2)
    remove(alice, "a", "full")
    assert alice.write("b", "b" * 60, "full").status_code == 200
    # The owner can allow more, at once.
    refused(alice.write("a", "a" * 60, "full"), 413, "quota")
    stores.change_policy(owner, store="full", max_bytes=120)
    assert alice.write("a", "a" * 60, "full").status_code == 200
    assert counted("full") == (120, 0)


def test_removed_messages_count_until_they_end(alice, configure):
    alice.post("/stores", {"key": "full", "max_bytes": 100})
    message = {"role": "user", "content": "x" * 50}
    assert alice.post("/stores/full/messages", {"messages": [message]}).status_code == 200
    alice.post("/stores/full/messages/clear", {})
    error = alice.post("/stores/full/messages", {"messages": [message]})
    refused(error, 413, "quota")
    assert "removed messages count until they can no longer be restored" in error.json()["message"]
    configure(STORE_UNDELETE_DAYS=1)
    Message.objects.update(removed_at=clock.now() - timedelta(days=2))
    upkeep.sweep(None)
    assert alice.post("/stores/full/messages", {"messages": [message]}).status_code == 200


@pytest.mark.parametrize(
    ("policy", "left"), [({"max_versions": 1}, [5, 4]), ({"keep_versions": False}, [5])], ids=["fewer", "none"]
)
def test_a_changed_policy_prunes_what_is_there(alice, owner, policy, left, monkeypatch):
    monkeypatch.setattr(upkeep, "BATCH", 2)
    for path in ("a", "b"):
        for number in range(5):
            alice.write(path, f"{path} {number}")
    stores.change_policy(owner, store="notes", **policy)
    assert kept(alice, "a") == [5, 4, 3, 2, 1], "not inside the call"
    worker.drain([jobs.SWEEP])
    assert kept(alice, "a") == kept(alice, "b") == left
    assert counted() == (6, 6 * (len(left) - 1))
    assert refused(alice.file("a", version=1), 410, "gone")
    assert alice.file("a").content == b"a 4"


def test_a_sweep_writes_nothing_where_nothing_is_to_be_pruned(alice):
    alice.post("/stores", {"key": "short", "max_versions": 1, "retention_days": 5})
    for number in range(4):
        alice.write("a", f"{number}", "short")
    with CaptureQueriesContext(connection) as found:
        upkeep.sweep(None)
    assert not [one["sql"] for one in found if one["sql"].startswith(("UPDATE", "INSERT"))]


def test_retention_counts_from_the_replacement(alice):
    """A version that was the file's content for long can be restored for as long as one that was not."""
    alice.post("/stores", {"key": "short", "retention_days": 30})
    for text in ("one", "two", "three"):
        alice.write("a", text, "short")
    days = {1: 100, 2: 40, 3: 10}
    for version, age in days.items():
        FileChange.objects.filter(version=version).update(at=clock.now() - timedelta(days=age))
    upkeep.sweep(None)
    assert kept(alice, "a", "short") == [3, 2], "version 2 was replaced ten days ago"
    alice.write("a", "by mistake", "short")
    upkeep.sweep(None)
    assert alice.post("/stores/short/restore/a", {"version": 3}).status_code == 200
    assert alice.file("a", "short").content == b"three"
    FileChange.objects.filter(version=3).update(at=clock.now() - timedelta(days=31))
    upkeep.sweep(None)
    assert refused(alice.file("a", "short", version=2), 410, "gone")
    assert counted("short") == (5, 10)


def test_a_space_gets_its_bytes_back_when_stores_end(alice, configure):
    """A deleted store counts in its space until it can no longer be restored."""
    configure(MAX_STORE_BYTES_PER_SPACE=100, MAX_FILE_BYTES=1000)
    alice.post("/stores", {"key": "other"})
    alice.write("a", "x" * 60)
    alice.delete("/stores/notes")
    error = alice.write("a", "y" * 60, "other")
    details = refused(error, 413, "quota")
    assert (details["limit"], details["raised_by"]) == (100, "MAX_STORE_BYTES_PER_SPACE")
    assert "deleted ones count until they can no longer be restored" in error.json()["message"]
    upkeep.sweep(None)
    refused(alice.write("a", "y" * 60, "other"), 413, "quota")
    configure(MAX_STORE_BYTES_PER_SPACE=100, MAX_FILE_BYTES=1000, STORE_UNDELETE_DAYS=1)
    Store.objects.filter(key="notes").update(deleted_at=clock.now() - timedelta(days=2))
    upkeep.sweep(None)
    assert StoreUsage.objects.get().bytes == 0
    assert alice.write("a", "y" * 60, "other").status_code == 200
    assert counted("other") == (60, 0)


def test_what_can_be_restored_ends_with_its_window(alice, configure):
    configure(STORE_UNDELETE_DAYS=3)
    alice.write("a", "x")
    alice.delete("/stores/notes")
    deleted = Store.objects.filter(key="notes")
    deleted.update(deleted_at=clock.now() - timedelta(days=2, hours=23))
    upkeep.sweep(None)
    assert alice.post("/stores/notes/undelete", {}).json()["files"] == 1
    alice.delete("/stores/notes")
    deleted.update(deleted_at=clock.now() - timedelta(days=3, hours=1))
    upkeep.sweep(None)
    refused(alice.post("/stores/notes/undelete", {}), 404, "not_found")
    assert alice.get("/stores", deleted="true").json()["stores"] == [] and not File.objects.exists()


def test_a_store_that_is_being_emptied_cannot_be_restored(alice, configure, monkeypatch):
    """Otherwise it would come back with a part of its versions."""
    configure(STORE_UNDELETE_DAYS=0)
    monkeypatch.setattr(upkeep, "BATCH", 2)
    for number in range(5):
        alice.write("a", f"{number}")
    alice.delete("/stores/notes")
    store = Store.objects.get()
    booth.write(partial(upkeep._empty, store), lock=write_locks.lock_name(store.space_id))
    assert FileChange.objects.count() == 3
    for ref in ("notes", store.uuid):
        refused(alice.post(f"/stores/{ref}/undelete", {}), 404, "not_found")
    assert alice.get("/stores", deleted="true").json()["stores"] == []
    upkeep.sweep(None)
    assert not Store.objects.exists() and StoreUsage.objects.get().bytes == 0
