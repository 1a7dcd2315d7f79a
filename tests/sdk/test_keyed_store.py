"""MemoryStore with a key, on a real server."""

from __future__ import annotations

import asyncio
import json

import pytest

from flux import paths
from flux.client import FluxClient
from flux.memory import AccessDenied, ConcurrencyError, MemoryStore, MemoryStoreError, keyed
from tests.sdk.memory_messages import said, sha, user


def test_create_open_and_exists(server):
    assert asyncio.run(MemoryStore.exists(key="k")) is False
    store = MemoryStore.create(key="k", keep_versions=True, read_only_prefixes=("memory",))
    assert store.remote_path == "agents/memory-store/v0/home/default/default/k"
    assert store.remote_path == MemoryStore.remote_path_for_key(key="k")
    assert store.root is None and "k" in repr(store)
    assert asyncio.run(MemoryStore.exists(key="k")) is True
    with pytest.raises(MemoryStoreError, match=r"'k' already exists at agents/memory-store"):
        MemoryStore.create(key="k")
    for key in ("", "a/b", "a\\b", "..", ".", "../escape"):
        for use in (MemoryStore.create, MemoryStore.get_or_create, MemoryStore.remote_path_for_key):
            with pytest.raises(MemoryStoreError, match="single path segment"):
                use(key=key)
    with pytest.raises(TypeError):
        MemoryStore.create()
    elsewhere = asyncio.run(MemoryStore.create.aio(key="k", project="p", domain="d"))
    assert elsewhere.remote_path == "agents/memory-store/v0/home/p/d/k"
    assert asyncio.run(MemoryStore.exists(key="k", project="p", domain="d")) is True
    assert asyncio.run(MemoryStore.exists(key="k", project="p")) is False
    assert asyncio.run(MemoryStore.exists(key="k", org="other")) is False
    elsewhere.write_text("a", "1")
    assert MemoryStore(key="k", remote_path=elsewhere.remote_path).read_text("a") == "1"
    assert asyncio.run(MemoryStore.get_or_create.aio(key="k")).list_paths() == []


def test_addresses_as_flyte_computes_them():
    def address(root):
        return MemoryStore.remote_path_for_key(key="k", org="o", project="p", domain="d", storage_root=root)

    tail = "agents/memory-store/v0/o/p/d/k"
    for root, expected in {
        "s3://bucket/w6/o/p/d/rd/run1": f"s3://bucket/{tail}",
        "s3://bucket": f"s3://bucket/{tail}",
        "/tmp/flyte/rd/run1/": f"/tmp/flyte/{tail}",
        "/tmp/rd/flyte/run1": f"/tmp/rd/flyte/run1/{tail}",
        "/tmp/raw_data/action1": f"/tmp/raw_data/{tail}",
        "/tmp/raw_data": f"/tmp/raw_data/{tail}",
        "": tail,
    }.items():
        assert address(root) == expected
    assert paths.joined("s3://b/", "/x/", "", "y") == "s3://b/x/y" and paths.joined("", "") == ""


def test_a_later_opener_only_tightens(server):
    MemoryStore.create(key="k", read_only_prefixes=("memory",), audit=True, keep_versions=True)
    later = MemoryStore.get_or_create(key="k", read_only_prefixes=("plans/",), audit=False, keep_versions=False)
    assert (later.read_only_prefixes, later.audit, later.keep_versions) == (("plans/", "memory"), True, True)
    for path in ("memory/x", "plans/x"):
        with pytest.raises(AccessDenied):
            later.write_text(path, "x")
    MemoryStore.get_or_create(key="k").write_text("plans/x", "x")
    assert later.read_text("plans/x") == "x"
    outcomes = [(event["path"], event["outcome"]) for event in later.audit_tail_sync()]
    assert outcomes == [("memory/x", "read_only"), ("plans/x", "done")]


def test_versions_on_a_server(server):
    MemoryStore.create(key="k", keep_versions=True).write_text("facts/name.txt", "Ada")
    store = MemoryStore.get_or_create(key="k")
    store.write_text("facts/name.txt", "Bo", expected_sha=store.current_sha("facts/name.txt"))
    store.save()
    store.save()
    files = [event["version_file"] for event in store.audit_tail_sync()]
    assert len(set(files)) == 2 and all(file.startswith("versions/facts%2Fname.txt/") for file in files)
    assert store.list_paths() == ["facts/name.txt"]


def test_references(server):
    import pickle

    store = MemoryStore.create(key="k", read_only_prefixes=("memory",), keep_versions=True)
    store.extend([user("1"), user("2")])
    reference = json.loads(json.dumps(store.reference()))
    assert "token" not in str(reference)
    with FluxClient("http://127.0.0.1:1", retries=0) as nowhere:
        pending = MemoryStore.from_reference(reference, client=nowhere)  # no server is asked
        assert said(pending) == ["1", "2"]
    for again in (MemoryStore.from_reference(reference), pickle.loads(pickle.dumps(store))):
        assert (again.key, again.remote_path) == ("k", store.remote_path)
        assert (again.read_only_prefixes, again.audit, again.keep_versions) == (("memory",), True, True)
    store.append(user("3"))
    store.save()
    again.append(user("4"))
    again.save()
    assert said(again) == ["1", "2", "3", "4"]
    with pytest.raises(MemoryStoreError, match="no address"):
        MemoryStore().reference()


