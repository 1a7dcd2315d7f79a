"""The gate: readers side by side, a change alone."""

from __future__ import annotations

import threading
import time

import pytest

from memory.arena.read_write_lock import ReadWriteLock
from tests.concurrency.load import together


def test_readers_are_side_by_side():
    gate, inside = ReadWriteLock(), threading.Barrier(4, timeout=60)

    def read(number: int) -> None:
        with gate.reading():
            inside.wait()  # only passes if all four are in at once

    together(4, read)


def test_nobody_sees_half_a_change():
    gate, pair, seen = ReadWriteLock(), [0, 0], []

    def role(number: int) -> None:
        for _ in range(60):
            if number < 2:
                with gate.changing():
                    pair[0] += 1
                    time.sleep(0.0002)
                    pair[1] += 1
            else:
                with gate.reading():
                    first = pair[0]
                    time.sleep(0.0001)
                    seen.append((first, pair[1]))

    together(6, role)
    assert pair == [120, 120]
    assert all(first == second for first, second in seen)


def test_readers_who_keep_coming_do_not_keep_a_change_out():
    gate, done = ReadWriteLock(), threading.Event()

    def role(number: int) -> None:
        if number == 0:
            time.sleep(0.02)
            with gate.changing():
                done.set()
        until = time.monotonic() + 5
        while not done.is_set():
            assert time.monotonic() < until, "the change never had its turn"
            with gate.reading():
                time.sleep(0.003)

    together(5, role)


def test_whoever_reads_may_read_again_while_a_change_waits():
    gate, waiting = ReadWriteLock(), threading.Event()

    def change() -> None:
        waiting.set()
        with gate.changing():
            pass

    with gate.reading():
        assert gate.mine
        thread = threading.Thread(target=change)
        thread.start()
        waiting.wait(60)
        time.sleep(0.05)
        with gate.reading():
            pass
        assert gate.mine
    thread.join(5)
    assert not thread.is_alive() and not gate.mine


def test_whoever_reads_cannot_change():
    gate = ReadWriteLock()
    with gate.reading(), pytest.raises(RuntimeError), gate.changing():
        pass
    with gate.changing():
        pass
