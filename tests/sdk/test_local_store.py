"""MemoryStore without a key: a folder in flyte's layout, under the rules of a server's store."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest

from flux.memory import AccessDenied, ConcurrencyError, Dir, MemoryStore, MemoryStoreError
from tests.sdk.memory_messages import said, sha, user


@pytest.fixture
def root(tmp_path):
    return tmp_path / "deep" / "store"


def files_of(folder):
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def test_the_layout_is_flytes(root):
    store = MemoryStore(root=root, messages=[user("hi")], keep_versions=True)
    meta = store.write_text("notes/a b.md", "one", actor="planner", reason="why")
    assert store.save() == Dir(str(root))
    stamp = meta.updated_at.replace(":", "-")
    version = f"versions/notes%2Fa%20b.md/{stamp}_{meta.sha256}.txt"
    assert files_of(root) == sorted(
        ["audit/log.jsonl", "messages.json", "meta/notes%2Fa%20b.md.json", "notes/a b.md", version]
    )
    assert (root / "messages.json").read_text() == json.dumps([user("hi")], indent=2)
    sidecar = json.loads((root / "meta/notes%2Fa%20b.md.json").read_text())
    assert list(sidecar) == ["path", "sha256", "updated_at", "updated_by", "reason", "bytes"]
    (event,) = [json.loads(line) for line in (root / "audit/log.jsonl").read_text().splitlines()]
    assert event == {
        "ts": meta.updated_at,
        "op": "create",
        "path": "notes/a b.md",
        "old_sha": "",
        "new_sha": meta.sha256,
        "actor": "planner",
        "reason": "why",
        "version_file": version,
    }


def test_opened_again(root):
    MemoryStore(root=root, messages=[user("hi")]).save()
    assert said(MemoryStore(root=root)) == ["hi"]
    assert said(MemoryStore(root=root, messages=[user("mine")])) == ["mine"], "given messages win"
    store = MemoryStore(root=root, messages=[user("mine")])
    store.save()
    assert said(MemoryStore(root=root)) == ["mine"]


@pytest.mark.parametrize("broken", ["{", "{}", "[1]", "\xff"])
def test_a_broken_transcript_counts_as_empty(root, broken, caplog):
    root.mkdir(parents=True)
    (root / "messages.json").write_bytes(broken.encode("latin-1"))
    store = MemoryStore(root=root)
    assert store.messages == [] and "not valid" in caplog.text
    store.append(user("new"))
    store.save()
    assert said(MemoryStore(root=root)) == ["new"]


def test_versions(root):
    store = MemoryStore(root=root, keep_versions=True)
    for text in ("1", "2", "1", "1"):  # the third may be in the second of the first
        store.write_text("a/b", text)
    store.write_text("a__b", "other")
    found = sorted((root / "versions/a%2Fb").iterdir())
    assert sorted(path.read_text() for path in found) == ["1", "1", "2"]
    assert all(re.fullmatch(r"[\dT-]+\+00-00_[0-9a-f]{64}(_[0-9a-f]{8})?\.txt", path.name) for path in found)
    assert {event["version_file"] for event in store.audit_tail_sync() if event["path"] == "a/b"} == {
        "",
        *(path.relative_to(root).as_posix() for path in found),
    }
    assert len(list((root / "versions/a__b").iterdir())) == 1
    for event in store.audit_tail_sync():
        if event["version_file"]:
            assert sha(store.read_text(event["version_file"])) == event["new_sha"], "versions are read by their names"
    assert store.read_text(f"versions/a__b/{found[0].name}", "-") == "-"
    plain = MemoryStore(root=root.parent / "plain", audit=False)
    plain.write_text("a", "1")
    assert files_of(plain.root) == ["a", "meta/a.json"]


def test_digests_are_those_of_the_bytes(root):
    store = MemoryStore(root=root)
    store.write_text("a.txt", "1", actor="planner")
    (root / "a.txt").write_text("edited by hand")
    assert store.current_sha("a.txt") == sha("edited by hand")
    meta = store.get_meta("a.txt")
    assert (meta.sha256, meta.bytes, meta.updated_by) == (sha("edited by hand"), 14, "")
    with pytest.raises(ConcurrencyError):
        store.write_text("a.txt", "2", expected_sha=sha("1"))
    store.write_text("a.txt", "2", expected_sha=sha("edited by hand"), actor="next")
    assert store.get_meta("a.txt").updated_by == "next"
    (root / "a.txt").unlink()
    assert store.current_sha("a.txt") == "" and store.get_meta("a.txt") is None
    (root / "by hand.txt").write_text("x")
    assert store.current_sha("by hand.txt") == sha("x") and store.get_meta("by hand.txt") is None
    (root / "meta" / "by%20hand.txt.json").write_text("{}")
    with pytest.raises(MemoryStoreError, match="cannot be read"):
        store.get_meta("by hand.txt")


def test_symbolic_links_are_refused(root, tmp_path):
    store = MemoryStore(root=root, read_only_prefixes=("memory",))
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_text("secret")
    (root / "memory").mkdir()
    (root / "memory" / "x").write_text("protected")
    (root / "file").symlink_to(outside / "secret")
    (root / "folder").symlink_to(outside)
    (root / "inside").symlink_to(root / "memory")
    for path in ("file", "folder/secret", "inside/x"):
        for use in (store.read_text, store.get_meta, store.current_sha, store.exists):
            with pytest.raises(MemoryStoreError, match="outside the memory root"):
                use(path)
        with pytest.raises(MemoryStoreError, match="outside the memory root"):
            store.write_text(path, "changed")
    assert store.list_paths() == ["memory/x"]
    assert (outside / "secret").read_text() == "secret" and (root / "memory" / "x").read_text() == "protected"
    (root / "meta").rmdir() if (root / "meta").exists() else None
    (root / "meta").symlink_to(outside)
    with pytest.raises(MemoryStoreError, match="symbolic link"):
        store.write_text("new", "x")
    assert sorted(path.name for path in outside.iterdir()) == ["secret"]


def test_nothing_half_written(root):
    store = MemoryStore(root=root)
    long = "ä" * 60 + "/" + "b" * 100  # its facts would need a name of 460 bytes
    with pytest.raises(MemoryStoreError, match="too long"):
        store.write_text(long, "x")
    assert files_of(root) == []
    store.write_text("a", "1")
    with (root / "audit/log.jsonl").open("a") as log:
        log.write('{"torn": ')
    (root / ".a.0123456789abcdef.part").write_text("half")
    store.write_text("a", "2")
    assert [event["op"] for event in store.audit_tail_sync()] == ["create", "update"]
    assert store.list_paths() == ["a"]


WRITER = """
import sys
from flux.memory import ConcurrencyError, MemoryStore
store, name = MemoryStore(root=sys.argv[1]), sys.argv[2]
for number in range(8):
    while True:
        old = store.read_text("count") or "0"
        try:
            store.write_text("count", str(int(old) + 1), expected_sha=store.current_sha("count") and
                             __import__("hashlib").sha256(old.encode()).hexdigest())
            break
        except ConcurrencyError:
            pass
    store.append({"role": "user", "content": name})
    store.save()
"""


def test_processes_wait_for_each_other(root):
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(root), name]) for name in ("one", "other")]
    assert [writer.wait(120) for writer in writers] == [0, 0]
    store = MemoryStore(root=root)
    assert store.read_text("count") == "16"
    assert sorted(said(store)) == ["one"] * 8 + ["other"] * 8
    assert len([event for event in store.audit_tail_sync(0) if event["path"] == "count"]) == 16


def test_deserved_refusals_name_what_to_do(root):
    store = MemoryStore(root=root)
    with pytest.raises(AccessDenied, match="Choose another name"):
        store.write_text("meta", "x")
    with pytest.raises(AttributeError, match="opened MemoryStore"):
        MemoryStore.read_text("x")
