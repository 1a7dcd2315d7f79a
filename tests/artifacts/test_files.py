"""Files of stores over REST: bytes, versions, expectations, and what is refused."""

from __future__ import annotations

import hashlib

import pytest

from accounts.calls import handler
from accounts.models import AuditEntry
from accounts.tokens import authenticate
from flux.calls import files as calls
from fluxcore import blobs
from memory.api import file_answers
from memory.artifacts.models import Content, File, FileChange
from tests.rest.routes import refused

pytestmark = [pytest.mark.django_db, pytest.mark.storage]


def sha(content):
    return hashlib.sha256(content if isinstance(content, bytes) else content.encode()).hexdigest()


def test_bytes_come_back_as_they_were_sent(alice):
    for content in (b"", b"a\r\nb", "жук\n".encode(), bytes(range(256)), b"x" * 70_000, b"\xff\xfe\0"):
        written = alice.write("any/file.bin", content)
        assert written.status_code == 200, written.content
        assert written.json()["sha"] == sha(content) and written.headers["ETag"] == f'"{sha(content)}"'
        read = alice.file("any/file.bin")
        assert (b"".join(read) if read.streaming else read.content) == content
        assert read.headers["ETag"] == f'"{sha(content)}"'
        assert read.headers["Flux-Version"] == str(written.json()["version"])


def test_a_page_that_somebody_stored_is_never_shown_as_a_page_of_the_server(alice):
    alice.write("page.html", "<script>alert(1)</script>", content_type="text/html")
    read = alice.file("page.html")
    assert read.headers["Content-Type"] == "text/html"
    assert read.headers["Content-Disposition"].startswith("attachment")
    assert "sandbox" in read.headers["Content-Security-Policy"]
    assert read.headers["X-Content-Type-Options"] == "nosniff"


def test_of_two_writers_with_the_same_expectation_one_wins_and_nothing_vanishes(alice):
    first = alice.write("plan.md", "one").json()
    assert alice.write("plan.md", "two", expected_sha=first["sha"]).json()["version"] == 2
    lost = alice.write("plan.md", "three", expected_sha=first["sha"])
    details = refused(lost, 409, "conflict")
    assert details["current_sha"] == sha("two") and details["expected_sha"] == first["sha"]
    assert details["path"] == "plan.md" and details["current_version"] == 2
    assert alice.file("plan.md").content == b"two"
    assert alice.file("plan.md", version=1).content == b"one"


def test_expectations_in_headers_and_in_the_address(alice):
    assert alice.write("a", "1", expected_sha="").json()["created"]
    assert refused(alice.write("a", "2", expected_sha=""), 409, "conflict")["current_version"] == 1
    assert refused(alice.write("a", "2", headers={"If-None-Match": "*"}), 409, "conflict")
    assert alice.write("b", "2", headers={"If-None-Match": "*"}).json()["created"]
    assert alice.write("a", "2", headers={"If-Match": f'"{sha("1")}"'}).json()["version"] == 2
    assert refused(alice.write("a", "3", headers={"If-Match": '"v2"'}), 422, "invalid")["field"] == "If-Match"
    assert refused(alice.write("a", "3", expected_sha="12"), 422, "invalid")["field"] == "expected_sha"
    both = alice.write("a", "3", expected_sha=sha("2"), headers={"If-Match": f'"{sha("2")}"'})
    assert refused(both, 422, "invalid")["field"] == "If-Match"
    assert refused(alice.write("new", "x", expected_sha=sha("1")), 409, "conflict")["current_sha"] == ""


def test_a_write_of_the_same_bytes_makes_no_version_and_costs_no_bytes(alice):
    alice.write("a.txt", "same")
    again = alice.write("a.txt", "same").json()
    assert (again["changed"], again["version"], again["created"]) == (False, 1, False)
    assert FileChange.objects.filter(version__gt=0).count() == 1
    assert [event["outcome"] for event in alice.tail()] == ["done", "noop"]
    alice.write("b.txt", "same")
    assert Content.objects.values_list("uses", flat=True).get() == 2
    facts = alice.get("/stores/notes").json()
    assert (facts["files"], facts["bytes"], facts["history_bytes"]) == (2, 4, 0)


