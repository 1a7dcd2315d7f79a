"""MemoryStore on a real server and in a local folder: what flyte's own tests check, and its weak points mended."""

from __future__ import annotations

import asyncio
import gc
import json
import threading
from pathlib import Path

import pytest

from flux.memory import AccessDenied, ConcurrencyError, MemoryMeta, MemoryStore, MemoryStoreError
from tests.sdk.memory_messages import said, sha, user


@pytest.fixture(params=["keyed", "local"])
def open_store(request, tmp_path):
    """Open one store, again and again: on a server, or in a folder."""
    if request.param == "local":
        return lambda **more: MemoryStore(root=tmp_path / "store", **more)
    request.getfixturevalue("server")
    return lambda **more: MemoryStore.get_or_create(key="notes", **more)


def test_texts_json_and_bytes(open_store):
    store = open_store()
    assert store.list_paths() == [] and store.messages == []
    assert (store.read_text("a.txt"), store.read_text("a.txt", "none")) == ("", "none")
    assert (store.read_json("a.json"), store.read_json("a.json", {})) == (None, {})
    assert store.read_bytes("a.bin", b"?") == b"?"
    meta = store.write_text("notes/ä b%41.md", "one\r\ntwo\n", actor="planner", reason="first")
    assert meta == MemoryMeta("notes/ä b%41.md", sha("one\r\ntwo\n"), meta.updated_at, "planner", "first", 9)
    assert meta.updated_at.endswith("+00:00") and len(meta.updated_at) == 25
    assert store.get_meta("notes/ä b%41.md") == meta
    assert store.read_bytes("notes/ä b%41.md") == b"one\r\ntwo\n", "no line end is translated"
    store.write_json("facts.json", {"b": 1, "a": [Path("x"), None]})
    assert store.read_text("facts.json") == '{\n  "a": [\n    "x",\n    null\n  ],\n  "b": 1\n}'
    assert store.read_json("facts.json") == {"a": ["x", None], "b": 1}
    store.write_bytes("blob.bin", bytes(range(256)))
    assert store.read_bytes("blob.bin") == bytes(range(256))
    with pytest.raises(UnicodeDecodeError):
        store.read_text("blob.bin")
    with pytest.raises(UnicodeEncodeError):
        store.write_text("half.txt", "\ud800")
    store.write_text("blank.json", " \n")
    assert store.read_json("blank.json", 7) == 7
    store.write_text("bad.json", "{")
    with pytest.raises(json.JSONDecodeError):
        store.read_json("bad.json")
    with pytest.raises(IsADirectoryError):
        store.read_text("notes")
    assert store.get_meta("none") is None
    assert open_store().list_paths() == ["bad.json", "blank.json", "blob.bin", "facts.json", "notes/ä b%41.md"]


def test_lists_are_sorted_and_of_folders(open_store):
    store = open_store()
    for path in ("b.txt", "notes/x/2.md", "notes/1.md", "notes2.md"):
        store.write_text(path, path)
    store.append(user("hi"))
    store.save()
    assert store.list_paths() == ["b.txt", "notes/1.md", "notes/x/2.md", "notes2.md"]
    assert store.list_paths("notes") == store.list_paths("notes/") == ["notes/1.md", "notes/x/2.md"]
    assert store.list_paths("not") == store.list_paths("b.txt") == store.list_paths("none") == []
    for internal in ("audit", "meta", "versions", "messages.json", "Audit"):
        assert store.list_paths(internal) == [] and not store.exists(internal)
        nothing = (store.read_text(internal, "-"), store.current_sha(internal), store.get_meta(internal))
        assert nothing == ("-", "", None)
    assert store.exists("notes") and store.exists("notes/x/2.md") and not store.exists("notes/3.md")


