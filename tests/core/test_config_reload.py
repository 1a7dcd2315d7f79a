"""config.yaml of a running instance: hot keys follow the file, the others need a restart."""

from __future__ import annotations

import os
import threading

import pytest

from fluxcore import config
from fluxcore.config import live_config


class Clock:
    """Monotonic time that the test moves."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch):
    moved = Clock()
    monkeypatch.setattr("time.monotonic", moved)
    return moved


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "config.yaml"
    path.write_text("TOP_K: 5\n")
    return path


def edit(path, text: str) -> None:
    """Replace the file as editors do, with a stamp of its own."""
    stamp = path.stat().st_mtime_ns if path.exists() else 0
    path.write_text(text)
    os.utime(path, ns=(stamp + 1_000_000, stamp + 1_000_000))


def test_a_hot_key_is_picked_up_within_a_second(clock, file):
    live = config.Live(file, config.load(file))
    assert live().TOP_K == 5
    edit(file, "TOP_K: 9\n")
    clock.now += 1.01
    assert live().TOP_K == 9


def test_a_reader_during_a_reload_gets_the_new_values(clock, file, monkeypatch):
    """A burst after an idle time: the first caller reads the file, and the others must not go on with the old limit."""
    live = config.Live(file, config.load(file))
    assert live().TOP_K == 5
    monkeypatch.setattr(live_config, "_live", live)
    read, others, found = live_config.read_file, [], []

    def read_file(path):
        others.append(threading.Thread(target=lambda: found.append(config.current().TOP_K)))
        others[0].start()
        others[0].join(0.3)  # nobody is answered before the file is read
        return read(path)

    monkeypatch.setattr(live_config, "read_file", read_file)
    edit(file, "TOP_K: 9\n")
    clock.now += 5
    assert config.current().TOP_K == 9
    others[0].join(30)
    assert found == [9]


def test_the_file_is_checked_at_most_once_a_second(clock, file):
    live = config.Live(file, config.load(file))
    live()
    edit(file, "TOP_K: 9\n")
    clock.now += 0.5
    assert live().TOP_K == 5


def test_a_key_that_needs_a_restart_is_kept_and_listed(clock, file):
    live = config.Live(file, config.load(file))
    edit(file, "REST_PORT: 8000\nTOP_K: 7\n")
    clock.now += 2
    assert (live().REST_PORT, live().TOP_K) == (7465, 7)
    assert live.waiting_for_restart == ["REST_PORT"]
    edit(file, "TOP_K: 7\n")
    clock.now += 2
    live()
    assert live.waiting_for_restart == []


@pytest.mark.parametrize("broken", ["TOP_K: five\n", "TOPK: 9\n", "{", "TOP_K: 9\nTOP_K: 9\n"])
def test_a_broken_edit_keeps_the_last_good_values_and_is_reported(clock, file, broken):
    live = config.Live(file, config.load(file))
    edit(file, "TOP_K: 9\n")
    clock.now += 2
    assert live().TOP_K == 9
    edit(file, broken)
    clock.now += 2
    assert live().TOP_K == 9
    assert live.problem is not None
    assert "line 1" in live.problem or "line 2" in live.problem
    edit(file, "TOP_K: 11\n")
    clock.now += 2
    assert (live().TOP_K, live.problem) == (11, None)


def test_a_deleted_file_leaves_its_values_in_use(clock, file):
    edit(file, "TOP_K: 9\n")
    live = config.Live(file, config.load(file))
    file.unlink()
    clock.now += 2
    assert live().TOP_K == 9
    assert "is missing" in live.problem


def test_a_new_file_is_read(clock, file):
    file.unlink()
    live = config.Live(file, config.Config())
    edit(file, "TOP_K: 8\n")
    clock.now += 2
    assert live().TOP_K == 8
