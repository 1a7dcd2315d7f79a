"""Write booth when storage fails: a full disk, another process's lock, a broken connection."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from django.db import DataError, IntegrityError, InterfaceError, OperationalError, connection

from accounts.models import Space
from fluxcore import clock, db_errors
from fluxcore.errors import Conflict, DiskFull, StorageUnavailable
from fluxcore.writes import batch, booth
from tests.core.test_booth import Held, add, names


@pytest.mark.parametrize(
    ("error", "ours"),
    [
        (OperationalError("database or disk is full"), DiskFull),
        (OperationalError('could not extend file "base/1": No space left on device'), DiskFull),
        (OperationalError("database is locked"), StorageUnavailable),
        (OperationalError("server closed the connection unexpectedly"), StorageUnavailable),
        (InterfaceError("connection already closed"), StorageUnavailable),
    ],
)
def test_errors_of_the_database_become_errors_of_ours(error, ours):
    found = db_errors.translate(error)
    assert isinstance(found, ours)
    assert str(error) not in found.message


@pytest.mark.parametrize("error", [Conflict(), ValueError("x"), IntegrityError("x"), DataError("x")])
def test_other_errors_are_raised_unchanged(error):
    assert db_errors.translate(error) is error


@pytest.mark.sqlite_only
def test_a_full_disk_is_reported_and_reads_continue(transactional_db):
    add("before")
    with connection.cursor() as cursor:
        cursor.execute("VACUUM")  # pages that earlier tests left free would make room
        (pages,) = cursor.execute("PRAGMA page_count").fetchone()
        cursor.execute(f"PRAGMA max_page_count={pages}")
    try:
        with pytest.raises(DiskFull) as refusal:
            booth.write(lambda: [add(f"{number:03}" + "x" * 60) for number in range(900)])
        assert refusal.value.status == 507
        assert names() == ["before"]
    finally:
        connection.close()
    assert booth.write(lambda: add("after")) == "after"


@pytest.fixture
def lock(transactional_db):
    """Somebody else's write lock on the SQLite file; waits are short so that the test is."""
    with closing(sqlite3.connect(connection.settings_dict["NAME"], isolation_level=None)) as other:
        yield other
    connection.close()


def be_impatient():
    connection.cursor().execute("PRAGMA busy_timeout=50")


@pytest.mark.sqlite_only
def test_a_lock_that_is_not_released_gives_503_with_retry_after(lock):
    connection.ensure_connection()
    be_impatient()
    lock.execute("BEGIN IMMEDIATE")
    with pytest.raises(StorageUnavailable) as refusal:
        booth.write(lambda: add("one"))
    assert refusal.value.status == 503
    assert refusal.value.retry_after == 2
    lock.execute("ROLLBACK")
    assert booth.write(lambda: add("two")) == "two"


@pytest.mark.sqlite_only
def test_a_batch_that_cannot_begin_waits_once_not_once_per_caller(threaded, lock, caplog):
    booth.write(be_impatient)
    line = booth.write(lambda: connection.connection)
    held = Held()
    lock.execute("BEGIN IMMEDIATE")
    found = held.then(*(lambda number=number: add(f"s{number}") for number in range(12)))
    lock.execute("ROLLBACK")
    assert [type(error) for error in found] == [StorageUnavailable] * 12
    refusals = [record for record in caplog.records if "refused a write" in record.getMessage()]
    assert len(refusals) == 1
    assert booth.write(lambda: connection.connection) is line  # nor is it asked again on a new connection
    assert names() == []


@pytest.mark.sqlite_only
def test_callers_behind_a_refused_batch_do_not_wait_as_long_again(threaded, lock, monkeypatch):
    monkeypatch.setattr(booth, "PATIENCE_SECONDS", 0.0)
    monkeypatch.setattr(booth, "MAX_BATCH", 1)
    booth.write(be_impatient)
    held = Held()
    lock.execute("BEGIN IMMEDIATE")
    began = []

    def work():
        began.append(1)

    found = held.then(*[work] * 6)
    lock.execute("ROLLBACK")
    assert [type(error) for error in found] == [StorageUnavailable] * 6
    assert began == []


