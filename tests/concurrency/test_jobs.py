"""Jobs under two workers: each effect once, and a job that never works harms nobody."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from fluxsite.run.supervisor import STOP_SECONDS
from tests.concurrency.databases import database_with_tables
from tests.concurrency.worker_pool import WorkerPool
from tests.servers import free_port


@pytest.fixture
def workshop(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Callable[..., WorkerPool]]:
    made: list[WorkerPool] = []

    def make(*options: str, database: str) -> WorkerPool:
        environment = {}
        if database == "postgres":
            environment["DATABASE_URL"] = database_with_tables(request.getfixturevalue("postgres_url"))
        if database == "redis":
            environment["REDIS_URL"] = request.getfixturevalue("redis_server").url
        made.append(WorkerPool(tmp_path, *options, **environment))
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.mark.parametrize(
    "database",
    [
        "sqlite",
        pytest.param("postgres", marks=[pytest.mark.postgres, pytest.mark.proof]),
        pytest.param("redis", marks=pytest.mark.redis),
    ],
)
def test_sixty_jobs_and_a_killed_worker_leave_sixty_effects(workshop: Any, database: str) -> None:
    """Lease and sweep are short here so that the dead worker's job is taken over soon."""
    shop = workshop("--lease", "3", "--back-off", "0.2", "--sweep", "4", database=database)
    shop.add(broken=2, effect=60)
    doomed, _ = shop.hire(), shop.hire()
    until = time.monotonic() + 60
    while len(shop.effects()) < 10:
        assert time.monotonic() < until, "the workers do not work"
        time.sleep(0.02)
    shop.kill(doomed)
    shop.wait_until_finished(seconds=60)
    print(f"\njobs on {database}: {len(shop.effects())} effects, {dict(shop.states())}")
    assert shop.effects() == {str(number): 1 for number in range(60)}
    assert shop.states() == {("test.effect", "done", 0): 60, ("test.broken", "parked", 5): 2}


def test_an_idle_worker_ends_at_once_when_it_is_stopped(workshop: Any) -> None:
    shop = workshop(database="sqlite")
    shop.add(effect=1)
    worker = shop.hire()
    shop.wait_until_finished(seconds=60)
    time.sleep(6)  # Celery has gone back to waiting for messages by then
    worker.terminate()
    assert worker.wait(timeout=STOP_SECONDS) == 0
    shop.workers.remove(worker)


def test_jobs_are_run_while_the_broker_is_down(tmp_path: Path) -> None:
    shop = WorkerPool(tmp_path, "--sweep", "3", REDIS_URL=f"redis://127.0.0.1:{free_port()}/0")
    try:
        shop.add(effect=5)
        shop.hire()
        shop.wait_until_finished(seconds=30)
        assert shop.effects() == {str(number): 1 for number in range(5)}
    finally:
        shop.close()


@pytest.mark.parametrize("broker", ["sqlite", pytest.param("redis", marks=pytest.mark.redis)], ids=["files", "redis"])
def test_a_job_whose_message_was_lost_is_run_by_the_sweep(workshop: Any, broker: str) -> None:
    shop = workshop("--sweep", "2", "--by-message-alone", database=broker)
    shop.add(effect=1)
    shop.hire()
    shop.wait_until_finished(seconds=60)
    # The worker has looked for rows at its start, and now waits for messages; `add` sends none.
    shop.add(effect=2)
    shop.wait_until_finished(seconds=60)
    assert shop.states() == {("test.effect", "done", 0): 3}


def test_a_stopped_worker_finishes_its_job_and_begins_no_other(workshop: Any) -> None:
    shop = workshop(database="sqlite")
    shop.add(effect=600)
    worker = shop.hire()
    until = time.monotonic() + 60
    while len(shop.effects()) < 10:
        assert time.monotonic() < until, "the worker does not work"
        time.sleep(0.02)
    worker.terminate()
    assert worker.wait(timeout=STOP_SECONDS) == 0
    shop.workers.remove(worker)
    states = shop.states()
    assert states[("test.effect", "running", 0)] == 0  # none waits for a dead worker's lease
    assert states[("test.effect", "queued", 0)] > 0
    assert states[("test.effect", "done", 0)] == sum(shop.effects().values())
    assert max(shop.effects().values()) == 1
