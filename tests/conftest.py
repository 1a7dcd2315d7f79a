"""Fixtures: a space with an agent and its token, a client that carries it, real servers, whole instances."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import time_machine
from django.conf import settings
from django.test import Client

from tests.cases import Cases, forget_counts_and_arenas
from tests.instances import Instance, tables
from tests.servers import Redis, missing, start_postgres

DATABASE_FIXTURES = {"db", "transactional_db", "space", "agent", "token", "api", "principal", "door"}


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Everything that touches storage is marked so: the PostgreSQL pass runs these tests."""
    if os.environ.get("FLUX_TEST_DATABASE") == "postgres" and "FLUX_TESTS_PROOFS" not in os.environ:
        left_out = [item for item in items if item.get_closest_marker("either_database")]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if not item.get_closest_marker("either_database")]
    for item in items:
        parameters = getattr(getattr(item, "callspec", None), "params", {})  # some are called like a fixture
        fixtures = set(getattr(item, "fixturenames", ())) - set(parameters)
        touches = item.get_closest_marker("django_db") or fixtures & DATABASE_FIXTURES
        if touches and not item.get_closest_marker("sqlite_only"):
            item.add_marker("storage")
        group = item.get_closest_marker("xdist_group")
        if group is not None and getattr(config.option, "loadgroup", False):
            _keep_together(item, str(group.args[0]))


def _keep_together(item: Any, group: str) -> None:
    """pytest-xdist 3.8 notes a group where pytest 9.2 no longer looks, so that groups would be ignored."""
    if hasattr(item, "_id"):
        item._id = type(item._id).parse(f"{item.nodeid}@{group}")


class Api:
    """A REST client of one agent: JSON in, JSON out."""

    def __init__(self, token: str | None) -> None:
        self.client = Client(raise_request_exception=False)
        self.token = token

    def _headers(self, headers: dict[str, str] | None) -> dict[str, str]:
        auth = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        return {"Host": "localhost", **auth, **(headers or {})}

    def get(self, path: str, headers: dict[str, str] | None = None, **query: Any) -> Any:
        return self.client.get(path, query, headers=self._headers(headers))

    def delete(self, path: str, headers: dict[str, str] | None = None) -> Any:
        return self.client.delete(path, headers=self._headers(headers))

    def post(self, path: str, body: Any = None, headers: dict[str, str] | None = None, raw: bytes | None = None) -> Any:
        return self.send("POST", path, body, headers, raw)

    def put(self, path: str, body: Any = None, headers: dict[str, str] | None = None, raw: bytes | None = None) -> Any:
        return self.send("PUT", path, body, headers, raw)

    def patch(self, path: str, body: Any = None, headers: dict[str, str] | None = None) -> Any:
        return self.send("PATCH", path, body, headers)

    def send(
        self, method: str, path: str, body: Any, headers: dict[str, str] | None = None, raw: bytes | None = None
    ) -> Any:
        data = raw if raw is not None else json.dumps(body).encode()
        return self.client.generic(method, path, data, "application/json", headers=self._headers(headers))


@pytest.fixture(scope="session", autouse=True)
def kept_bytecode() -> None:
    """Where none may stand beside the source, the processes of a run share a folder: compiling is half a start."""
    if os.environ.pop("PYTHONDONTWRITEBYTECODE", None):
        os.environ["PYTHONPYCACHEPREFIX"] = str(Path(os.environ["FLUX_TESTS_HOME"]) / "bytecode")


@pytest.fixture(scope="session")
def django_db_keepdb() -> bool:
    """A worker's SQLite file is a copy of one that was migrated for all, and goes with the folder of the run."""
    return settings.DATABASES["default"]["ENGINE"].endswith("sqlite3")


@pytest.fixture(scope="session")
def django_db_modify_db_settings(django_db_modify_db_settings_parallel_suffix: None, django_db_keepdb: bool) -> None:
    database = settings.DATABASES["default"]
    if django_db_keepdb:
        shutil.copyfile(tables(), database["TEST"]["NAME"])
    else:
        from tests.concurrency.databases import tables_on

        database["TEST"]["TEMPLATE"] = urlsplit(tables_on(os.environ["FLUX_TESTS_POSTGRES"])).path[1:]


@pytest.fixture(scope="session", autouse=True)
def full_tables_alone_are_emptied() -> Iterator[None]:
    from django.test import TransactionTestCase

    from tests.table_cleanup import empty_tables

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TransactionTestCase, "_fixture_teardown", empty_tables)
        yield


