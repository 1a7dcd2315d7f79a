"""Scrubbing of deleted rows: overwrites what free pages, logs and dead tuples of the database still contain."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import connection


def scrub(tables: Sequence[str], *, first: str = "") -> bool:
    """Scrub deleted rows; False inside a transaction, where it is impossible. `first` runs before it, on SQLite only.

    SQLite rewrites the whole file and empties its log, during which writers wait; PostgreSQL vacuums these tables.
    """
    if connection.in_atomic_block:
        return False
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            for statement in (first, "VACUUM", "PRAGMA wal_checkpoint(TRUNCATE)"):
                if statement:
                    cursor.execute(statement)
        else:
            for table in tables:
                cursor.execute(f"VACUUM {table}")
    return True
