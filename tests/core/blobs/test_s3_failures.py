"""S3 server that is down, or fails during an upload: a clear 503, and no incomplete blob is visible."""

from __future__ import annotations

import os
import select
import socket
import threading

import pytest

from fluxcore import blobs
from fluxcore.errors import StorageUnavailable
from tests.core.blobs.conftest import reach
from tests.servers import S3, free_port


class CutLine:
    """Passes bytes on to a server until so many have been sent, then hangs up on everybody."""

    def __init__(self, port: int, most: int) -> None:
        self._target, self._left = port, most
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.address = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                line, _ = self._listening.accept()
            except OSError:
                return
            threading.Thread(target=self._pass_on, args=(line,), daemon=True).start()

    def _pass_on(self, line: socket.socket) -> None:
        with line, socket.create_connection(("127.0.0.1", self._target)) as server:
            while self._left > 0:
                for ready in select.select([line, server], [], [], 1)[0]:
                    data = ready.recv(65536)
                    if not data:
                        return
                    if ready is line:
                        self._left -= len(data)
                    (server if ready is line else line).sendall(data)
        self._listening.close()


def test_a_server_that_is_gone_is_a_clear_503(tmp_path, monkeypatch):
    reach(monkeypatch, f"http://127.0.0.1:{free_port()}")
    store = blobs.store_at("s3://blobs/x", tmp_path)
    uses = [
        lambda: store.put([b"x"]),
        lambda: store.size("0" * 64),
        lambda: store.read("0" * 64),
        lambda: store.delete("0" * 64),
        lambda: list(store),
        lambda: store.collect(lambda digests: ()),
    ]
    for use in uses:
        with pytest.raises(StorageUnavailable) as refusal:
            use()
        assert (refusal.value.status, refusal.value.retry_after) == (503, 2)
        assert "s3://blobs/x" in refusal.value.message
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_a_bucket_that_does_not_exist_is_a_clear_503(s3, tmp_path, monkeypatch):
    reach(monkeypatch, s3.address)
    with pytest.raises(StorageUnavailable):
        blobs.store_at("s3://absent/x", tmp_path).put([b"x"])


@pytest.mark.parametrize("most", [3_000_000, 8_000_000])
def test_an_upload_that_is_cut_off_is_visible_nowhere(s3, bucket, tmp_path, monkeypatch, most):
    """Of 11 MB in parts of 5 MB the first is cut in one case, the second in the other."""
    content = os.urandom(11 * 1024 * 1024)
    reach(monkeypatch, CutLine(s3.port, most).address)
    with pytest.raises(StorageUnavailable):
        blobs.store_at(bucket, tmp_path).put([content])
    reach(monkeypatch, s3.address)
    whole = blobs.store_at(bucket, tmp_path)
    assert list(whole) == []
    blob = whole.put([content])
    assert b"".join(whole.read(blob.digest)) == content


def test_a_download_that_is_cut_off_is_an_error(s3, bucket, tmp_path, monkeypatch):
    content = os.urandom(20 * 1024 * 1024)
    blob = blobs.store_at(bucket, tmp_path).put([content])
    line = CutLine(s3.port, 1 << 40)
    reach(monkeypatch, line.address)
    chunks = blobs.store_at(bucket, tmp_path).read(blob.digest)
    next(chunks)
    line._left = 0
    with pytest.raises(StorageUnavailable):
        list(chunks)


def test_blobs_are_plain_objects_of_the_bucket(s3: S3, bucket, tmp_path):
    blob = blobs.store_at(bucket, tmp_path).put([b"plain"])
    path = bucket.removeprefix("s3://")
    assert s3.ask("GET", f"/{path}/{blobs.name_of(blob.digest)}") == b"plain"
