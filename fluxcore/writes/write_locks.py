"""Write locks: writes of one space run one after the other, over all processes; different spaces run in parallel."""

from __future__ import annotations

import hashlib

from django.db import connection

# Lock timeout of a batch on PostgreSQL, the same as SQLite's.
LOCK_SECONDS = 8
_LOCK_CLASS = 0x464C5554  # class of our advisory locks in the database
INSTANCE = "instance"
NO_LOCK = ""  # for rows that no other writer changes and whose order does not matter


def lock_key(name: str) -> int:
    """Number of the advisory lock of a name; locks are taken in the order of their numbers. Two names may share one."""
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "big", signed=True)


def lock_name(space: int | None) -> str:
    """Name of the write lock of a space, or of the instance."""
    return INSTANCE if space is None else f"space:{space}"


def take_locks(names: set[str]) -> None:
    """Take write locks until the commit: one batch at a time per lock over all processes, as SQLite has for its file.

    Without them PostgreSQL would run batches of one space in parallel. Each holds the row locks of its callers until
    the commit, in any order, so that two batches could deadlock or collide on an equal row. Write locks are taken in
    one order, so that they cannot deadlock either.
    """
    taken = {lock_key(name) for name in names if name != NO_LOCK}
    if connection.vendor == "postgresql" and taken:
        with connection.cursor() as cursor:
            cursor.execute("SELECT set_config('lock_timeout', %s, true)", [f"{LOCK_SECONDS}s"])
            for key in sorted(taken):
                cursor.execute("SELECT pg_advisory_xact_lock(%s, %s)", [_LOCK_CLASS, key])
