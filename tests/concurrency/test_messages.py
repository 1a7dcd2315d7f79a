"""Celery's messages as files: each whole, each to one reader, and nothing in the folder stops a worker."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from queue import Empty
from typing import Any

import pytest
from kombu import Connection

from fluxsite import file_broker
from tests.instances import ROOT

WRITERS, EACH = 3, 400
_WRITE = """
import sys
from kombu import Connection
from fluxsite import file_broker
channel = Connection("flux-files://", transport_options={"folder": sys.argv[1]}).channel()
for number in range(int(sys.argv[3])):
    channel._put("flux", {"number": f"{sys.argv[2]}-{number}", "text": "x" * 5000})
"""


def channel(folder: Path) -> Any:
    return Connection(f"{file_broker.SCHEME}://", transport_options={"folder": str(folder)}).channel()


def test_every_message_reaches_one_reader_whole(tmp_path: Path) -> None:
    writers = [
        subprocess.Popen([sys.executable, "-c", _WRITE, str(tmp_path), str(number), str(EACH)], cwd=ROOT)
        for number in range(WRITERS)
    ]
    got: list[str] = []

    def read() -> None:
        own, until = channel(tmp_path), time.monotonic() + 60
        while len(got) < WRITERS * EACH and time.monotonic() < until:
            try:
                message = own._get("flux")
            except Empty:
                time.sleep(0.001)
                continue
            assert len(message["text"]) == 5000
            got.append(message["number"])

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join()
    assert [writer.wait() for writer in writers] == [0] * WRITERS
    assert Counter(got) == {f"{writer}-{number}": 1 for writer in range(WRITERS) for number in range(EACH)}
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", b"[" * 100_000, b"null"])
def test_an_unreadable_message_is_dropped_and_the_next_is_read(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "0-broken.flux").write_bytes(content)
    own = channel(tmp_path)
    own._put("flux", {"number": 1})
    assert own._get("flux") == {"number": 1}
    with pytest.raises(Empty):
        own._get("flux")


def test_other_queues_and_half_written_files_are_left_alone(tmp_path: Path) -> None:
    own = channel(tmp_path)
    own._put("other", {"number": 1})
    (tmp_path / ".1-half.flux").write_bytes(b"{")
    assert (own._size("flux"), own._size("other")) == (0, 1)
    with pytest.raises(Empty):
        own._get("flux")
    assert own._purge("other") == 1
    assert [path.name for path in tmp_path.iterdir()] == [".1-half.flux"]


def test_an_unexpected_or_missing_folder_stops_no_worker(tmp_path: Path) -> None:
    (tmp_path / "queue/1-folder.flux").mkdir(parents=True)
    own = channel(tmp_path / "queue")
    with pytest.raises(Empty):
        own._get("flux")
    shutil.rmtree(tmp_path / "queue")
    with pytest.raises(Empty):
        own._get("flux")
    own._put("flux", {"number": 1})
    assert own._get("flux") == {"number": 1}


def test_messages_are_readable_only_by_their_owner(tmp_path: Path) -> None:
    channel(tmp_path)._put("flux", {"number": 1})
    (message,) = tmp_path.iterdir()
    assert message.stat().st_mode & 0o777 == 0o600


def test_a_starting_worker_drops_old_messages_and_leaves_the_others(tmp_path: Path) -> None:
    own = channel(tmp_path)
    own._put("flux", {"number": 1})
    own._queue_bind("celery.pidbox", "", None, "heavy@here.celery.pidbox")
    own._queue_bind("reply.celery.pidbox", "one", None, "one.reply.celery.pidbox")  # of an inspection that was killed
    for path in tmp_path.iterdir():
        os.utime(path, (time.time() - 2 * file_broker.OLD_SECONDS,) * 2)
    own._put("flux", {"number": 2})
    file_broker.drop_old(tmp_path)
    assert own._get("flux") == {"number": 2}
    assert own.get_table("celery.pidbox") == [("", None, "heavy@here.celery.pidbox")]
    assert own.get_table("reply.celery.pidbox") == []