def test_paths(open_store):
    store = open_store()
    for path, message in {
        "../x": "traversal",
        "a/../../x": "traversal",
        "/etc/passwd": "must be relative",
        "": "Empty path",
        ".": "Empty path",
        "a\\b": "backslash",
        "a\0b": "not allowed",
        "%2e%2e/x": "traversal",
    }.items():
        for use in (store.read_text, store.exists, store.get_meta, store.current_sha):
            with pytest.raises(MemoryStoreError, match=message):
                use(path)
        with pytest.raises(MemoryStoreError, match=message):
            store.write_text(path, "x")
    with pytest.raises(MemoryStoreError, match="Empty path"):
        store.list_paths(".")
    assert store.write_text("./b//c.txt", "x").path == "b/c.txt"
    assert store.read_text("b/./c.txt/") == "x"
    with pytest.raises(MemoryStoreError, match="is a file"):
        store.write_text("b/c.txt/d", "x")
    with pytest.raises(MemoryStoreError, match="is a folder"):
        store.write_text("b", "x")
    assert store.read_text("b/c.txt/d") == "" and store.list_paths() == ["b/c.txt"]


def test_reserved_names(open_store):
    store = open_store()
    for path in ("messages.json", "audit/x", "meta/x", "versions/x", "audit", "meta", "versions", "Audit/x", "META"):
        with pytest.raises(AccessDenied, match="reserved"):
            store.write_text(path, "x")
    for path in ("u/audit/x", "u/messages.json", "audits/x"):
        store.write_text(path, "x")
    assert store.list_paths() == ["audits/x", "u/audit/x", "u/messages.json"]


def test_read_only_prefixes(open_store):
    store = open_store(read_only_prefixes=("memory/",))
    assert "memory/" in store.read_only_prefixes
    for path in ("memory/x", "memory", "Memory/x"):
        with pytest.raises(AccessDenied, match="read-only"):
            store.write_text(path, "x")
    assert store.write_text("memory_notes.txt", "x").bytes == 1
    assert store.list_paths() == ["memory_notes.txt"]


def test_compare_and_swap(open_store):
    store = open_store()
    assert store.current_sha("a.txt") == ""
    first = store.write_text("a.txt", "1", expected_sha="")
    with pytest.raises(ConcurrencyError) as error:
        store.write_text("a.txt", "2", expected_sha="")
    assert (error.value.path, error.value.expected_sha, error.value.actual_sha) == ("a.txt", "", first.sha256)
    assert isinstance(error.value, MemoryStoreError) and isinstance(error.value, RuntimeError)
    store.write_text("a.txt", "2", expected_sha=first.sha256)
    with pytest.raises(ConcurrencyError) as error:
        store.write_text("a.txt", "3", expected_sha=first.sha256)
    assert all(part in str(error.value) for part in ("a.txt", first.sha256, sha("2")))
    with pytest.raises(ConcurrencyError) as error:
        store.write_json("new.json", 1, expected_sha="0" * 64)
    assert error.value.actual_sha == ""
    assert store.read_text("a.txt") == "2" and not store.exists("new.json")


