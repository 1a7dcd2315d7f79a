"""Blob stores with each kind of backend."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fluxcore import blobs
from fluxcore.blob_backends import FsspecBackend
from tests.servers import S3


@pytest.fixture(scope="session")
def s3() -> Iterator[S3]:
    server = S3()
    yield server
    server.stop()


@pytest.fixture
def bucket(s3: S3, monkeypatch: pytest.MonkeyPatch) -> str:
    """A prefix of its own in the server's bucket; credentials and address as an operator gives them."""
    reach(monkeypatch, s3.address)
    return f"s3://{S3.BUCKET}/{uuid.uuid4().hex}"


def reach(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    import s3fs

    s3fs.S3FileSystem.clear_instance_cache()
    for name, value in {
        "AWS_ENDPOINT_URL": address,
        "AWS_ACCESS_KEY_ID": "tests",
        "AWS_SECRET_ACCESS_KEY": "tests",
        "AWS_DEFAULT_REGION": "us-east-1",
    }.items():
        monkeypatch.setenv(name, value)


@pytest.fixture(params=["folder", "file", "local", "memory", "moved", "s3"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    if request.param == "moved":  # as at any file system of fsspec that is no object store
        place = FsspecBackend(f"file://{tmp_path}/moved")
        assert place.moves
        return blobs.BlobStore(place, tmp_path / "blobs" / blobs.INCOMING)
    url = {
        "folder": lambda: "",
        "file": lambda: f"file://{tmp_path}/elsewhere",
        "local": lambda: f"local://{tmp_path}/elsewhere",
        "memory": lambda: f"memory://{uuid.uuid4().hex}/below",
        "s3": lambda: request.getfixturevalue("bucket"),
    }[request.param]()
    return blobs.store_at(url, tmp_path / "blobs")