def backend() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        return cursor.fetchone()[0]


def terminate(pid: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(%s)", [pid])


@pytest.fixture
def postgresql(transactional_db):
    if connection.vendor != "postgresql":
        pytest.skip("PostgreSQL only: SQLite has no connection to lose")


def test_a_connection_lost_while_idle_is_not_noticed(postgresql, threaded):
    terminate(booth.write(backend))
    assert booth.write(lambda: add("one")) == "one"


def test_a_connection_lost_during_the_work_is_tried_once_more(postgresql, threaded):
    tries = []

    def work():
        tries.append(1)
        Space.objects.create(name=f"try{len(tries)}", created_at=clock.now())
        if len(tries) == 1:
            terminate(backend())

    booth.write(work)
    assert len(tries) == 2
    assert names() == ["try2"]


def test_a_caller_that_always_breaks_the_connection_gets_an_error(postgresql, threaded):
    with pytest.raises(StorageUnavailable):
        booth.write(lambda: terminate(backend()))
    assert booth.write(lambda: add("one")) == "one"


@pytest.mark.sqlite_only
def test_a_disk_that_fails_in_mid_batch_leaves_no_acknowledged_write_behind(transactional_db, tmp_path):
    """SQLite then undoes the whole transaction, savepoints included; the batch must not go on without one."""
    done = subprocess.run(
        [sys.executable, "-c", FAILING_DISK],
        env={**os.environ, "FLUX_HOME": str(tmp_path), "FLUX_NAME": "disk"},
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[2],
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    acknowledged, stored, links = json.loads(done.stdout)
    assert 0 < acknowledged < 150, "the disk must fail in the middle for this to prove anything"
    assert acknowledged == stored == links


FAILING_DISK = """
import json, os, resource, signal
os.environ["DJANGO_SETTINGS_MODULE"] = "fluxsite.settings"
for name in ("FLUX_DOOR", "DATABASE_URL"):
    os.environ.pop(name, None)
from fluxsite.home import current_home, make_home
make_home(current_home())
current_home().config.write_text("MAX_GRAIN_BYTES: 65536")
import django
django.setup()
from django.core.management import call_command
call_command("migrate", verbosity=0)
from accounts import agents
from accounts.models import AuditEntry, Space
from accounts.principals import shell
from fluxcore.writes import batch, booth
from memory.grains import store
from memory.grains.models import Grain
agents.create_space(shell(), name="main")
principal = shell(Space.objects.get())
callers, real = [], booth.write
booth.write = lambda work, lock="instance", agent="": callers.append(batch.Caller(work, lock))
for number in range(150):
    store.store(principal, content=f"{number} " + "x" * 60_000)
booth.write = real
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (4_500_000, resource.RLIM_INFINITY))
batch.commit_batch(callers)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
acknowledged = sum(caller.reply.error() is None for caller in callers)
links = AuditEntry.objects.filter(action="grains.store").count()
print(json.dumps([acknowledged, Grain.objects.count(), links]))
"""


def test_an_error_of_the_orm_rolls_back_its_caller_alone_and_once(transactional_db):
    """The ORM marks the connection for rollback; the savepoint is enough, and nobody runs twice."""
    ran = []

    def good(number):
        ran.append(number)
        return add(f"good {number}")

    def bad():
        ran.append("bad")
        add("twice")
        add("twice")

    callers = [batch.Caller(work, "instance") for work in (lambda: good(1), bad, lambda: good(2))]
    batch.commit_batch(callers)
    assert ran == [1, "bad", 2]
    assert [caller.reply.error() is None for caller in callers] == [True, False, True]
    assert names() == ["good 1", "good 2"]
