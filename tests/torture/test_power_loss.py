"""An acknowledged write has reached the disk: every 2xx leaves after a completed sync, as the kernel saw it."""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.concurrency.conftest import write_limit
from tests.instances import Instance
from tests.servers import missing

pytestmark = pytest.mark.torture

WRITES = 200
_RECEIVED = re.compile(r"(?:recvfrom|read|recvmsg|readv)\(.*POST /store")
_SYNCED = re.compile(r"(?:fsync|fdatasync)(?:\(\d+\)| resumed>\)?)\s*.*= 0")
_ANSWERED = re.compile(r"(?:sendto|sendmsg|write|writev)\(.*HTTP/1\.1 2\d\d")


@pytest.fixture(autouse=True)
def strace() -> None:
    if shutil.which("strace") is None:
        pytest.skip(missing("strace", "it is not installed (apt-get install strace)"))


def synced_before_answer(trace: str) -> tuple[int, int]:
    """Of the acknowledged writes in a trace: how many, and how many saw a sync between request and answer."""
    answers = synced = 0
    waiting = sync_seen = False
    for line in trace.splitlines():
        if _RECEIVED.search(line):
            waiting, sync_seen = True, False
        elif waiting and _SYNCED.search(line):
            sync_seen = True
        elif waiting and _ANSWERED.search(line):
            answers += 1
            synced += sync_seen
            waiting = False
    return answers, synced


def traced_writes(instance: Instance, folder: Path) -> tuple[int, int]:
    write_limit(instance, 1_000_000)
    instance.start()
    rest = instance.state["pids"]["rest"]
    children = Path(f"/proc/{rest}/task/{rest}/children").read_text().split()
    trace = folder / "trace.txt"
    tracer = subprocess.Popen(
        [
            "strace",
            "-f",
            "-s",
            "40",
            "-o",
            str(trace),
            "-e",
            "trace=fsync,fdatasync,sendto,sendmsg,write,writev,recvfrom,recvmsg,read,readv",
            *(argument for pid in children for argument in ("-p", pid)),
        ],
        stderr=subprocess.DEVNULL,
    )
    try:
        # A first write proves that the tracer is attached before those that count.
        until = time.monotonic() + 30
        while not (trace.exists() and "POST /store" in trace.read_text(errors="replace")):
            assert time.monotonic() < until, "strace does not see the server"
            instance.call("POST", "/store", {"content": f"warm {time.monotonic()}"})
        seen_before = synced_before_answer(trace.read_text(errors="replace"))
        line = instance.connection()
        for number in range(WRITES):
            assert instance.call("POST", "/store", {"content": f"durable {number}"}, line=line).status == 200
        line.close()
        time.sleep(0.5)  # strace writes its file a little behind
    finally:
        tracer.send_signal(signal.SIGINT)
        tracer.wait()
        instance.stop()
    answers, synced = synced_before_answer(trace.read_text(errors="replace"))
    return answers - seen_before[0], synced - seen_before[1]


def test_every_acknowledged_write_was_synced(instance: Callable[..., Instance], tmp_path: Path) -> None:
    answers, synced = traced_writes(instance("full"), tmp_path)
    print(f"\nTORTURE power loss, durability full: {synced} of {answers} answers followed a sync")
    assert answers == WRITES
    assert synced == WRITES


def test_the_relaxed_mode_does_not_sync_each_write(instance: Callable[..., Instance], tmp_path: Path) -> None:
    """What `normal` gives up, and the proof that the test above can fail."""
    answers, synced = traced_writes(instance("normal", FLUX_DURABILITY="normal"), tmp_path)
    print(f"\nTORTURE power loss, durability normal: {synced} of {answers} answers followed a sync")
    assert answers == WRITES
    assert synced < WRITES / 10
