"""Commands in this process: quick, and on whichever database the run uses."""

from __future__ import annotations

import io
import json
import shutil
from collections.abc import Callable
from typing import Any

import pytest
from django.core.management import call_command

from tests.concurrency.databases import database_with_tables, new_database
from tests.instances import Instance


class CommandResult:
    """What a command printed, and how it ended."""

    def __init__(self, text: str, status: int) -> None:
        self.text, self.status = text, status

    def json(self) -> Any:
        return json.loads(self.text)


@pytest.fixture
def run(db: None) -> Callable[..., CommandResult]:
    def call(*arguments: str) -> CommandResult:
        out = io.StringIO()
        try:
            call_command(*arguments, stdout=out)
        except SystemExit as end:
            return CommandResult(out.getvalue(), int(end.code or 0))
        return CommandResult(out.getvalue(), 0)

    return call


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=[pytest.mark.postgres, pytest.mark.proof])])
def on_each_database(request: pytest.FixtureRequest, instance: Callable[..., Instance]) -> Callable[..., Instance]:
    """Make instances as `instance` does, once on SQLite and once each on a PostgreSQL database of its own."""

    def make(name: str = "test", *, tables: bool = False) -> Instance:
        if request.param == "sqlite":
            return instance(name).with_tables() if tables else instance(name)
        database = database_with_tables if tables else new_database
        return instance(name, DATABASE_URL=database(request.getfixturevalue("postgres_url")))

    return make


@pytest.fixture(scope="session")
def blank_on_postgres(postgres_url: str, tmp_path_factory: pytest.TempPathFactory) -> Instance:
    """What flux_init leaves behind where the database is PostgreSQL."""
    one = Instance(tmp_path_factory.mktemp("blank"), "blank", DATABASE_URL=database_with_tables(postgres_url))
    one.command("flux_init", "--no-input")
    return one


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=[pytest.mark.postgres, pytest.mark.proof])])
def made_on_each_database(request: pytest.FixtureRequest, instance: Callable[..., Instance]) -> Callable[..., Instance]:
    """Make instances as `made` does, once on SQLite and once each on a PostgreSQL database of its own."""
    if request.param == "sqlite":
        return request.getfixturevalue("made")

    def make(name: str = "test") -> Instance:
        blank = request.getfixturevalue("blank_on_postgres")
        url = new_database(request.getfixturevalue("postgres_url"), like=blank.environment["DATABASE_URL"])
        one = instance(name, DATABASE_URL=url)
        shutil.copytree(blank.folder, one.folder)
        return one

    return make
