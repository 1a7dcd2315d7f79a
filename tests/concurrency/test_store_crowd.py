"""Eight clients store while three read: every acknowledged text is there once, in its place, and nobody met a lock."""

from __future__ import annotations

import statistics
import threading
import time
from collections import Counter

import pytest

from tests.concurrency.conftest import Fleet
from tests.concurrency.databases import connect, on_fleets
from tests.concurrency.load import Call, Reply, send, together

CLIENTS, READERS = 8, 3


@on_fleets("sqlite", "postgres")
def test_eight_writers_and_three_readers_lose_nothing_and_get_no_lock_error(fleet: Fleet) -> None:
    crowd(fleet, grains=160)


@pytest.mark.torture
@on_fleets("sqlite", "postgres")
def test_many_writers_and_readers_lose_nothing_and_get_no_lock_error(fleet: Fleet) -> None:
    crowd(fleet, grains=5_000)


def crowd(fleet: Fleet, *, grains: int) -> None:
    fleet.limit(1_000_000)
    tokens = [fleet.agent()[1] for _ in range(2)]
    mark = f"crowd{time.time_ns()}"
    logged = len(log_of(fleet))
    stored: list[Reply] = []
    read: list[Reply] = []
    over = threading.Event()

    def client(number: int) -> None:
        line = fleet.instance.connection()
        for turn in range(grains // CLIENTS):
            text = f"{mark} client {number} says {turn}: Ada met Bo in Lisbon"
            body = {"content": text, "session": f"{mark} {number % 4}", "speaker": f"client {number}"}
            stored.append(send(fleet.instance, Call(tokens[number % 2], body), line))
        line.close()

    def reader(number: int) -> None:
        line = fleet.instance.connection()
        asks = [
            Call(tokens[0], {"query": f"who met Bo in Lisbon {number}"}, path="/retrieve"),
            Call(tokens[1], None, method="GET", path="/grains?limit=50"),
        ]
        while not over.is_set():
            for ask in asks:
                read.append(send(fleet.instance, ask, line))
        line.close()

    readers = [threading.Thread(target=reader, args=(number,)) for number in range(READERS)]
    for one in readers:
        one.start()
    began = time.time()
    try:
        together(CLIENTS, client)
    finally:
        took = time.time() - began
        over.set()
        for one in readers:
            one.join()

    assert Counter(reply.status for reply in stored) == {200: grains}, refusals(stored)
    assert set(Counter(reply.status for reply in read)) == {200}, refusals(read)
    assert {reply.json()["status"] for reply in stored} == {"stored"}
    with connect(fleet.instance) as database:
        rows = database.execute(
            f"SELECT session, ordinal, text FROM grains_grain WHERE session LIKE '{mark}%' ORDER BY session, ordinal"
        ).fetchall()
    assert len(rows) == len({text for _, _, text in rows}) == grains
    places = [(f"{mark} {session}", place) for session in range(4) for place in range(grains // 4)]
    assert [(session, place) for session, place, _ in rows] == places
    said = log_of(fleet)[logged:]
    assert "locked" not in said and "deadlock" not in said and "Traceback" not in said, said[-2000:]
    print(f"\n{fleet.kind}: {grains} grains in {took:.1f} s; store {spread(stored)}; read {spread(read)}")


def spread(replies: list[Reply]) -> str:
    milliseconds = sorted(reply.seconds * 1e3 for reply in replies)
    late = milliseconds[int(len(milliseconds) * 0.95)]
    return (
        f"median {statistics.median(milliseconds):.0f}, p95 {late:.0f}, max {milliseconds[-1]:.0f} ms ({len(replies)})"
    )


def refusals(replies: list[Reply]) -> list[bytes]:
    return [reply.body[:300] for reply in replies if reply.status != 200][:5]


def log_of(fleet: Fleet) -> str:
    return (fleet.instance.folder / "flux.log").read_text(errors="replace")
