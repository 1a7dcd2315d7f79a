"""Blobs: bytes under their digest, complete or absent, in every kind of backend."""

from __future__ import annotations

import hashlib
import os
import signal
import stat
import subprocess
import sys
import tracemalloc
from datetime import timedelta

import pytest
import time_machine

from fluxcore import blobs, clock
from fluxcore.blob_backends import FolderBackend, FsspecBackend
from fluxcore.errors import BadConfiguration, Invalid, NotFound, StorageUnavailable, TooLarge
from tests.instances import ROOT

MEGABYTE = 1024 * 1024


def sha(content):
    return hashlib.sha256(content).hexdigest()


def stored(store):
    return sorted((blob.name, blob.size) for blob in store)


def test_a_stored_blob_is_read_listed_and_deleted(store):
    content = b"one" * 100_000
    blob = store.put([content[:7], b"", content[7:]])
    assert blob == (sha(content), len(content))
    assert b"".join(store.read(blob.digest)) == content
    assert store.size(blob.digest) == len(content)
    assert stored(store) == [blob]
    store.delete(blob.digest)
    store.delete(blob.digest)
    assert (store.size(blob.digest), stored(store)) == (None, [])
    with pytest.raises(NotFound):
        store.read(blob.digest)


def test_an_empty_blob_can_be_stored(store):
    blob = store.put([])
    assert blob == (sha(b""), 0)
    assert list(store.read(blob.digest)) == []
    assert store.size(blob.digest) == 0


def test_equal_bytes_are_stored_once(store):
    assert store.put([b"same"]) == store.put([b"sa", b"me"])
    assert len(stored(store)) == 1


def test_any_part_can_be_read(store):
    content = b"0123456789"
    digest = store.put([content]).digest
    for start, stop in [(0, 0), (0, 1), (0, 5), (3, 9), (9, 10), (10, 10), (10, 99), (99, 100), (4, None), (0, None)]:
        assert b"".join(store.read(digest, start, stop)) == content[start:stop], (start, stop)


def test_content_that_does_not_match_its_announced_digest_is_refused(store):
    with pytest.raises(Invalid) as refusal:
        store.put([b"another"], digest=sha(b"one"))
    assert sha(b"another") in refusal.value.message
    assert stored(store) == []
    assert store.put([b"one"], digest=sha(b"one")).size == 3


def test_content_over_the_maximum_is_refused_as_soon_as_it_exceeds_it(store):
    taken = []

    def chunks():
        for number in range(1000):
            taken.append(number)
            yield b"x" * 100

    with pytest.raises(TooLarge) as refusal:
        store.put(chunks(), most=250)
    assert refusal.value.details["limit"] == 250
    assert len(taken) == 3
    assert stored(store) == []
    assert store.put([b"x" * 250], most=250).size == 250


def test_a_sender_that_fails_leaves_nothing(store, tmp_path):
    def chunks():
        yield b"half"
        raise RuntimeError("the line broke")

    with pytest.raises(RuntimeError, match="broke"):
        store.put(chunks())
    assert stored(store) == []
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_a_digest_of_another_shape_is_refused(store):
    for digest in ("", "x", "A" * 64, "0" * 63, "0" * 65, "../" + "0" * 61, "0" * 63 + "\n", "é" * 64):
        for use in (store.size, store.read, store.delete):
            with pytest.raises(Invalid):
                use(digest)


def test_a_blob_of_any_size_passes_through_little_memory(store):
    """48 MB, of which a few blocks of 5 MB are in memory at a time."""
    block = os.urandom(MEGABYTE)
    tracemalloc.start()
    try:
        blob = store.put(bytes([number]) + block[1:] for number in range(48))
        assert sum(len(chunk) for chunk in store.read(blob.digest)) == 48 * MEGABYTE
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    allowed = 30 if str(store.backend).startswith("s3") else 5
    if not str(store.backend).startswith("memory"):  # which is memory
        assert peak < allowed * MEGABYTE


