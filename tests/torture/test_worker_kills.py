"""A worker killed twenty times in the middle of its work leaves every effect exactly once."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.concurrency.databases import new_database
from tests.concurrency.worker_pool import WorkerPool

pytestmark = pytest.mark.torture

JOBS, KILLS = 200, 20


@pytest.fixture(params=["files", pytest.param("redis", marks=pytest.mark.redis)])
def broker(request: pytest.FixtureRequest) -> str:
    """Messages that a dying worker had taken are gone with files, and unacknowledged with Redis."""
    return str(request.param)


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def workshop(tmp_path: Path, request: pytest.FixtureRequest, broker: str) -> Iterator[WorkerPool]:
    """Lease, back-off, sweep and visibility time-out as in production."""
    environment = {}
    if request.param == "postgres":
        environment["DATABASE_URL"] = new_database(request.getfixturevalue("postgres_url"))
    if broker == "redis":
        environment["REDIS_URL"] = request.getfixturevalue("redis_server").url
    shop = WorkerPool(tmp_path, **environment)
    yield shop
    shop.close()


def test_twenty_kills_under_two_hundred_jobs_leave_each_effect_once(workshop: WorkerPool, broker: str) -> None:
    seed = int(os.environ.get("FLUX_TORTURE_SEED") or random.SystemRandom().randrange(1 << 31))
    chance = random.Random(seed)
    workshop.add(effect=JOBS)
    midway = 0
    for _ in range(KILLS):
        worker, before = workshop.hire(), sum(workshop.effects().values())
        # Kill it soon after it has begun to work, so that all twenty kills find work to interrupt.
        until = time.monotonic() + 90
        while sum(workshop.effects().values()) == before:
            assert time.monotonic() < until, "the worker does not work"
            time.sleep(0.01)
        time.sleep(chance.uniform(0, 0.15))
        workshop.kill(worker)
        midway += sum(count for (_, state, _), count in workshop.states().items() if state == "running")
    workshop.hire()
    took = workshop.wait_until_finished(seconds=60)
    effects = workshop.effects()
    on = "PostgreSQL" if "DATABASE_URL" in workshop.instance.environment else "SQLite"
    print(
        f"\nTORTURE SIGKILL of the worker on {on}, messages over {broker}: kills {KILLS}, jobs {JOBS}, "
        f"effects {sum(effects.values())}, twice {sum(count > 1 for count in effects.values())}, "
        f"jobs found running after a kill {midway}, drained {took:.1f} s after the last kill, seed {seed}"
    )
    assert effects == {str(number): 1 for number in range(JOBS)}
    assert workshop.states() == {("test.effect", "done", 0): JOBS}
    assert midway > 0, "no kill met a running job, so nothing was shown"