def test_versions_are_listed_read_compared_and_restored(alice):
    for text in ("# Plan\nfirst\n", "# Plan\nsecond\n", "# Plan\nthird\n"):
        alice.write("plan.md", text, reason="because", actor="planner")
    listed = alice.get("/stores/notes/versions/plan.md").json()
    assert [one["version"] for one in listed["versions"]] == [3, 2, 1]
    assert {one["op"] for one in listed["versions"]} == {"create", "update"}
    assert listed["versions"][0]["reason"] == "because" and listed["versions"][0]["actor"] == "planner"
    assert listed["versions"][0]["by"] == "agent:alice"
    diff = alice.get("/stores/notes/diff/plan.md").json()
    assert (diff["old"], diff["new"]) == (2, 3)
    assert "-second\n+third\n" in diff["diff"] and "changes" not in diff
    whole = alice.get("/stores/notes/diff/plan.md", old=1, new=3).json()
    assert "-first\n+third\n" in whole["diff"]
    restored = alice.post("/stores/notes/restore/plan.md", {"version": 1}).json()
    assert (restored["version"], restored["sha"]) == (4, sha("# Plan\nfirst\n"))
    assert alice.file("plan.md").content == b"# Plan\nfirst\n"
    assert Content.objects.get(sha=sha("# Plan\nfirst\n")).uses == 2
    assert refused(alice.post("/stores/notes/restore/plan.md", {"version": 9}), 404, "not_found")


def test_versions_of_json_are_compared_value_by_value(alice):
    alice.write("a.json", '{"a": 1, "b": [1, 2], "c/d": null, "same": 1.0}')
    alice.write("a.json", '{"a": 1.0, "b": [1], "e": true, "same": 1.0}')
    changes = alice.get("/stores/notes/diff/a.json").json()["changes"]
    assert {(change["op"], change["at"]) for change in changes} == {
        ("changed", "/a"),
        ("removed", "/b/1"),
        ("removed", "/c~1d"),
        ("added", "/e"),
    }


def test_a_deleted_file_is_gone_and_comes_back_with_its_versions(alice):
    alice.write("a", "one")
    assert alice.delete("/stores/notes/files/a").json() == {"deleted": ["a"], "count": 1}
    assert refused(alice.file("a"), 404, "not_found")
    assert alice.paths() == []
    assert alice.delete("/stores/notes/files/a").json() == {"deleted": [], "count": 0}
    assert [one["op"] for one in alice.get("/stores/notes/versions/a").json()["versions"]] == ["delete", "create"]
    assert alice.post("/stores/notes/restore/a", {"version": 1}).json()["version"] == 3
    assert alice.file("a").content == b"one"
    # A version is never used twice: whoever still expects the deleted file's successor is refused.
    assert File.objects.get().version == 3


def test_deletion_takes_an_expectation(alice):
    alice.write("a", "one")
    assert refused(alice.delete(f"/stores/notes/files/a?expected_sha={sha('two')}"), 409, "conflict")
    assert alice.delete(f"/stores/notes/files/a?expected_sha={sha('one')}").json()["count"] == 1


def test_append_adds_and_loses_nothing(alice):
    for line in ("one\n", "two\n"):
        alice.append("log.txt", line)
    assert alice.file("log.txt").content == b"one\ntwo\n"
    big = b"x" * 100_000
    assert alice.append("log.txt", big).json()["bytes"] == 100_008
    assert b"".join(alice.file("log.txt")) == b"one\ntwo\n" + big
    assert alice.append("log.txt", "end").json()["version"] == 4
    assert alice.append("log.txt", "").json()["changed"] is False


def test_rename_and_copy_keep_bytes_and_refuse_to_overwrite(alice):
    alice.write("a.md", "text")
    alice.write("taken.md", "other")
    refusal = alice.post("/stores/notes/move", {"path": "a.md", "to": "taken.md"})
    assert refused(refusal, 409, "already_exists")["path"] == "taken.md"
    moved = alice.post("/stores/notes/move", {"path": "a.md", "to": "docs/a.md"}).json()
    assert moved["moved"][0]["sha"] == sha("text")
    assert alice.paths() == ["docs/a.md", "taken.md"]
    alice.post("/stores/notes/move", {"path": "docs/a.md", "to": "copy.md", "keep": True})
    assert alice.file("copy.md").content == alice.file("docs/a.md").content == b"text"
    over = alice.post("/stores/notes/move", {"path": "copy.md", "to": "taken.md", "overwrite": True})
    assert over.status_code == 200 and alice.file("taken.md", version=1).content == b"other"
    assert refused(alice.post("/stores/notes/move", {"path": "none", "to": "x"}), 404, "not_found")


def test_folders_are_moved_and_deleted_whole(alice):
    for path in ("old/a", "old/deep/b", "older", "rest"):
        alice.write(path, path)
    moved = alice.post("/stores/notes/move", {"path": "old", "to": "new", "recursive": True}).json()
    assert [one["path"] for one in moved["moved"]] == ["new/a", "new/deep/b"]
    assert alice.paths() == ["new/a", "new/deep/b", "older", "rest"]
    into_itself = alice.post("/stores/notes/move", {"path": "new", "to": "new/x", "recursive": True})
    assert refused(into_itself, 422, "invalid")["field"] == "to"
    assert alice.post("/stores/notes/delete", {"path": "new"}).json()["deleted"] == ["new/a", "new/deep/b"]
    assert alice.paths() == ["older", "rest"]