def test_old_blobs_without_a_reference_are_collected(store):
    kept, gone, asked = store.put([b"kept"]), store.put([b"gone"]), []

    def referenced(digests):
        asked.append(sorted(digests))
        return {kept.digest}

    assert store.collect(referenced) == blobs.Collected()
    assert asked == []  # what is young is not even asked about
    with time_machine.travel(clock.now() + blobs.GRACE + timedelta(minutes=1)):
        assert store.collect(referenced) == blobs.Collected(blobs=1, size=4)
    assert asked == [sorted([kept.digest, gone.digest]), [gone.digest]]  # and once more before it is deleted
    assert stored(store) == [kept]
    assert list(store.backend.list("collecting")) == []


def test_a_blob_stored_again_counts_as_new(store):
    blob = store.put([b"again"])
    later = clock.now() + blobs.FRESH + timedelta(minutes=1)
    if isinstance(store.backend, FsspecBackend):
        pytest.skip("their clock is not that of the test")
    with time_machine.travel(later):
        os.utime(store.backend.root / blobs.name_of(blob.digest), (0, 0))
        store.put([b"again"])
        assert store.collect(lambda digests: ()) == blobs.Collected()
    assert stored(store) == [blob]


def test_an_unused_store_is_empty(store):
    assert stored(store) == []
    assert store.collect(lambda digests: ()) == blobs.Collected()


class NotingBackend(FolderBackend):
    """A folder that notes which of its folders are listed: each is a request where the store is a bucket."""

    def __init__(self, root):
        super().__init__(root)
        self.listed = []

    def list(self, folder):
        self.listed.append(folder)
        return super().list(folder)


def test_only_folders_that_are_there_are_listed(tmp_path):
    backend = NotingBackend(tmp_path / "blobs")
    store = blobs.BlobStore(backend, tmp_path / "blobs" / blobs.INCOMING)
    assert (stored(store), backend.listed) == ([], [])
    digests = sorted(store.put([content]).digest for content in (b"one", b"two", b"three"))
    backend.listed.clear()
    assert [name for name, _ in stored(store)] == digests
    assert backend.listed == sorted({digest[:2] for digest in digests})


def test_foreign_files_are_neither_listed_nor_collected(tmp_path):
    store = blobs.store_at("", tmp_path)
    blob = store.put([b"ours"])
    folder = (tmp_path / blobs.name_of(blob.digest)).parent
    for name in ("notes.txt", blob.digest + "~", "0" * 64, blob.digest.upper()):
        (folder / name).write_text("foreign")
    assert stored(store) == [blob]
    with time_machine.travel(clock.now() + 2 * blobs.GRACE):
        store.collect(lambda digests: ())
    assert len(list(folder.iterdir())) == 4


def test_files_and_folders_are_readable_only_by_their_owner(tmp_path):
    store = blobs.store_at("", tmp_path / "blobs")
    store.put([b"private"])
    modes = {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "blobs").rglob("*") if path.is_file()}
    folders = {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "blobs").rglob("*") if path.is_dir()}
    assert (modes, folders) == ({0o600}, {0o700})


def test_damaged_bytes_end_in_an_error(tmp_path):
    store = blobs.store_at("", tmp_path)
    blob = store.put([b"sound" * 1000])
    path = tmp_path / blobs.name_of(blob.digest)
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    with pytest.raises(StorageUnavailable, match="damaged"):
        list(store.read(blob.digest))


def test_a_folder_that_cannot_be_written_is_refused_in_clear_words(tmp_path):
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(StorageUnavailable) as refusal:
        blobs.store_at("", tmp_path / "file").put([b"x"])
    assert refusal.value.status == 503


@pytest.mark.parametrize("url", ["nowhere://x", "hdfs-unknown://y"])
def test_an_address_of_an_unknown_kind_is_refused_in_clear_words(tmp_path, url):
    with pytest.raises(BadConfiguration):
        blobs.store_at(url, tmp_path)


