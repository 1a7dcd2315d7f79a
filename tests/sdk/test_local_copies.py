"""Copies of a local store: to folders, to addresses of fsspec, and to a server that speaks S3."""

from __future__ import annotations

import pytest

from flux.memory import Dir, MemoryStore, MemoryStoreError
from tests.core.blobs.conftest import bucket, s3  # noqa: F401
from tests.sdk.memory_messages import said, user

pytestmark = pytest.mark.storage


@pytest.fixture
def root(tmp_path):
    return tmp_path / "deep" / "store"


def files_of(folder):
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def test_copies(root, tmp_path):
    store = MemoryStore(root=root, messages=[user("hi")])
    store.write_text("notes/a", "1")
    store.write_text("b", "2")
    (root / "link").symlink_to(root / "b")
    place = store.save(str(tmp_path / "copy"))
    assert place == Dir(str(tmp_path / "copy")) and place.name == "copy"
    assert files_of(tmp_path / "copy") == [path for path in files_of(root) if path != "link"]
    (tmp_path / "copy" / "somebody.txt").write_text("else's")
    (root / "b").unlink()
    store.write_text("notes/a", "new")
    store.save(tmp_path / "copy")
    copy = MemoryStore(root=place)
    assert copy.list_paths() == ["notes/a", "somebody.txt"], "what is deleted does not come back"
    assert (copy.read_text("notes/a"), said(copy)) == ("new", ["hi"])
    assert store.save(str(root)) == Dir(str(root))
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked" / "notes").symlink_to(tmp_path / "copy")
    with pytest.raises(MemoryStoreError, match="symbolic link"):
        store.save(tmp_path / "linked")
    for folder in (root / "inside", root.parent):
        with pytest.raises(MemoryStoreError, match="contain each other"):
            store.save(str(folder))


def test_copies_to_an_address(root, tmp_path):
    import fsspec

    store = MemoryStore(root=root, messages=[user("hi")])
    store.write_text("notes/a", "1")
    store.write_text("b", "2")
    memory = fsspec.filesystem("memory")
    assert store.save("memory://bucket/copy").path == "memory://bucket/copy"
    (root / "b").unlink()
    store.save("memory://bucket/copy")
    assert sorted(path.removeprefix("/bucket/copy/") for path in memory.find("/bucket/copy")) == [
        "audit/log.jsonl",
        "messages.json",
        "meta/notes%2Fa.json",
        "notes/a",
    ]
    assert memory.cat_file("/bucket/copy/notes/a") == b"1"


def test_a_copy_in_a_bucket(root, bucket):  # noqa: F811
    """A mirror as well: what is gone here goes there, and what somebody else put there stays."""
    import s3fs

    store = MemoryStore(root=root, messages=[user("hi")], keep_versions=True)
    store.write_text("notes/ä b.md", "1")
    store.write_text("gone.md", "2")
    assert store.save(f"{bucket}/copy") == Dir(f"{bucket}/copy")
    system, place = s3fs.S3FileSystem(), f"{bucket.removeprefix('s3://')}/copy"
    system.pipe_file(f"{place}/somebody.txt", b"else's")
    (root / "gone.md").unlink()
    store.write_text("notes/ä b.md", "new")
    store.append(user("more"))
    store.save(Dir(f"{bucket}/copy"))
    system.invalidate_cache()
    found = {path.removeprefix(f"{place}/"): system.cat_file(path) for path in system.find(place)}
    assert found.pop("somebody.txt") == b"else's"
    kept = {path: (root / path).read_bytes() for path in files_of(root) if path != "meta/gone.md.json"}
    assert found == kept


def test_a_folder_as_the_result_of_a_save(root, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    store = MemoryStore(root=root, messages=[user("hi")])
    place = store.save(tmp_path / "copy")
    assert store.save(place) == place and store.save(tmp_path / "copy") == place
    assert said(MemoryStore(root=place)) == ["hi"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy", "deep"]


def test_an_address_of_a_folder_has_the_rules_of_folders(root, tmp_path):
    store = MemoryStore(root=root, messages=[user("hi")])
    store.write_text("a", "1")
    assert store.save(f"file://{root}") == Dir(f"file://{root}"), "it is there already"
    with pytest.raises(MemoryStoreError, match="contain each other"):
        store.save(f"file://{root}/inside")
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked" / "audit").symlink_to(root)
    with pytest.raises(MemoryStoreError, match="symbolic link"):
        store.save(f"file://{tmp_path}/linked")
    store.save(f"file://{tmp_path}/copy")
    assert files_of(tmp_path / "copy") == files_of(root)


def test_destinations_that_fail(root, tmp_path, monkeypatch):
    import s3fs

    s3fs.S3FileSystem.clear_instance_cache()
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    store = MemoryStore(root=root, messages=[user("hi")])
    for address, says in {"nowhere://x/y": "Protocol not known", "s3://bucket/copy": "credentials"}.items():
        with pytest.raises(MemoryStoreError, match=f"cannot be copied to {address}: .*{says}.*Check the address"):
            store.save(address)
    (tmp_path / "file").write_text("x")
    for folder in (tmp_path / "file", tmp_path / "file" / "below", tmp_path / ("x" * 300)):
        with pytest.raises(MemoryStoreError, match="failed"):
            store.save(folder)
    assert said(MemoryStore(root=root)) == ["hi"]


def test_sidecars_of_others_in_a_destination(root, tmp_path):
    """Facts of a path that no file of ours can have were not written by us: they stay, and so does their file."""
    store = MemoryStore(root=root, messages=[user("hi")])
    store.write_text("a", "1")
    others = ["meta/a%5Cb.json", "meta/%2Fetc%2Fpasswd.json", "meta/..%2F..%2Fout.json", "meta/meta%2Fa.json", "meta/x"]
    (tmp_path / "copy" / "meta").mkdir(parents=True)
    for name in others:
        (tmp_path / "copy" / name).write_text("{}")
    (tmp_path / "copy" / "a\\b").write_text("x")
    store.save(tmp_path / "copy")
    assert files_of(tmp_path / "copy") == sorted([*files_of(root), *others, "a\\b"])
