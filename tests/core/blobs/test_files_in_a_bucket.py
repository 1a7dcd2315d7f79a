"""Files of stores whose contents are in a bucket: the same bytes, ranges and versions as in the data home."""

from __future__ import annotations

import random

import pytest

from fluxcore import blobs
from memory.artifacts import contents
from tests.artifacts.conftest import FILES, Stores

pytestmark = [pytest.mark.django_db, pytest.mark.either_database]


def body(answer):
    return b"".join(answer) if answer.streaming else answer.content


def test_large_files_live_in_the_bucket(bucket, make_token, configure):
    configure(BLOBS_URL=bucket)
    api = Stores(make_token(capabilities=FILES))
    api.post("/stores", {"key": "notes"})
    first, second = (random.Random(seed).randbytes(contents.INLINE_BYTES + seed) for seed in (1, 2))
    sha = api.write("a.bin", first).json()["sha"]
    assert api.write("a.bin", second).json()["version"] == 2
    assert api.append("a.bin", b"end").json()["version"] == 3
    assert body(api.file("a.bin")) == second + b"end"
    assert body(api.file("a.bin", version=1)) == first
    part = api.get("/stores/notes/files/a.bin", headers={"Range": "bytes=10-19"})
    assert (part.status_code, body(part)) == (206, second[10:20])
    assert blobs.of_instance().size(sha) == len(first)
    configure(BLOBS_URL="s3://absent/x")
    lost = api.write("b.bin", random.Random(3).randbytes(contents.INLINE_BYTES + 3))
    assert (lost.status_code, lost.json()["code"]) == (503, "storage_unavailable")
    assert api.paths() == ["a.bin"], "nothing half-written is visible"