def test_refused_writes_leave_nothing_in_blob_storage(alice, configure):
    """A blob that no file has stays for a day, so that refused bodies could fill the disk."""
    alice.post("/stores", {"key": "small", "max_bytes": 50_000, "read_only_prefixes": ["rules"]})
    alice.write("log", "begin", "small")
    stored = {blob.name for blob in blobs.of_instance()}
    for number, send in enumerate((alice.write, alice.append)):
        large = (b"%d" % number) * 100_000
        assert refused(send("log", large, "small"), 413, "quota")
        assert refused(send("rules/x", large, "small"), 403, "read_only")
        assert refused(send("log", large, "small", expected_sha="0" * 64), 409, "conflict")
        assert refused(send("log", large, "none"), 404, "not_found")
        assert refused(send("meta/x", large, "small"), 403, "reserved_path")
        assert refused(send("log", large, provenance="nobody"), 422, "invalid")
        configure(MAX_STORE_BYTES_PER_SPACE=50_000)
        assert refused(send("log", large), 413, "quota")["raised_by"] == "MAX_STORE_BYTES_PER_SPACE"
        configure(MAX_STORE_BYTES_PER_SPACE=10**9, MAX_FILE_WRITES_PER_MINUTE=3)
        assert refused(send("log", large), 429, "rate_limited")
        configure(MAX_FILE_WRITES_PER_MINUTE=3_000)
    assert {blob.name for blob in blobs.of_instance()} == stored
    assert not list(file_answers.folder().glob(".*")), "nor in the folder of bodies"
    # What replaces earlier bytes takes their room.
    configure(MAX_STORE_BYTES_PER_SPACE=300_000)
    for policy in ({"keep_versions": False, "max_bytes": 150_000}, {"max_versions": 1}):
        store = alice.post("/stores", {"key": str(policy), **policy}).json()["store"]
        for number in range(4):
            assert alice.write("a", bytes([number]) * 80_000, store).status_code == 200
        alice.delete(f"/stores/{store}/files/a")


def test_each_file_of_a_folder_counts_as_a_write(alice, configure):
    for number in range(4):
        alice.write(f"old/{number}", "x")
    configure(MAX_FILE_WRITES_PER_MINUTE=8)  # five are used: the store and four files
    moved = alice.post("/stores/notes/move", {"path": "old", "to": "new", "recursive": True})
    assert refused(moved, 429, "rate_limited")["limit"] == 8
    assert refused(alice.post("/stores/notes/delete", {"path": "old"}), 429, "rate_limited")
    assert alice.paths() == [f"old/{number}" for number in range(4)]
    configure(MAX_FILE_WRITES_PER_MINUTE=9)
    assert alice.post("/stores/notes/delete", {"path": "old"}).json()["count"] == 4


def test_a_large_file_counts_for_each_of_its_megabytes(alice, configure):
    """Replaced blobs stay on the disk for a day, whatever the policy of the store."""
    large = b"x" * 5_000_000
    configure(MAX_FILE_WRITES_PER_MINUTE=7)  # the store is one, the file five
    assert alice.write("a", large).status_code == 200
    for send in (alice.write, alice.append):
        assert refused(send("a", b"y" * 3_000_000), 429, "rate_limited")
    assert refused(alice.append("a", "z"), 429, "rate_limited"), "all of it is stored again"
    assert alice.write("b", "z").status_code == 200
    configure(MAX_FILE_WRITES_PER_MINUTE=3_000)
    append = handler(calls.AppendFile)
    assert append(authenticate(alice.token), store="notes", path="a", text="end", create=True)["bytes"] == 5_000_003


def test_a_file_is_no_folder_and_a_folder_no_file(alice):
    alice.write("notes/today", "x")
    assert refused(alice.write("notes", "x"), 409, "already_exists")
    assert refused(alice.write("notes/today/more", "x"), 409, "already_exists")["path"] == "notes/today"
    alice.delete("/stores/notes/files/notes/today")
    assert alice.write("notes", "x").json()["created"]


def test_read_only_prefixes_protect_by_segment_and_in_any_case(with_stores):
    owner, other = with_stores(), None
    owner.post("/stores", {"key": "team", "read_only_prefixes": ["memory", "rules/a.md"]})
    for path in ("memory", "memory/a", "Memory/a", "MEMORY/deep/b", "rules/a.md"):
        details = refused(owner.write(path, "x", "team"), 403, "read_only")
        assert details["path"] == path, other
    for path in ("memory_notes", "notes/memory", "rules/b.md"):
        assert owner.write(path, "x", "team").status_code == 200, path
    assert refused(owner.post("/stores/team/move", {"path": "rules/b.md", "to": "memory/b"}), 403, "read_only")
    assert refused(owner.post("/stores/team/delete", {"path": "memory"}), 404, "not_found")
    assert {event["outcome"] for event in owner.tail("team")} == {"done", "read_only"}


