"""Overwriting what the database still has of deleted rows: free pages, logs, dead tuples."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import connection


def scrub(tables: Sequence[str], *, first: str = "") -> bool:
    """Do it now; False inside a transaction, where nothing can be rewritten. `first` is run before, on SQLite only.

    SQLite rewrites the whole file and empties its log, and writers wait that long; PostgreSQL cleans these tables.
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