PUTTING = """
import sys, time
from pathlib import Path
from fluxcore import blobs
def chunks():
    yield b"half" * 100_000
    print("staged", flush=True)
    time.sleep(60)
blobs.store_at("", Path(sys.argv[1])).put(chunks())
"""


def test_a_killed_put_is_visible_nowhere_and_its_leftover_is_swept(tmp_path):
    store = blobs.store_at("", tmp_path)
    with subprocess.Popen([sys.executable, "-c", PUTTING, str(tmp_path)], cwd=ROOT, stdout=subprocess.PIPE) as putting:
        assert putting.stdout is not None and putting.stdout.readline() == b"staged\n"
        putting.send_signal(signal.SIGKILL)
    assert stored(store) == []
    (left,) = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert store.collect(lambda digests: ()).leftovers == 0
    os.utime(left, (0, 0))
    assert store.collect(lambda digests: ()).leftovers == 1
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_a_killed_move_is_visible_nowhere_and_its_leftover_is_swept(tmp_path):
    store = blobs.BlobStore(FsspecBackend(f"file://{tmp_path}/moved"), tmp_path / "incoming")
    blob = store.put([b"whole"])
    folder = (tmp_path / "moved" / blobs.name_of(blob.digest)).parent
    left = folder / f"{blob.digest}..blob.0123.part"
    left.write_bytes(b"half")
    assert stored(store) == [blob]
    assert store.remove_leftovers() == 0  # it may still be written to
    with time_machine.travel(clock.now() + blobs.GRACE + timedelta(minutes=1)):
        assert store.remove_leftovers() == 1
    assert (left.exists(), stored(store)) == (False, [blob])


def test_a_move_that_fails_leaves_nothing(tmp_path, monkeypatch):
    place = FsspecBackend(f"file://{tmp_path}/moved")
    store = blobs.BlobStore(place, tmp_path / "incoming")

    def mv(*paths):
        raise PermissionError("no")

    monkeypatch.setattr(place._fs, "mv", mv)
    with pytest.raises(StorageUnavailable):
        store.put([b"x"])
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_remembered_listings_are_dropped_before_each_look(tmp_path, monkeypatch):
    place = FsspecBackend(f"memory://{tmp_path.name}")
    dropped = []
    monkeypatch.setattr(place._fs, "invalidate_cache", lambda path=None: dropped.append(path))
    place.info("a")
    list(place.list("b"))
    assert len(dropped) == 2


@pytest.mark.parametrize("scheme", ["file", "local"])
def test_files_of_a_local_address_are_readable_only_by_their_owner(tmp_path, scheme):
    store = blobs.store_at(f"{scheme}://{tmp_path}/there", tmp_path / "unused")
    path = store.path(store.put([b"private"]).digest)
    assert path is not None and stat.S_IMODE(path.stat().st_mode) == 0o600
    assert not (tmp_path / "unused").exists()


@pytest.mark.parametrize(
    ("error", "told"),
    [(OSError("disk"), True), (TimeoutError(), True), (TypeError("a bug"), False), (KeyError(), False)],
)
def test_a_storage_failure_is_a_503_and_a_programming_error_is_raised_unchanged(tmp_path, monkeypatch, error, told):
    place = FsspecBackend(f"memory://{tmp_path.name}")

    def info(path):
        raise error

    monkeypatch.setattr(place._fs, "info", info)
    with pytest.raises(StorageUnavailable if told else type(error)):
        place.info("a")


def test_blobs_are_stored_in_the_data_folder_or_at_blobs_url(settings, configure):
    assert blobs.of_instance().backend.root == settings.HOME.path / "blobs"
    configure(BLOBS_URL="memory://elsewhere")
    assert str(blobs.of_instance().backend) == "memory://elsewhere"
