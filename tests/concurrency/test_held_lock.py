"""Somebody outside holds SQLite's write lock: writers wait, then are told so; readers do not notice."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from tests.concurrency.conftest import Fleet
from tests.concurrency.databases import on_fleets
from tests.concurrency.load import Call, Reply, send, together

_HOLD = """
import sys, pysqlite3
line = pysqlite3.connect(sys.argv[1], timeout=30, isolation_level=None)
line.execute("BEGIN IMMEDIATE")
print("held", flush=True)
sys.stdin.readline()
line.execute("ROLLBACK")
"""


@contextmanager
def lock_held(fleet: Fleet) -> Iterator[None]:
    holder = subprocess.Popen(
        [sys.executable, "-c", _HOLD, str(fleet.instance.folder / "flux.db")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        yield
    finally:
        holder.communicate("let go\n", timeout=10)


@on_fleets("sqlite")
def test_writers_wait_while_the_lock_is_held_for_three_seconds(fleet: Fleet) -> None:
    fleet.limit(1_000_000)
    _, token = fleet.agent()
    replies: list[Reply] = []

    def client(number: int) -> None:
        if number == 16:
            with lock_held(fleet):
                holding.set()
                time.sleep(3)
            return
        holding.wait()
        line = fleet.instance.connection()
        replies.append(send(fleet.instance, Call(token, {"content": f"patient {number}"}), line))
        line.close()

    holding = threading.Event()
    together(17, client)
    assert [reply.status for reply in replies] == [200] * 16
    assert max(reply.seconds for reply in replies) > 1, "nobody had to wait, so nothing was shown"


@on_fleets("sqlite")
def test_when_the_lock_is_held_longer_writes_are_refused_in_time_and_reads_continue(fleet: Fleet) -> None:
    fleet.limit(1_000_000)
    _, token = fleet.agent()
    grain = fleet.instance.call("POST", "/store", {"content": "readable"}, token=token).json()["grain_id"]
    writes: list[Reply] = []
    reads: list[Reply] = []
    writing = threading.Event()
    with lock_held(fleet):

        def writer(number: int) -> None:
            # Some are there first and some come while the others already wait.
            time.sleep((number % 4) * 1.5)
            line = fleet.instance.connection()
            writes.append(send(fleet.instance, Call(token, {"content": f"refused {number}"}), line))
            line.close()

        def reader() -> None:
            line = fleet.instance.connection()
            while not writing.is_set():
                reads.append(send(fleet.instance, Call(token, None, "GET", f"/grains/{grain}"), line))
                time.sleep(0.1)
            line.close()

        reading = threading.Thread(target=reader)
        reading.start()
        together(16, writer)
        writing.set()
        reading.join()
    slowest = max(reply.seconds for reply in writes)
    print(f"\nlock held: 16 writes refused, slowest after {slowest:.1f} s; {len(reads)} reads meanwhile")
    assert {reply.status for reply in writes} == {503}
    assert all(int(reply.retry_after or 0) >= 1 for reply in writes)
    assert slowest <= 10
    assert {reply.status for reply in reads} == {200}
    assert len(reads) >= 40

    after = fleet.instance.call("POST", "/store", {"content": "free again"}, token=token)
    assert after.status == 200
