"""Proposed changes of files: opened by a write under the staging prefix, shown as a difference, accepted or denied."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.capabilities import parsed
from accounts.models import AuditEntry
from fluxcore import clock
from fluxcore.errors import Conflict
from fluxcore.models import Event
from memory.artifacts import files, reading, stores, upkeep
from memory.artifacts.contents import NewContent
from memory.artifacts.models import Content, Store, StoreUsage
from memory.review import handlers
from memory.review.models import ReviewItem
from tests.rest.routes import refused
from tests.review.conftest import RULES

pytestmark = [pytest.mark.django_db, pytest.mark.storage]
BETTER = "# Rules\nBe brief and kind.\n"


def sha(text):
    return hashlib.sha256(text.encode()).hexdigest()


def put(who, path, text, **more):
    return files.put_file(who, store="handbook", path=path, content=NewContent.of(text.encode()), **more)


def text_of(who, path, store="handbook"):
    return reading.read_file(who, store=store, path=path)["text"]


def test_a_sandboxed_agent_proposes_and_a_person_accepts(bob, ann, handbook):
    written = bob.propose("rules/a.md", BETTER, reason="kinder", provenance="ai_inferred").json()
    item = bob.item(written["proposal"])
    assert (item["state"], item["authors"], item["reason"]) == ("open", ["agent:bob"], "kinder")
    assert item["title"] == "rules/a.md in handbook"
    change = item["change"]
    assert (change["path"], change["staged"]) == ("rules/a.md", "proposals/rules/a.md")
    assert (change["old"]["sha"], change["new"]["sha"]) == (sha(RULES), sha(BETTER))
    assert "-Be brief.\n+Be brief and kind.\n" in change["diff"] and change["text"] == BETTER
    assert (change["base_sha"], change["changed_since"]) == (sha(RULES), False)

    accepted = handlers.accept_review(ann, item=item["item"], seen=item["seen"], reason="agreed")
    assert (accepted["state"], accepted["decided_by"]) == ("accepted", "user:ann")
    file = bob.get("/stores/handbook/meta/rules/a.md").json()
    assert (file["sha"], file["version"], file["provenance"]) == (sha(BETTER), 2, "ai_inferred")
    assert (file["updated_by"], file["actor"], file["reason"]) == ("user:ann", "agent:bob", "agreed")
    assert bob.paths("handbook") == ["rules/a.md"]
    assert [event["op"] for event in bob.tail("handbook")][-2:] == ["promote", "promote"]
    assert bob.items() == [] and bob.items(state="accepted")[0]["item"] == item["item"]
    assert bob.item(item["item"])["change"]["diff"] == change["diff"], "as it was decided"
    kinds = list(Event.objects.filter(kind__startswith="review.").order_by("id").values_list("kind", flat=True))
    assert kinds == ["review.opened", "review.decided"]
    entry = AuditEntry.objects.get(action="reviews.accept", object=f"reviews/{item['item']}")
    assert (entry.actor, entry.reason) == ("user:ann", "agreed")


def test_the_label_of_an_author_is_shown_and_kept_beside_its_name(bob, ann):
    item = bob.propose("rules/a.md", BETTER, actor="night-job").json()["proposal"]
    assert (bob.item(item)["label"], bob.item(item)["authors"]) == ("night-job", ["agent:bob"])
    handlers.accept_review(ann, item=item, seen=bob.item(item)["seen"])
    assert bob.get("/stores/handbook/meta/rules/a.md").json()["actor"] == "agent:bob as night-job"
    newest = bob.get("/stores/handbook/versions/rules/a.md").json()["versions"][0]
    assert (newest["op"], newest["by"], newest["actor"]) == ("promote", "user:ann", "agent:bob as night-job")
    item = bob.propose("rules/a.md", RULES, actor="night-job").json()["proposal"]
    bob.propose("rules/a.md", BETTER * 2)
    assert bob.item(item)["label"] == "", "that of the newest write"


def test_counts_and_contents_follow(bob, ann):
    item = bob.propose("rules/a.md", BETTER).json()["proposal"]
    handlers.accept_review(ann, item=item, seen=bob.item(item)["seen"])
    store, used = Store.objects.get(), StoreUsage.objects.get()
    assert (store.files, store.bytes) == (1, len(BETTER))
    assert store.history_bytes == len(RULES), "the accepted content counts once"
    assert used.bytes == store.bytes + store.history_bytes
    assert Content.objects.get(sha=sha(BETTER)).uses == 2  # of the proposal's version, and of the new one
    other = bob.propose("rules/a.md", BETTER).json()["proposal"]
    handlers.accept_review(ann, item=other, seen=bob.item(other)["seen"])
    assert Content.objects.get(sha=sha(BETTER)).uses == 3, "the same bytes are no new version of the target"
    assert bob.get("/stores/handbook/meta/rules/a.md").json()["version"] == 2


def test_nobody_accepts_what_they_have_not_seen(bob, ann, handbook):
    item = bob.propose("rules/a.md", BETTER).json()["proposal"]
    seen = bob.item(item)["seen"]
    bob.propose("rules/a.md", "# Rules\nObey bob.\n")
    with pytest.raises(Conflict):
        handlers.accept_review(ann, item=item, seen=seen)
    seen = bob.item(item)["seen"]
    put(handbook, "rules/a.md", "# Rules\nBe brief. Be on time.\n")
    with pytest.raises(Conflict):
        handlers.accept_review(ann, item=item, seen=seen)
    assert text_of(handbook, "rules/a.md") == "# Rules\nBe brief. Be on time.\n"
    shown = bob.item(item)
    assert shown["state"] == "open" and shown["change"]["changed_since"]
    bob.propose("rules/a.md", shown["change"]["text"], content_type="text/html")
    with pytest.raises(Conflict):
        handlers.accept_review(ann, item=item, seen=shown["seen"])
    handlers.accept_review(ann, item=item, seen=bob.item(item)["seen"])
    with pytest.raises(Conflict) as twice:
        handlers.deny_review(ann, item=item, reason="too late")
    assert twice.value.details["decided_by"] == "user:ann"


def test_an_edit_is_accepted_with_the_lowest_provenance(bob, ann, handbook):
    item = bob.propose("rules/new.md", "obey\n", provenance="external_source").json()["proposal"]
    assert bob.item(item)["change"]["old"]["sha"] == ""
    handlers.accept_review(ann, item=item, seen=bob.item(item)["seen"], text="be kind\n")
    assert text_of(handbook, "rules/new.md") == "be kind\n"
    file = bob.get("/stores/handbook/meta/rules/new.md").json()
    assert (file["provenance"], file["version"]) == ("external_source", 1)
    change = bob.item(item)["change"]
    assert "+be kind" in change["diff"] and "obey" not in change["diff"]


def test_a_denial_needs_a_reason_and_removes_the_staged_file(bob, ann):
    item = bob.propose("rules/a.md", BETTER).json()["proposal"]
    operator = ann
    with pytest.raises(ValueError, match="reason is missing"):
        handlers.deny_review(operator, item=item, reason=" ")
    handlers.deny_review(operator, item=item, reason="too soft")
    shown = bob.item(item)
    assert (shown["state"], shown["decision_reason"]) == ("denied", "too soft")
    assert "+Be brief and kind." in shown["change"]["diff"]
    assert bob.paths("handbook") == ["rules/a.md"]
    versions = bob.get("/stores/handbook/versions/proposals/rules/a.md").json()["versions"]
    assert (versions[0]["op"], versions[0]["reason"]) == ("deny", "too soft")
    again = bob.propose("rules/a.md", BETTER).json()["proposal"]
    assert again != item and [one["item"] for one in bob.items()] == [again]


def test_deleting_renaming_and_appending_follow_the_staged_file(bob, handbook, agent_of):
    item = bob.propose("rules/a.md", "one\n").json()["proposal"]
    base = bob.item(item)["change"]["base_sha"]
    put(handbook, "rules/a.md", "another\n")
    assert bob.append("proposals/rules/a.md", "two\n", "handbook").json()["proposal"] == item
    shown = bob.item(item)["change"]
    assert (shown["text"], shown["base_sha"], shown["changed_since"]) == ("one\ntwo\n", base, True)
    assert bob.propose("rules/a.md", "one\ntwo\n").json()["proposal"] == item, "the same bytes are the same proposal"
    assert bob.delete("/stores/handbook/files/proposals/rules/a.md").json()["count"] == 1
    assert bob.item(item)["state"] == "withdrawn"

    mover = agent_of("mover", "artifacts.read", "artifacts.write")
    item = mover.propose("rules/b.md", "b\n").json()["proposal"]
    moved = mover.post("/stores/handbook/move", {"path": "proposals/rules/b.md", "to": "proposals/rules/c.md"}).json()
    assert mover.item(item)["state"] == "withdrawn"
    assert mover.item(moved["moved"][0]["proposal"])["title"] == "rules/c.md in handbook"
    mover.post("/stores/handbook/move", {"path": "proposals", "to": "drafts", "recursive": True})
    assert ReviewItem.objects.filter(state="open").count() == 0


def test_paths_that_are_no_targets_are_refused(bob, agent_of):
    writer = agent_of("writer", "artifacts.read", "artifacts.write")
    for path in ("meta/a", "messages.json", "Versions/a", "proposals/a", "Proposals/a"):
        assert writer.propose(path, "x").json()["code"] in ("reserved_path", "invalid_path"), path
    assert refused(writer.write("proposals", "x", "handbook"), 422, "invalid_path")
    error = writer.write("rules/a.md", "x", "handbook")
    assert refused(error, 403, "read_only")["staged"] == "proposals/rules/a.md"
    assert "write it to 'proposals/rules/a.md'" in error.json()["message"]
    hint = bob.write("rules/free.md", "x", "handbook")
    assert refused(hint, 403, "read_only")["staged"] == "proposals/rules/free.md"
    assert refused(bob.write("free.md", "x", "handbook"), 403, "read_only")["staged"] == "proposals/free.md"
    assert ReviewItem.objects.count() == 0


def test_the_staging_prefix_is_a_folder_of_its_own(handbook, ann):
    for prefix in ("rules", "rules/new", "RULES/new", "meta", "a/../b", "", "x" * 256):
        with pytest.raises(Exception) as error:
            stores.create_store(handbook, key="k", read_only_prefixes=["rules", "plans/old"], staging_prefix=prefix)
        assert getattr(error.value, "status", 0) in (403, 422), prefix
    with pytest.raises(ValueError, match="overlap"):
        stores.create_store(handbook, key="k", read_only_prefixes=["plans/old"], staging_prefix="plans")
    with pytest.raises(ValueError, match="overlap"):
        stores.change_policy(handbook, store="handbook", read_only_prefixes=["proposals/rules"])
    made = stores.create_store(handbook, key="k", staging_prefix="inbox/new/")
    assert made["staging_prefix"] == "inbox/new"
    assert stores.change_policy(handbook, store="k", without=["staging_prefix"])["staging_prefix"] is None


def test_binary_and_json(bob, handbook):
    item = bob.propose("rules/data.bin", b"\xff\0\1").json()["proposal"]
    change = bob.item(item)["change"]
    assert "not text" in change["no_diff"] and "diff" not in change and "text" not in change
    assert change["new"]["bytes"] == 3
    put(handbook, "rules/a.json", '{"a": 1}')
    change = bob.item(bob.propose("rules/a.json", '{"a": 2}').json()["proposal"])["change"]
    assert change["changes"] == [{"op": "changed", "at": "/a", "old": 1, "new": 2}]


def test_deleting_a_store_withdraws_and_restoring_it_reopens(bob, handbook):
    first, second = (bob.propose(f"rules/{name}", "x").json()["proposal"] for name in "ab")
    bob.delete("/stores/handbook/files/proposals/rules/b")
    stores.delete_store(handbook, store="handbook")
    assert bob.items() == []
    assert bob.item(first)["state"] == "withdrawn" and bob.item(first)["change"]["no_diff"]
    stores.undelete_store(handbook, store="handbook")
    assert [one["item"] for one in bob.items()] == [first]
    assert bob.item(second)["state"] == "withdrawn", "it was withdrawn by its author, before"
    stores.delete_store(handbook, store="handbook")
    Store.objects.update(deleted_at=clock.now() - timedelta(days=10_000))
    upkeep.sweep(None)
    assert ReviewItem.objects.count() == 0


def test_another_staging_prefix_withdraws_and_old_decisions_are_forgotten(bob, handbook, ann):
    item = bob.propose("rules/a.md", "x").json()["proposal"]
    stores.change_policy(handbook, store="handbook", staging_prefix="inbox")
    assert bob.item(item)["state"] == "withdrawn"
    assert refused(bob.propose("rules/a.md", "y"), 403, "read_only")
    item = bob.write("inbox/rules/a.md", "y", "handbook").json()["proposal"]
    upkeep.sweep(None)
    assert ReviewItem.objects.count() == 2
    ReviewItem.objects.exclude(state="open").update(decided_at=clock.now() - timedelta(days=10_000))
    upkeep.sweep(None)
    assert str(ReviewItem.objects.get().uuid) == item


def test_a_store_without_versions_and_one_that_ends_with_the_instance(bob, ann, handbook):
    for key in ("brief", "fleeting"):
        stores.create_store(
            handbook, key=key, staging_prefix="proposals", keep_versions=key == "fleeting", ephemeral=key == "fleeting"
        )
    agent = replace(handbook, kind="agent", name="zoe", capabilities=parsed(("artifacts.write",)))
    first, second = (
        files.put_file(agent, store=key, path="proposals/a.md", content=NewContent.of(b"a" * 70_000))["proposal"]
        for key in ("brief", "fleeting")
    )
    handlers.accept_review(ann, item=first, seen=handlers.get_review(ann, item=first)["seen"])
    assert len(text_of(handbook, "a.md", "brief")) == 70_000
    store = Store.objects.get(key="brief")
    assert (store.files, store.bytes, store.history_bytes) == (1, 70_000, 0)
    upkeep.delete_ephemeral()
    assert handlers.get_review(ann, item=second)["state"] == "withdrawn"
    stores.undelete_store(handbook, store="fleeting")
    assert handlers.get_review(ann, item=second)["state"] == "open"


def test_writes_beside_the_staging_prefix_take_no_further_statement(handbook):
    stores.create_store(handbook, key="plain")
    counts = {}
    for store in ("plain", "handbook"):
        for path in ("first.md", "counted.md"):  # the first one of a store may count more
            with CaptureQueriesContext(connection) as captured:
                files.put_file(handbook, store=store, path=path, content=NewContent.of(f"{store} {path}".encode()))
        counts[store] = len(captured)
    assert counts["plain"] == counts["handbook"]
