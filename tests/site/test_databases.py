"""Database settings from DATABASE_URL, and their durability."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from django.db import connection, transaction

from fluxsite.databases import database, wal_is_safe
from fluxsite.env import EnvError

HERE = Path("/data/flux.db")


def read(url, durability="full"):
    return database(url, default=HERE, durability=durability)


@pytest.mark.parametrize(
    ("version", "safe"),
    [
        ((3, 7, 0), False),
        ((3, 40, 1), False),
        ((3, 44, 5), False),
        ((3, 44, 6), True),
        ((3, 44, 9), True),
        ((3, 45, 0), False),
        ((3, 50, 4), False),
        ((3, 50, 6), False),
        ((3, 50, 7), True),
        ((3, 51, 0), False),
        ((3, 51, 1), False),
        ((3, 51, 2), False),
        ((3, 51, 3), True),
        ((3, 53, 4), True),
        ((4, 0, 0), True),
    ],
)
def test_which_sqlite_may_use_a_write_ahead_log(version, safe):
    assert wal_is_safe(version) is safe


def test_the_linked_sqlite_is_a_safe_one():
    assert wal_is_safe(sqlite3.sqlite_version_info[:3])
    assert "pysqlite3" in sqlite3.connect.__module__ + repr(sqlite3)


@pytest.mark.parametrize("durability", ["full", "normal"])
@pytest.mark.parametrize("version", [(3, 40, 1), (3, 46, 1), (3, 51, 2)])
def test_an_affected_sqlite_writes_no_write_ahead_log(monkeypatch, tmp_path, version, durability):
    def opened():
        """Journal and synchronous of the file, opened as these settings say."""
        options = database(None, default=tmp_path / "flux.db", durability=durability)["OPTIONS"]
        with closing(sqlite3.connect(tmp_path / "flux.db")) as line:
            line.executescript(options["init_command"])
            line.execute("CREATE TABLE IF NOT EXISTS kept (number)")
            return [line.execute(f"PRAGMA {name}").fetchone()[0] for name in ("journal_mode", "synchronous")]

    assert opened() == ["wal", {"full": 2, "normal": 1}[durability]]
    monkeypatch.setattr(sqlite3, "sqlite_version_info", version)
    # Also a file that an unaffected version left in that mode; and a rollback journal is safe with FULL alone.
    assert opened() == ["delete", 2]


def test_nothing_said_means_the_file_in_the_data_home():
    for url in (None, ""):
        assert read(url)["NAME"] == "/data/flux.db"
        assert read(url)["ENGINE"].endswith("sqlite3")


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("sqlite:///srv/flux.db", "/srv/flux.db"),
        ("sqlite:////srv/flux.db", "/srv/flux.db"),
        ("sqlite:///srv/my%20flux.db", "/srv/my flux.db"),
        ("SQLITE:///srv/flux.db", "/srv/flux.db"),
    ],
)
def test_a_sqlite_url_names_an_absolute_path(url, path):
    assert read(url)["NAME"] == path


def test_a_postgresql_url_is_taken_apart_and_decoded():
    found = read("postgresql://us%40er:p%3Aa%2Fs%3Fs@db.example:5433/my%20flux?sslmode=require&pool=12")
    assert (found["USER"], found["PASSWORD"], found["HOST"], found["PORT"]) == (
        "us@er",
        "p:a/s?s",
        "db.example",
        "5433",
    )
    assert found["NAME"] == "my flux"
    assert found["OPTIONS"]["sslmode"] == "require"
    assert found["OPTIONS"]["pool"]["max_size"] == 12
    assert "pool" not in {key for key in found["OPTIONS"] if key != "pool"}


def test_a_postgresql_url_may_say_little():
    found = read("postgres://localhost")
    assert (found["NAME"], found["USER"], found["PORT"]) == ("flux", "", "")
    assert read("postgresql:///flux?host=%2Frun%2Fpostgresql")["HOST"] == "/run/postgresql"
    assert read("postgresql://u@[::1]:5432/flux")["HOST"] == "::1"


def test_durability_normal_is_said_to_the_database():
    assert "synchronous_commit=off" in read("postgresql://h/d", "normal")["OPTIONS"]["options"]
    assert "options" not in read("postgresql://h/d")["OPTIONS"]
    both = read("postgresql://h/d?options=-c%20statement_timeout%3D5000", "normal")["OPTIONS"]["options"]
    assert both == "-c statement_timeout=5000 -c synchronous_commit=off"
    assert "synchronous=NORMAL" in read(None, "normal")["OPTIONS"]["init_command"]
    assert "synchronous=FULL" in read(None)["OPTIONS"]["init_command"]


@pytest.mark.parametrize(
    "url",
    [
        "mysql://h/d",
        "flux.db",
        "/srv/flux.db",
        "sqlite://",
        "sqlite:///",
        "sqlite://srv/flux.db",
        "sqlite::memory:",
        "postgresql",
        "postgresql://secret-pw@h:port/d",
        "postgresql://u:secret-pw@h:99999/d",
        "postgresql://u:secret-pw@[::1/d",
        "postgresql://u:secret-pw@h/d?pool=many",
        "postgresql://u:secret-pw@h/d?pool=0",
        "postgresql://u:secret-pw@h/d?sslmode",
    ],
)
def test_nonsense_is_refused_without_quoting_a_password(url):
    with pytest.raises(EnvError, match="DATABASE_URL") as refusal:
        read(url) if url != "postgresql" else read("postgresqlx://h")
    assert "secret-pw" not in str(refusal.value)


@pytest.mark.sqlite_only
def test_the_pragmas_are_in_force_on_a_real_connection(db):
    def pragma(name):
        return connection.cursor().execute(f"PRAGMA {name}").fetchone()[0]

    assert pragma("journal_mode") == "wal"
    assert pragma("synchronous") == 2
    assert pragma("busy_timeout") == 8000
    assert pragma("secure_delete") == 1
    assert pragma("foreign_keys") == 1
    assert pragma("mmap_size") == 0
    assert pragma("temp_store") == 2


@pytest.mark.sqlite_only
@pytest.mark.django_db(transaction=True)
def test_a_transaction_takes_the_write_lock_when_it_begins():
    with (
        transaction.atomic(),
        closing(sqlite3.connect(connection.settings_dict["NAME"], timeout=0, isolation_level=None)) as other,
        pytest.raises(sqlite3.OperationalError, match="locked"),
    ):
        other.execute("BEGIN IMMEDIATE")


@pytest.mark.django_db(transaction=True)
def test_postgresql_waits_for_the_disk():
    if connection.vendor != "postgresql":
        pytest.skip("PostgreSQL only")
    with connection.cursor() as cursor:
        cursor.execute("SHOW synchronous_commit")
        assert cursor.fetchone()[0] == "on"
