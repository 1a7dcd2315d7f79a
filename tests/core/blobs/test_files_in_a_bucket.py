"""Files of stores whose contents are in a bucket: the same bytes, ranges and versions as in the data home."""

from __future__ import annotations

import random
from datetime import timedelta

import fsspec
import pytest
import time_machine

from fluxcore import blobs, clock
from memory.api import file_answers
from memory.artifacts import contents, upkeep
from tests.artifacts.conftest import FILES, Stores

pytestmark = [pytest.mark.django_db, pytest.mark.either_database]


@pytest.fixture
def alice(make_token):
    """An agent with one store, `notes`."""
    made = Stores(make_token(capabilities=FILES))
    made.post("/stores", {"key": "notes"})
    return made


def body(answer):
    return b"".join(answer) if answer.streaming else answer.content


def test_large_files_live_in_the_bucket(alice, bucket, configure):
    configure(BLOBS_URL=bucket)
    first, second = (random.Random(seed).randbytes(contents.INLINE_BYTES + seed) for seed in (1, 2))
    sha = alice.write("a.bin", first).json()["sha"]
    assert alice.write("a.bin", second).json()["version"] == 2
    assert alice.append("a.bin", b"end").json()["version"] == 3
    assert body(alice.file("a.bin")) == second + b"end"
    assert body(alice.file("a.bin", version=1)) == first
    part = alice.get("/stores/notes/files/a.bin", headers={"Range": "bytes=10-19"})
    assert (part.status_code, body(part)) == (206, second[10:20])
    assert blobs.of_instance().size(sha) == len(first)
    assert alice.get("/stores/notes/files/a.bin", headers={"Range": f"bytes={len(second) + 3}-"}).status_code == 416
    configure(BLOBS_URL="s3://absent/x")
    content = random.Random(3).randbytes(contents.INLINE_BYTES + 3)
    for lost in (
        alice.write("b.bin", content),
        alice.write("a.bin", content),
        alice.append("a.bin", "x"),
        alice.file("a.bin"),
        alice.get("/stores/notes/files/a.bin", headers={"Range": "bytes=10-19"}),
    ):
        assert (lost.status_code, lost.json()["code"]) == (503, "storage_unavailable"), lost.content
    assert alice.write("small.txt", "in the database").status_code == 200
    assert alice.paths() == ["a.bin", "small.txt"], "nothing half-written is visible"
    assert alice.get("/stores/notes/meta/a.bin").json()["version"] == 3
    facts = alice.get("/stores/notes").json()
    assert facts["bytes"] + facts["history_bytes"] == len(first) + 2 * len(second) + 3 + len("in the database")
    assert not list(file_answers.folder().glob(".*")), "bodies and copies are removed"


def test_blobs_that_no_file_needs_are_removed_from_the_bucket(alice, bucket, configure):
    configure(BLOBS_URL=bucket)
    alice.post("/stores", {"key": "newest", "keep_versions": False})
    kept, gone = (random.Random(seed).randbytes(contents.INLINE_BYTES + seed) for seed in (1, 2))
    for content in (gone, kept):
        alice.write("a.bin", content, "newest")
    alice.write("same.bin", kept)
    upkeep.collect_blobs(None)
    assert len(list(blobs.of_instance())) == 2, "what was just stored stays"
    with time_machine.travel(clock.now() + blobs.GRACE + timedelta(minutes=1)):
        upkeep.collect_blobs(None)
    assert [blob.size for blob in blobs.of_instance()] == [len(kept)]
    assert body(alice.file("a.bin", "newest")) == body(alice.file("same.bin")) == kept


def test_blobs_that_are_copied_to_another_place_are_found_there(alice, bucket, configure):
    """As `docs/operations.md` says: copy the folder without `incoming`, then set BLOBS_URL."""
    content = random.Random(4).randbytes(contents.INLINE_BYTES + 4)
    sha = alice.write("a.bin", content).json()["sha"]
    folder, name = blobs.of_instance().path(sha).parents[2], blobs.name_of(sha)
    configure(BLOBS_URL=bucket)
    assert alice.file("a.bin").status_code == 503, "not before they are there"
    fsspec.filesystem("s3").put_file(str(folder / name), f"{bucket}/{name}")
    assert body(alice.file("a.bin")) == content
    assert alice.append("a.bin", "more").json()["version"] == 2