def test_tokens_with_fewer_rights(server, make_token):
    MemoryStore.create(key="k").write_text("a/b.txt", "1")
    with FluxClient(token=make_token("reader", capabilities=("artifacts.read",))) as client:
        reader = MemoryStore.get_or_create(key="k", client=client)
        assert reader.read_text("a/b.txt") == "1" and reader.messages == []
        reader.save()
        reader.append(user("x"))
        with pytest.raises(AccessDenied, match=r"transcript\.write"):
            reader.save()
        with pytest.raises(AccessDenied):
            MemoryStore.get_or_create(key="new", client=client)
    with FluxClient(token=make_token("talker", capabilities=("artifacts.write:k/", "transcript.write"))) as client:
        talker = MemoryStore.get_or_create(key="k", client=client)
        with pytest.raises(AccessDenied, match=r"artifacts\.read"):
            talker.read_text("a/b.txt")
        talker.append(user("y"))
        talker.save()
    assert said(MemoryStore.get_or_create(key="k")) == ["y"]


def test_a_token_that_only_writes(server, make_token):
    """What was written is no failure because the token may not read it."""
    MemoryStore.create(key="k").write_text("a.txt", "1", actor="first", reason="start")
    with FluxClient(token=make_token("writer", capabilities=("artifacts.write",))) as client:
        writer = MemoryStore.get_or_create(key="k", client=client)
        metas = [writer.write_text("a.txt", text, actor="second", reason="r") for text in ("1", "2", "2")]
        assert [(meta.path, meta.sha256, meta.bytes) for meta in metas] == [("a.txt", sha(text), 1) for text in "122"]
        assert [(meta.updated_by, meta.reason) for meta in metas] == [("second", "r")] * 3
        created = writer.write_json("new.json", {"a": 1}, expected_sha="")
        with pytest.raises(ConcurrencyError, match="unknown"):
            writer.write_json("new.json", {}, expected_sha="")
        for use in (writer.read_text, writer.get_meta, writer.current_sha, writer.exists):
            with pytest.raises(AccessDenied, match=r"artifacts\.read"):
                use("a.txt")
        assert writer.save().name == "k" and writer.messages == []
    store = MemoryStore.get_or_create(key="k")
    assert store.read_text("a.txt") == "2" and store.current_sha("new.json") == created.sha256
    assert store.write_text("a.txt", "2", actor="third").updated_by == "second", "who may read is told who wrote it"


def test_versions_are_read_by_the_names_in_the_log(server, monkeypatch):
    monkeypatch.setattr(keyed, "PAGE", 2)
    store = MemoryStore.create(key="k", keep_versions=True)
    for number in range(5):
        store.write_text("notes/ä b%41.md", str(number % 3))
    store.write_json("facts.json", {"n": 1})
    events = store.audit_tail_sync(0)
    names = [event["version_file"] for event in events]
    assert [store.read_text(name) for name in names[:5]] == list("01201")
    assert store.read_json(names[5]) == {"n": 1} and asyncio.run(store.read_bytes.aio(names[0])) == b"0"
    wrong = [names[0].replace(sha("0"), sha("9")), names[0].replace("notes%2F", ""), "versions/x"]
    assert [store.read_text(name, "-") for name in wrong] == ["-"] * len(wrong)
    with pytest.raises(MemoryStoreError):
        store.write_text(names[0], "changed")
    store._tree.client.delete_file("k", "notes/ä b%41.md")
    assert store.read_text(names[0]) == "0", "also of a file that was deleted"
    plain = MemoryStore.create(key="plain")
    plain.write_text("a", "1")
    plain.write_text("a", "2")
    first, second = (event["version_file"] for event in plain.audit_tail_sync(0))
    assert (first, plain.read_text(second)) == ("", "2")


def test_the_whole_log(server, monkeypatch):
    monkeypatch.setattr(keyed, "PAGE", 3)
    store = MemoryStore.create(key="k")
    for number in range(8):
        store.write_text("a", str(number), actor=str(number))
    for count in (1, 3, 5, 8, 50, 0, -1):
        assert [event["actor"] for event in store.audit_tail_sync(count)] == list("01234567")[-max(count, 0) :]


def test_a_store_that_was_deleted(server):
    store = MemoryStore.create(key="k")
    store._tree.client.delete_store("k")
    for use in (store.read_text, store.exists, store.current_sha):
        with pytest.raises(MemoryStoreError, match="There is no store"):
            use("a.txt")
    with pytest.raises(MemoryStoreError, match="There is no store"):
        store.read_text(f"versions/a/2026-11-16T12-00-00+00-00_{'0' * 64}.txt")


def test_wrong_uses(server, tmp_path):
    with pytest.raises(MemoryStoreError, match="neither root nor messages"):
        MemoryStore(key="k", root=tmp_path)
    with pytest.raises(MemoryStoreError, match="not the address"):
        MemoryStore(key="k", remote_path="agents/memory-store/v0/o/p/d/other")
    with pytest.raises(MemoryStoreError, match="no other place"):
        MemoryStore(key="k").save(str(tmp_path))
    with pytest.raises(MemoryStoreError, match="not one text"):
        MemoryStore(read_only_prefixes="memory")
    assert MemoryStore(key="k").save(MemoryStore(key="k").remote_path).path.endswith("/k")
