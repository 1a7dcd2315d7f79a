"""Fleets: instances with two REST processes on each kind of storage, shared by the tests of a run."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.concurrency.databases import database_with_tables
from tests.instances import Instance
from tests.management_shell import Shell

AGENTS = 40
_MAKE_AGENTS = """
import json
from accounts import agents, tokens
from accounts.models import Agent
from accounts.principals import shell
from fluxsite.setup import FIRST_SPACE
made = []
for number in range({count}):
    name = f"client-{{number}}"
    agents.create_agent(shell(), space=FIRST_SPACE, name=name, capabilities=["grains.read", "grains.write"])
    token = tokens.mint(shell(), space=FIRST_SPACE, agent=name, ceiling="user_stated")["token"]
    made.append([Agent.objects.get(name=name).pk, token])
print(json.dumps(made))
"""


@dataclass
class Fleet:
    """A running instance with two REST processes and a supply of fresh agents."""

    kind: str
    instance: Instance
    python: Shell
    agents: list[tuple[int, str]]
    redis: Any = None
    _limit: int = field(default=0)

    def agent(self) -> tuple[int, str]:
        """Number and token of an agent nobody has used yet."""
        return self.agents.pop()

    def limit(self, grains_per_minute: int) -> None:
        """Change the limit of the running instance through its config.yaml."""
        if grains_per_minute != self._limit:
            write_limit(self.instance, grains_per_minute)
            self._limit = grains_per_minute
            time.sleep(1.1)  # every process looks at the file once a second, when it next needs a value

    def writers(self) -> set[str]:
        """Processes whose write booth has committed something."""
        folder = self.instance.folder / "run" / "metrics"
        return {path.stem.rpartition("_")[2] for path in folder.glob("histogram_*.db")}


def write_limit(instance: Instance, grains_per_minute: int) -> None:
    instance.folder.mkdir(parents=True, exist_ok=True)
    (instance.folder / "config.yaml").write_text(
        f"OPERATING_MODE: caller_extracts\nMAX_GRAINS_PER_MINUTE: {grains_per_minute}\n"
    )


@pytest.fixture(scope="session")
def fleet(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    kind: str = request.param
    environment, redis = {}, None
    if kind == "postgres":
        environment["DATABASE_URL"] = database_with_tables(request.getfixturevalue("postgres_url"))
    if kind == "redis":
        redis = request.getfixturevalue("redis_server")
        environment["REDIS_URL"] = redis.url
    instance = Instance(tmp_path_factory.mktemp(f"fleet-{kind}"), f"fleet-{uuid.uuid4().hex[:6]}", **environment)
    write_limit(instance, 50)
    try:
        instance.with_tables().start("--processes", "2")
        fleet = Fleet(kind, instance, Shell(instance), [], redis, 50)
        fleet.agents = [tuple(one) for one in fleet.python(_MAKE_AGENTS.format(count=AGENTS))]
        yield fleet
        fleet.python.end()
    finally:
        if redis is not None:
            redis.go_on()
        if instance.process is not None and instance.process.poll() is None:
            instance.stop()


@pytest.fixture
def threaded_booth(settings: Any, transactional_db: None) -> Iterator[None]:
    """The write booth as the doors run it: one thread that commits for all callers."""
    from fluxcore.writes import booth

    settings.BOOTH = "thread"
    yield
    booth.write(close_connection_after_commit)
    settings.BOOTH = "inline"


def close_connection_after_commit() -> None:
    """The booth's thread lives on; its connection must not keep the test database from being dropped."""
    from django.db import connection

    from fluxcore.writes import booth

    booth.outbox().after_commit(connection.close)


@pytest.fixture
def in_threads() -> Callable[[int, Callable[[int], None]], None]:
    """`together`, with each thread's database connection closed at its end."""
    from django.db import connection

    from tests.concurrency.load import together

    def run(count: int, work: Callable[[int], None]) -> None:
        def and_close(number: int) -> None:
            try:
                work(number)
            finally:
                connection.close()

        together(count, and_close)

    return run
