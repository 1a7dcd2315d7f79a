"""Django's DATABASES from DATABASE_URL, with the reason for each option."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from fluxsite.env import EnvError

# Seconds a writer waits for SQLite's lock before the answer is 503 with Retry-After.
BUSY_SECONDS = 8


def use_safe_sqlite() -> None:
    """Replace the interpreter's sqlite3 by pysqlite3, before Django's back end imports it.

    The system library may have the WAL-reset bug (3.7.0 to 3.51.2), which can corrupt a database
    written by several processes. If there is no pysqlite3 wheel, `checks.py` warns.
    """
    try:
        import pysqlite3
    except ImportError:
        return
    sys.modules["sqlite3"] = pysqlite3
    sys.modules["sqlite3.dbapi2"] = pysqlite3.dbapi2


def wal_is_safe(version: tuple[int, int, int]) -> bool:
    """True for SQLite lines without the WAL-reset bug: 3.51.3 and up, and two back-ports."""
    if version >= (3, 51, 3):
        return True
    return (3, 50, 7) <= version < (3, 51, 0) or (3, 44, 6) <= version < (3, 45, 0)


def sqlite(path: Path, *, durability: str) -> dict[str, Any]:
    import sqlite3

    journal = "WAL" if wal_is_safe(sqlite3.sqlite_version_info[:3]) else "DELETE"
    # FULL survives power loss, NORMAL only the end of a process. In DELETE mode always FULL.
    synchronous = "NORMAL" if durability == "normal" and journal == "WAL" else "FULL"
    return {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": str(path),
        "CONN_MAX_AGE": None,
        "OPTIONS": {
            # A transaction that reads first and writes later must upgrade its lock and may fail with
            # "locked" at once; one that takes the write lock at BEGIN waits for it instead.
            "transaction_mode": "IMMEDIATE",
            "timeout": BUSY_SECONDS,
            "init_command": (
                f"PRAGMA journal_mode={journal};"
                f"PRAGMA synchronous={synchronous};"
                f"PRAGMA busy_timeout={BUSY_SECONDS * 1000};"
                "PRAGMA secure_delete=ON;"  # purged text must not remain in free pages
                "PRAGMA temp_store=MEMORY"
            ),
        },
    }


def postgresql(url: str, *, durability: str) -> dict[str, Any]:
    try:
        parts = urlsplit(url)
        port = parts.port
        query = dict(parse_qsl(parts.query, strict_parsing=bool(parts.query)))
    except ValueError:
        # Without the reason: it may quote the URL, and the URL may hold a password.
        raise EnvError("DATABASE_URL cannot be read as postgresql://user:password@host:port/name.") from None
    pool = query.pop("pool", "20")  # four processes stay below PostgreSQL's default of 100 connections
    if not (pool.isascii() and pool.isdecimal() and 1 <= int(pool) <= 1000):
        raise EnvError("DATABASE_URL: pool must be a whole number from 1 to 1000.")
    options: dict[str, Any] = {
        "pool": {"min_size": 1, "max_size": int(pool), "timeout": BUSY_SECONDS},
        "connect_timeout": BUSY_SECONDS,
    }
    if durability == "normal":
        options["options"] = f"{query.pop('options', '')} -c synchronous_commit=off".strip()
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": unquote(parts.path.lstrip("/")) or "flux",
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": query.pop("host", None) or parts.hostname or "",
        "PORT": str(port or ""),
        "CONN_MAX_AGE": 0,  # the pool keeps the connections
        "OPTIONS": {**query, **options},
    }


def database(url: str | None, *, default: Path, durability: str) -> dict[str, Any]:
    if not url:
        return sqlite(default, durability=durability)
    scheme = url.split(":", 1)[0].lower()
    if scheme in ("postgres", "postgresql"):
        return postgresql(url, durability=durability)
    if scheme == "sqlite" and url[6:].startswith(":///") and url[10:].strip("/"):
        return sqlite(Path("/" + unquote(url[10:]).lstrip("/")), durability=durability)
    raise EnvError("DATABASE_URL must start with postgresql:// or sqlite:/// followed by an absolute path.")
