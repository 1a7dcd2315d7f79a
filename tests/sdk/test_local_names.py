"""Names in a local store: temporary ones, long ones, those of other programs, and bookkeeping that is in the way."""

from __future__ import annotations

import json
import os
import unicodedata

import pytest

from flux.memory import MemoryStore, MemoryStoreError
from fluxcore import files
from tests.sdk.memory_messages import sha, user

pytestmark = pytest.mark.storage


@pytest.fixture
def root(tmp_path):
    return tmp_path / "store"


def files_of(folder):
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def test_only_temporary_names_are_hidden_and_refused(root, tmp_path):
    store = MemoryStore(root=root, keep_versions=True)
    own = [".draft.part", ".a.part", "x.0123456789abcdef.part", ".a.0123456789abcde.part", "notes/.b.md.part"]
    for path in own:
        store.write_text(path, path)
    assert store.list_paths() == sorted(own)
    copy = MemoryStore(root=store.save(tmp_path / "copy"))
    assert {path: copy.read_text(path) for path in copy.list_paths()} == {path: path for path in own}
    temporary = files.temporary_path(root / "a.md").name
    for path in (temporary, f"notes/{temporary}", f"{temporary}/a"):
        with pytest.raises(MemoryStoreError, match="temporary"):
            store.write_text(path, "x")
    assert files.is_temporary(files.temporary_path(root / ("ä" * 100)).name)


@pytest.mark.parametrize("path", ["x" * 256, "ä" * 128, "a/" + "x" * 300, "x" * 1024, "/".join(["x" * 200] * 5)])
def test_long_names(root, path):
    """Too long for a folder, though not for a server: there is no such file, and none can be written."""
    store = MemoryStore(root=root, keep_versions=True)
    assert (store.read_text(path, "-"), store.current_sha(path), store.get_meta(path)) == ("-", "", None)
    assert not store.exists(path) and store.list_paths(path) == []
    with pytest.raises(MemoryStoreError, match="too long"):
        store.write_text(path, "x")
    assert files_of(root) == []


@pytest.mark.parametrize(
    ("name", "folder"),
    [("audit", ""), ("meta", ""), ("versions", ""), ("audit", "audit/log.jsonl"), ("meta", "meta/b.md.json")],
)
def test_bookkeeping_that_is_in_the_way(root, name, folder):
    """flyte writes a file of such a name, and no other file afterwards. Here nothing is half-written."""
    store = MemoryStore(root=root, keep_versions=True)
    meta = store.write_text("a.md", "one")
    if folder:
        (root / folder).unlink(missing_ok=True)
        (root / folder).mkdir()
    else:
        (root / name).rename(root / f"old {name}")
        (root / name).write_text("not a folder")
    before = files_of(root)
    with pytest.raises(MemoryStoreError, match=name):
        store.write_text("b.md", "two")
    assert files_of(root) == before and store.read_text("b.md", "-") == "-"
    assert MemoryStore(root=root).current_sha("a.md") == meta.sha256


@pytest.mark.parametrize("broken", ["{}", "{", "[1]", "", '{"path": 1}', "\udcff"])
def test_a_broken_sidecar_is_replaced_by_the_next_write(root, broken):
    store = MemoryStore(root=root)
    store.write_text("a.md", "one")
    sidecar = root / "meta/a.md.json"
    sidecar.write_bytes(broken.encode("utf-8", "surrogateescape"))
    with pytest.raises(MemoryStoreError, match="cannot be read"):
        store.get_meta("a.md")
    store.write_text("a.md", "one", actor="mender")
    assert store.get_meta("a.md").updated_by == "mender", "also a write of the same bytes"
    sidecar.write_bytes(broken.encode("utf-8", "surrogateescape"))
    store.write_text("a.md", "two", actor="next", expected_sha=sha("one"))
    assert store.get_meta("a.md").updated_by == "next"


def test_names_of_other_programs_are_reported_once(root, caplog):
    store = MemoryStore(root=root)
    store.write_text("a.md", "x")
    decomposed = unicodedata.normalize("NFD", "é")
    names = [f"{decomposed}.md", "b\\c", "end ", f"{decomposed} folder/x.md", os.fsdecode(b"\xff.md")]
    for name in names:
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text("x")
    assert store.list_paths() == store.list_paths() == ["a.md"]
    assert [name for name in names if caplog.text.count(repr(name)) != 1] == []
    assert len(caplog.records) == len(names), "messages.json and what a store keeps for itself are not reported"


def test_numbers_that_json_does_not_have(root, caplog):
    """flyte writes them, so that its transcripts have to open. Only a server refuses them."""
    root.mkdir()
    written = [{"role": "tool", "score": float("nan"), "limits": [float("inf"), float("-inf")]}, user("hi")]
    (root / "messages.json").write_text(json.dumps(written))
    store = MemoryStore(root=root)
    assert json.dumps(store.messages) == json.dumps(written) and not caplog.records
    store.append(user("more"))
    store.save()
    assert json.loads((root / "messages.json").read_text())[1:] == [user("hi"), user("more")]
    assert json.dumps(MemoryStore(root=root).messages) == json.dumps([*written, user("more")])


def test_messages_nested_too_deeply_count_as_none(root, caplog):
    root.mkdir()
    (root / "messages.json").write_text('[{"a": ' + "[" * 100_000 + "]" * 100_000 + "}]")
    assert MemoryStore(root=root).messages == [] and "nested too deeply" in caplog.text


def test_the_order_of_fields_is_kept(root):
    """Also of a message that another writer wrote, and of one with the same fields in another order."""
    one, other = MemoryStore(root=root), MemoryStore(root=root)
    one.append({"zeta": 1, "alpha": {"y": 1, "x": 2}, 10: "a", 9: "b"})
    one.save()
    other.append({"role": "user", "content": "later", "a": 1})
    other.save()
    one.append({"b": 1, "a": 2})
    one.save()
    expected = ["zeta", "alpha", "10", "9"], ["role", "content", "a"], ["b", "a"]
    stored = json.loads((root / "messages.json").read_text())
    assert [list(message) for message in stored] == list(map(list, expected))
    assert list(stored[0]["alpha"]) == ["y", "x"]
    assert [list(message) for message in other.messages][:2] == [list(expected[0]), list(expected[1])]


def test_a_folder_that_fails(root):
    (root.parent / "file").write_text("x")
    with pytest.raises(MemoryStoreError, match="folder of the store failed"):
        MemoryStore(root=root.parent / "file")
    with pytest.raises(MemoryStoreError, match="folder of the store failed"):
        MemoryStore(root=root / ("x" * 300))
