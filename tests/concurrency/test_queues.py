"""Queues under real workers: each takes the kinds of its queues, and Celery's own tools name them."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from fluxsite import file_broker
from tests.concurrency.worker_pool import WorkerPool


@pytest.fixture(params=["files", pytest.param("redis", marks=[pytest.mark.redis, pytest.mark.proof])])
def workshop(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[WorkerPool]:
    environment = {}
    if request.param == "redis":
        environment["REDIS_URL"] = request.getfixturevalue("redis_server").url
    shop = WorkerPool(tmp_path, "--sweep", "2", **environment)
    yield shop
    shop.close()


def swept(shop: WorkerPool) -> int:
    """How often a recurring job was asked for: the sweeps that have been."""
    ((count,),) = shop.query("SELECT coalesce(sum(lived), 0) FROM fluxcore_pulse")
    return int(count)


def waited_until(holds: object, seconds: float = 60) -> None:
    until = time.monotonic() + seconds
    while not holds():  # type: ignore[operator]
        assert time.monotonic() < until
        time.sleep(0.1)


def test_a_worker_takes_the_kinds_of_its_queues_and_leaves_the_others(workshop: WorkerPool) -> None:
    workshop.add(effect=6, heavy=4)
    workshop.hire("fast", "slow")
    waited_until(lambda: workshop.states()["test.effect", "done", 0] == 6)
    waited_until(lambda: swept(workshop) > 4)  # seconds of uptime: it has swept, and found the heavy rows again
    assert workshop.states()["test.heavy", "queued", 0] == 4
    workshop.hire("heavy")
    workshop.wait_until_finished(seconds=60)
    assert workshop.states() == {("test.effect", "done", 0): 6, ("test.heavy", "done", 0): 4}


def test_celery_inspect_names_every_kind_and_the_queues_of_a_worker(workshop: WorkerPool) -> None:
    workshop.add(heavy=1)
    workshop.hire("heavy")
    workshop.wait_until_finished(seconds=60)
    found = workshop.celery("inspect", "registered", "--timeout", "20")
    for name in ("learning.apply", "clusters.compute", "grains.decay", "transfer.import", "test.heavy", "work.sweep"):
        assert f"* {name}" in found
    assert "heavy@" in found
    queues = workshop.celery("inspect", "active_queues", "--timeout", "20")
    assert "'name': 'heavy'" in queues
    assert "'name': 'fast'" not in queues


@pytest.mark.proof
def test_a_worker_is_seen_by_celery_inspect_after_another_one_began_hours_later(tmp_path: Path) -> None:
    shop = WorkerPool(tmp_path)
    queue = shop.instance.folder / "queue"
    both = [f"{name}@{socket.gethostname()}" for name in ("heavy", "slow")]
    try:
        shop.hire("heavy")
        waited_until(lambda: any(path.name.startswith(".bound-") for path in queue.iterdir()))
        for path in queue.iterdir():
            os.utime(path, (time.time() - 2 * file_broker.OLD_SECONDS,) * 2)
        shop.hire("slow")
        waited_until(lambda: len([path for path in queue.iterdir() if path.name.startswith(".bound-")]) > 1)
        found = shop.celery("inspect", "active_queues", "--timeout", "20", "--destination", ",".join(both))
    finally:
        shop.close()
    assert all(name in found for name in both)
