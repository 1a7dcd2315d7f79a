"""Lanes: writes of one space take turns over all processes, those of different spaces run side by side."""

from __future__ import annotations

import hashlib

from django.db import connection

# PostgreSQL: how long a batch waits for its turn, as long as SQLite waits for its lock.
LOCK_SECONDS = 8
_LOCK_CLASS = 0x464C5554  # our own number among the database's advisory locks
INSTANCE = "instance"
NO_LOCK = ""  # for rows that nobody else touches and whose order says nothing: they wait for nobody


def lock_key(name: str) -> int:
    """An advisory lock's number for a name; locks are taken in the order of the numbers, which may collide."""
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "big", signed=True)


def lock_name(space: int | None) -> str:
    """Writes under one lock take turns over all processes; those of different spaces run side by side."""
    return INSTANCE if space is None else f"space:{space}"


def take_locks(names: set[str]) -> None:
    """One batch at a time per lock over all processes, as SQLite's IMMEDIATE has it for the whole file.

    PostgreSQL would let batches of one space run side by side, but each holds its callers' locks until
    the commit, in whatever order they came: two batches then wait for each other in a circle, or
    collide on an equal row. Lanes are taken in one order, so they cannot do so either.
    """
    taken = {lock_key(name) for name in names if name != NO_LOCK}
    if connection.vendor == "postgresql" and taken:
        with connection.cursor() as cursor:
            cursor.execute("SELECT set_config('lock_timeout', %s, true)", [f"{LOCK_SECONDS}s"])
            for key in sorted(taken):
                cursor.execute("SELECT pg_advisory_xact_lock(%s, %s)", [_LOCK_CLASS, key])