def test_two_openers_with_one_expected_sha(open_store):
    """One wins, the other gets the actual digest; what else both wrote is there."""
    one, other = open_store(), open_store()
    base = one.write_text("shared.md", "base").sha256
    outcomes = {}

    def write(name, store):
        store.write_text(f"own/{name}.md", name, actor=name)
        try:
            outcomes[name] = store.write_text("shared.md", name, expected_sha=base, actor=name).sha256
        except ConcurrencyError as error:
            outcomes[name] = error

    threads = [threading.Thread(target=write, args=pair) for pair in (("one", one), ("other", other))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    (lost,) = [found for found in outcomes.values() if isinstance(found, ConcurrencyError)]
    (won,) = [found for found in outcomes.values() if isinstance(found, str)]
    assert (lost.expected_sha, lost.actual_sha) == (base, won)
    for store in (one, other, open_store()):
        store.save()
        assert store.list_paths() == ["own/one.md", "own/other.md", "shared.md"]
        assert store.current_sha("shared.md") == won
    done = [event for event in open_store().audit_tail_sync(0) if event.get("outcome", "done") == "done"]
    assert sorted(event["path"] for event in done) == ["own/one.md", "own/other.md", "shared.md", "shared.md"]


def test_the_log(open_store):
    store = open_store()
    store.write_text("a.txt", "1", actor="alice", reason="start")
    store.write_text("a.txt", "2", actor="bob")
    store.write_text("a.txt", "2", actor="carol")
    first, second, same = store.audit_tail_sync()
    assert {"ts", "op", "path", "old_sha", "new_sha", "actor", "reason", "version_file"} <= set(first)
    assert (first["op"], first["actor"], first["reason"], first["old_sha"]) == ("create", "alice", "start", "")
    assert (second["op"], second["actor"], second["old_sha"]) == ("update", "bob", first["new_sha"])
    assert same["old_sha"] == same["new_sha"] == second["new_sha"]
    assert store.get_meta("a.txt").updated_by == "bob", "who wrote the same bytes again changed nothing"
    assert [event["actor"] for event in store.audit_tail_sync(1)] == ["carol"]
    assert asyncio.run(store.audit_tail(2))[0]["actor"] == "bob"


def test_no_log(open_store):
    store = open_store(audit=False)
    store.write_text("a.txt", "1")
    assert store.audit_tail_sync() == []


def test_every_method_without_blocking(open_store):
    async def work():
        store = open_store()
        meta = await store.write_text.aio("a.txt", "1", actor="x")
        assert await store.read_text.aio("a.txt") == "1"
        assert await store.read_json.aio("a.txt") == 1
        assert await store.read_bytes.aio("a.txt") == b"1"
        assert await store.get_meta.aio("a.txt") == meta
        assert await store.current_sha.aio("a.txt") == meta.sha256
        await store.write_json.aio("b.json", [])
        await store.write_bytes.aio("c.bin", b"")
        store.extend([user("1"), user("2")])
        place = await store.flush_messages()
        assert place == await store.save.aio() and place.name == Path(place.path).name
        await asyncio.gather(*(store.write_text.aio(f"many/{n}", str(n)) for n in range(5)))
        return store

    store = asyncio.run(work())
    assert len(store.list_paths("many")) == 5
    assert said(open_store()) == ["1", "2"]
    assert store.read_text.__name__ == "read_text" and "default" in store.read_text.__doc__


def test_the_transcript_is_kept(open_store):
    store = open_store()
    store.append(user("hi"))
    store.extend([{"role": "assistant", "content": "hello", "tool_calls": [{"id": "1"}]}, {"at": Path("x"), 1: 2}])
    messages = store.messages
    store.flush_messages_sync()
    assert store.messages is messages and len(messages) == 3
    again = open_store().messages
    assert again == [*messages[:2], {"at": "x", "1": 2}]
    store.messages.append("not a message")
    with pytest.raises(MemoryStoreError, match="Message 3"):
        store.save()


def test_writers_of_a_transcript_interleave(open_store):
    one, other = open_store(), open_store()
    one.extend([user("1"), user("2")])
    other.append(user("3"))
    one.save()
    other.save()
    assert said(other) == ["1", "2", "3"]
    other.append(user("4"))
    one.append(user("5"))
    other.save()
    one.save()
    other.save()
    assert said(one) == said(other) == said(open_store()) == ["1", "2", "3", "4", "5"]


def test_edits_of_a_transcript(open_store):
    one, other = open_store(), open_store()
    one.extend(user(text) for text in "abcd")
    one.save()
    other.save()
    one.messages.pop()
    del one.messages[0]
    other.append(user("e"))
    other.save()
    one.append(user("f"))
    one.save()
    assert said(one) == ["b", "c", "e", "f"], "removed messages are gone, the other writer's one is not"
    other.save()
    assert said(other) == ["b", "c", "e", "f"]
    one.messages[1]["content"] = "C"
    one.save()
    assert said(open_store()) == said(one) == ["b", "C", "e", "f"]
    one.messages.clear()
    one.save()
    assert open_store().messages == []
    one.extend([user("same"), user("same")])
    one.save()
    assert said(open_store()) == ["same", "same"]
    other.messages = [user("new")]
    other.save()
    assert said(other) == said(open_store()) == ["same", "same", "new"]


def test_temporary_folders_go_with_their_store():
    store = MemoryStore(messages=[user("x")])
    root = store.root
    assert root.is_dir() and root.name.startswith("flux_memory_")
    del store
    gc.collect()
    assert not root.exists()