@pytest.fixture(autouse=True)
def nothing_is_remembered_of_the_test_before() -> None:
    """Tests are rolled back and number their rows from 1 again: counts and arenas would speak of others."""
    forget_counts_and_arenas()


@pytest.fixture
def cases() -> Iterator[Cases]:
    """For a table with hundreds of rows: `with cases.case(name):` runs each on the same rows, then all are judged."""
    cases = Cases()
    yield cases
    assert cases.count > 0
    assert cases.failed == {}


@pytest.fixture
def standing_clock() -> Iterator[time_machine.Traveller]:
    """The clock stands at noon until the test moves it, so no second, minute, hour or day ends within the test.

    For whatever counts, waits or expires by the clock. Name it before the fixtures that store or sign in something.
    """
    with time_machine.travel(datetime(2026, 11, 16, 12, tzinfo=UTC), tick=False) as traveller:
        yield traveller


@pytest.fixture
def configure(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Change keys of config.yaml for this test."""

    from dataclasses import replace

    from fluxcore import config

    def change(**keys: Any) -> None:
        changed = replace(config.current(), **keys)
        monkeypatch.setattr(config, "current", lambda: changed)

    return change


@pytest.fixture
def space(db: None) -> Any:
    from accounts import agents
    from accounts.models import Space
    from accounts.principals import shell

    agents.create_space(shell(), name="home")
    return Space.objects.get(name="home")


@pytest.fixture
def make_token(db: None) -> Callable[..., str]:
    """Make an agent with capabilities and return its token."""
    from accounts import agents, tokens
    from accounts.models import Space
    from accounts.principals import shell

    def make(
        name: str = "alice",
        *,
        space: str = "home",
        capabilities: tuple[str, ...] = ("grains.read", "grains.write"),
        ceiling: str = "user_stated",
        expires_at: str | None = None,
        trust: str = "privileged",
        parent: str | None = None,
    ) -> str:
        if not Space.objects.filter(name=space).exists():
            agents.create_space(shell(), name=space)
        agents.apply_agent(shell(), space=space, name=name, capabilities=list(capabilities), trust=trust, parent=parent)
        minted = tokens.mint(shell(), space=space, agent=name, ceiling=ceiling, expires_at=expires_at)
        return str(minted["token"])

    return make


@pytest.fixture
def token(make_token: Callable[..., str]) -> str:
    return make_token()


@pytest.fixture
def api(token: str) -> Api:
    return Api(token)


@pytest.fixture
def principal(token: str) -> Any:
    from accounts import tokens

    return tokens.authenticate(token)


@pytest.fixture
def as_agent() -> Callable[[str | None], Api]:
    return Api


@pytest.fixture(scope="session")
def redis_server() -> Iterator[Redis]:
    try:
        server = Redis()
    except (ImportError, OSError) as error:
        pytest.skip(missing("redis", str(error)))
    yield server
    server.stop()


@pytest.fixture(scope="session")
def postgres_url() -> str:
    """The maintenance database of a PostgreSQL for instances; make databases of your own in it."""
    try:
        return os.environ.get("FLUX_TESTS_POSTGRES") or start_postgres()
    except (ImportError, OSError) as error:
        pytest.skip(missing("postgres", str(error)))


@pytest.fixture
def instance(tmp_path: Path) -> Iterator[Callable[..., Instance]]:
    """Make instances; every process of them is ended with the test."""
    made: list[Instance] = []

    def make(name: str = "test", **environment: str) -> Instance:
        made.append(Instance(tmp_path / "flux", name, **environment))
        return made[-1]

    yield make
    for one in made:
        if one.process is not None and one.process.poll() is None:
            one.kill()


@pytest.fixture(scope="session")
def blank(tmp_path_factory: pytest.TempPathFactory) -> Instance:
    """What flux_init leaves behind, to be copied."""
    one = Instance(tmp_path_factory.mktemp("blank"), "blank").with_tables()
    one.command("flux_init", "--no-input")
    return one


@pytest.fixture
def made(instance: Callable[..., Instance], blank: Instance) -> Callable[..., Instance]:
    """Make instances as `instance` does, each as flux_init leaves one."""

    def make(name: str = "test", **environment: str) -> Instance:
        one = instance(name, **environment)
        shutil.copytree(blank.folder, one.folder)
        return one

    return make
