"""Lock of an arena: several readers at a time, or one change."""

from __future__ import annotations

import threading
import time

import pytest

from memory.arena.read_write_lock import ReadWriteLock
from tests.concurrency.load import together


def test_readers_do_not_wait_for_each_other():
    lock, inside = ReadWriteLock(), threading.Barrier(4, timeout=60)

    def read(number: int) -> None:
        with lock.reading():
            inside.wait()  # only passes if all four are in at once

    together(4, read)


def test_no_reader_sees_half_a_change():
    lock, pair, seen = ReadWriteLock(), [0, 0], []

    def role(number: int) -> None:
        for _ in range(60):
            if number < 2:
                with lock.changing():
                    pair[0] += 1
                    time.sleep(0.0002)
                    pair[1] += 1
            else:
                with lock.reading():
                    first = pair[0]
                    time.sleep(0.0001)
                    seen.append((first, pair[1]))

    together(6, role)
    assert pair == [120, 120]
    assert all(first == second for first, second in seen)


def test_a_change_is_not_kept_out_by_new_readers():
    lock, done = ReadWriteLock(), threading.Event()

    def role(number: int) -> None:
        if number == 0:
            time.sleep(0.02)
            with lock.changing():
                done.set()
        until = time.monotonic() + 5
        while not done.is_set():
            assert time.monotonic() < until, "the change never had its turn"
            with lock.reading():
                time.sleep(0.003)

    together(5, role)


def test_a_reader_may_read_again_while_a_change_waits():
    lock, waiting = ReadWriteLock(), threading.Event()

    def change() -> None:
        waiting.set()
        with lock.changing():
            pass

    with lock.reading():
        assert lock.mine
        thread = threading.Thread(target=change)
        thread.start()
        waiting.wait(60)
        time.sleep(0.05)
        with lock.reading():
            pass
        assert lock.mine
    thread.join(5)
    assert not thread.is_alive() and not lock.mine


def test_a_reader_cannot_change():
    lock = ReadWriteLock()
    with lock.reading(), pytest.raises(RuntimeError), lock.changing():
        pass
    with lock.changing():
        pass