def test_names_a_store_keeps_for_itself_are_refused(alice):
    for path in (
        "messages.json",
        "Messages.JSON",
        "audit",
        "AUDIT/log.jsonl",
        "meta/x",
        "versions",
        "\uff4deta/x",
        "m\u0435ta/x",
    ):
        assert refused(alice.write(path, "x"), 403, "reserved_path")["path"] == path, path
    for path in ("u/audit/x", "u/messages.json", "auditor", "metadata/x"):
        assert alice.write(path, "x").status_code == 200, path


def test_refusals_stand_in_the_log_of_the_store(alice):
    alice.write("a", "one", actor="writer", reason="first")
    alice.write("a", "two", expected_sha=sha("zero"), actor="late")
    alice.write("audit/x", "x")
    events = alice.tail()
    assert [(event["op"], event["outcome"]) for event in events] == [
        ("create", "done"),
        ("write", "conflict"),
        ("write", "reserved_path"),
    ]
    first = events[0]
    assert (first["actor"], first["reason"], first["principal"]) == ("writer", "first", "agent:alice")
    assert first["old_sha"] == "" and first["new_sha"] == sha("one")
    assert first["version_file"].startswith("versions/a/") and first["version_file"].endswith(f"_{sha('one')}.txt")
    assert events[1]["actor"] == "late"


def test_each_write_stands_in_the_audit_chain(alice):
    alice.write("a", "one", reason="to count")
    entry = AuditEntry.objects.get(action="files.put")
    assert (entry.object, entry.reason, entry.outcome) == ("stores/notes/a", "to count", "done")


def test_the_same_idempotency_key_writes_once(alice):
    key = {"Idempotency-Key": "k1"}
    first = alice.append("log", "line\n", headers=key)
    assert alice.append("log", "line\n", headers=key).json() == first.json()
    assert alice.file("log").content == b"line\n"
    assert refused(alice.append("log", "other\n", headers=key), 409, "idempotency_key_reused")


def test_ranges(alice):
    alice.write("a", "0123456789")

    def part(header):
        return alice.get("/stores/notes/files/a", headers={"Range": header})

    assert (part("bytes=2-4").status_code, part("bytes=2-4").content) == (206, b"234")
    assert part("bytes=2-4").headers["Content-Range"] == "bytes 2-4/10"
    assert part("bytes=-3").content == b"789"
    assert part("bytes=8-").content == b"89"
    beyond = part("bytes=10-")
    assert refused(beyond, 416, "range_not_satisfiable")["size"] == 10
    assert beyond.headers["Content-Range"] == "bytes */10"
    assert alice.get("/stores/notes/files/a", headers={"If-None-Match": f'"{sha("0123456789")}"'}).status_code == 304


def test_listing_in_order_by_folder_and_in_pages(alice):
    paths = ["a", "b/1", "b/2", "b/c/3", "b0", "z"]
    for path in paths:
        alice.write(path, path)
    assert alice.paths() == paths
    assert alice.paths(prefix="b") == ["b/1", "b/2", "b/c/3"]
    assert alice.paths(prefix="b/") == ["b/1", "b/2", "b/c/3"]
    assert alice.paths(prefix="b/2") == ["b/2"]
    level = alice.get("/stores/notes/files", recursive="false").json()
    assert ([file["path"] for file in level["files"]], level["folders"]) == (["a", "b0", "z"], ["b"])
    below = alice.get("/stores/notes/files", recursive="false", prefix="b").json()
    assert ([file["path"] for file in below["files"]], below["folders"]) == (["b/1", "b/2"], ["b/c"])
    for recursive in ("true", "false"):
        found, cursor = [], None
        while True:
            query = {"limit": 1, "recursive": recursive, **({"cursor": cursor} if cursor else {})}
            page = alice.get("/stores/notes/files", **query).json()
            found += [file["path"] for file in page["files"]] + page["folders"]
            cursor = page["next_cursor"]
            if cursor is None:
                break
        assert found == (paths if recursive == "true" else ["a", "b", "b0", "z"])


def test_provenance_is_never_above_the_writer(with_stores):
    high = with_stores(ceiling="user_stated")
    high.post("/stores", {"key": "notes"})
    high.write("a", "stated", provenance="user_stated")
    low = with_stores("artifacts.read", "artifacts.write", name="low", ceiling="external_source")
    assert refused(low.write("b", "x", provenance="user_stated"), 403, "origin_above_ceiling")
    low.append("a", " more")
    low.post("/stores/notes/move", {"path": "a", "to": "c", "keep": True})
    facts = {path: low.get(f"/stores/notes/meta/{path}").json()["provenance"] for path in ("a", "c")}
    assert facts == {"a": "external_source", "c": "external_source"}
