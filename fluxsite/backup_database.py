"""Backup and restore of an instance's database: SQLite as a file, PostgreSQL as the rows of its tables."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from django.apps import apps
from django.core.management.color import no_style
from django.db import connection, transaction
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.db.models import Model

from fluxcore.bundle_format import CHUNK_BYTES
from fluxcore.bundles import BundleWriter
from fluxcore.errors import Invalid
from fluxcore.models import Event
from fluxsite.home import DataHome


def file_chunks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while chunk := file.read(CHUNK_BYTES):
            yield chunk


def dump(home: DataHome, bundle: BundleWriter) -> None:
    """Write the database to a backup as of one moment; others may write meanwhile."""
    if connection.vendor == "sqlite":
        _dump_file(home, bundle)
        return
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        for table in _existing(cursor):
            with cursor.cursor.copy(f"COPY {connection.ops.quote_name(table)} TO STDOUT") as rows:
                bundle.add(f"tables/{table}", rows)


def _dump_file(home: DataHome, bundle: BundleWriter) -> None:
    import sqlite3

    copy = home.run / f"backup-{os.getpid()}.db"
    home.run.mkdir(parents=True, exist_ok=True)
    try:
        connection.ensure_connection()
        with closing(sqlite3.connect(copy)) as target:
            connection.connection.backup(target)
            target.execute("PRAGMA journal_mode=DELETE")
        bundle.add("database.db", file_chunks(copy))
    finally:
        copy.unlink(missing_ok=True)


def _tables() -> list[str]:
    names = [model._meta.db_table for model in apps.get_models(include_auto_created=True) if model._meta.managed]
    return sorted({*names, "django_migrations"})


def _existing(cursor: Any) -> list[str]:
    present = set(connection.introspection.table_names(cursor))
    return [table for table in _tables() if table in present]


def migrations() -> list[str]:
    """Names of the migrations applied to this database."""
    return sorted(f"{app}.{name}" for app, name in MigrationRecorder(connection).applied_migrations())


def known_migrations() -> set[str]:
    """Names of the migrations of this release."""
    return {f"{app}.{name}" for app, name in MigrationLoader(None, ignore_no_migrations=True).disk_migrations or ()}


@contextmanager
def loading(tables: list[str]) -> Iterator[Callable[[str, Iterable[bytes]], None]]:
    """Replace the rows of these tables with the function it yields, all tables in one transaction."""
    if not set(tables) <= set(_tables()):
        raise Invalid(
            "The backup has tables that this release does not have. Restore it with the release that made it."
        )
    with transaction.atomic(), connection.cursor() as cursor:
        quoted = ", ".join(connection.ops.quote_name(table) for table in tables)
        cursor.execute("SET CONSTRAINTS ALL DEFERRED")
        cursor.execute(f"TRUNCATE {quoted} RESTART IDENTITY CASCADE")

        # Django makes its foreign keys deferrable, so the order of the tables does not matter.
        def load(table: str, chunks: Iterable[bytes]) -> None:
            with cursor.cursor.copy(f"COPY {connection.ops.quote_name(table)} FROM STDIN") as rows:
                for chunk in chunks:
                    rows.write(chunk)

        yield load
        counted: list[type[Model]] = [*apps.get_models(include_auto_created=True), MigrationRecorder.Migration]
        for statement in connection.ops.sequence_reset_sql(no_style(), counted):
            cursor.execute(statement)
        # Transaction numbers are meaningless in another server. With 0 the restored events keep their order, are below
        # every watermark and sort before new events.
        cursor.execute(f"UPDATE {Event._meta.db_table} SET xid = 0")  # noqa: S608
