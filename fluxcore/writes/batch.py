"""Batch of writes: one transaction for all callers, a savepoint for each, one row writer per kind of outbox rows.

Work that fails is rolled back without affecting the others. Audit entries and events are collected in each caller's
outbox and written once per batch, before the commit, so that there is no write without its audit entry.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from django.db import DatabaseError, InterfaceError, OperationalError, connection, transaction

from fluxcore.db_errors import error_place, is_connection_lost, translate
from fluxcore.errors import FluxError, OutcomeUnknown, StorageUnavailable
from fluxcore.writes import write_locks
from fluxcore.writes.outbox import Outbox
from fluxcore.writes.reply import Reply

log = logging.getLogger(__name__)

_row_writers: dict[str, Callable[[list[Any]], None]] = {}
_running = threading.local()


class Caller:
    """A queued write: its work, its outbox and its reply."""

    __slots__ = ("agent", "lock", "outbox", "queued_at", "reply", "work")

    def __init__(self, work: Callable[[], Any], lock: str, agent: str = "") -> None:
        self.work = work
        self.lock = lock
        self.agent = agent
        self.queued_at = time.monotonic()
        self.outbox = Outbox()
        self.reply = Reply()


def register_row_writer(kind: str, write: Callable[[list[Any]], None]) -> None:
    """Register the function that writes the outbox rows of one kind, once per batch inside its transaction."""
    _row_writers[kind] = write


def running_outbox() -> Outbox | None:
    """The outbox of the write that runs in this thread."""
    return getattr(_running, "outbox", None)


def commit_batch(batch: list[Caller]) -> bool:
    """Run a batch and answer its callers; True if the database refused to begin its transaction.

    If the shared transaction fails, each caller gets its own one, so that rows of one caller which break a batch writer
    or the commit do not harm the others.
    """
    for attempt in (1, 2):
        outcomes: list[tuple[Caller, Any, BaseException | None]] = []
        began = committing = False
        raw_connection: Any = None
        try:
            with transaction.atomic():
                raw_connection = connection.connection
                write_locks.take_locks({caller.lock for caller in batch})
                began = True
                with connection.cursor() as cursor:
                    for caller in batch:
                        outcomes.append(_run(caller, cursor, alone=len(batch) == 1))
                _write_outbox_rows([caller for caller, _, error in outcomes if error is None])
                _refuse_autocommit()
                committing = True
        except Exception as error:
            # The connection that the batch used: leaving the block may already have opened a new one.
            lost = is_connection_lost(raw_connection or connection.connection)
            if lost:
                connection.close()
            if committing and lost:
                answer_all(batch, OutcomeUnknown(retry_after=1))
                return False
            if lost and attempt == 1 and not connection.in_atomic_block:
                continue  # nothing was committed, so that it can be tried again with a new connection
            if len(batch) > 1 and began:
                return _commit_each(batch)
            answer_all(batch, translate(error))
            return not began
        break
    for caller, result, failure in outcomes:
        caller.reply.answer(result, failure)
    for caller, _, failure in outcomes:
        if failure is None:
            for call in caller.outbox.after:
                try:
                    call()
                except Exception as error:
                    log.warning("a call after the commit failed: %s", error_place(error))
    return False


def _refuse_autocommit() -> None:
    """Check before the commit that SQLite still has a transaction: it ends one by itself when its disk fails."""
    if connection.vendor == "sqlite" and not connection.connection.in_transaction:
        raise StorageUnavailable(retry_after=2)


def _commit_each(batch: list[Caller]) -> bool:
    """Commit each caller separately; True if the database refused to begin a transaction."""
    for position, caller in enumerate(batch):
        if commit_batch([caller]):
            # The database refuses writes now; trying each of the other callers would take too long.
            answer_all(batch[position:], StorageUnavailable(retry_after=2))
            return True
    return False


def _run(caller: Caller, cursor: Any, *, alone: bool) -> tuple[Caller, Any, BaseException | None]:
    caller.outbox = Outbox()
    _running.outbox = caller.outbox
    try:
        if alone:
            # No savepoint is needed: a failure rolls back the transaction.
            return caller, caller.work(), None
        with _savepoint(cursor):
            return caller, caller.work(), None
    except (FluxError, DatabaseError) as error:
        if alone or is_connection_lost(connection.connection) or connection.needs_rollback:
            raise
        return caller, None, translate(error)
    except Exception as error:
        if alone or connection.needs_rollback:
            raise
        return caller, None, error
    finally:
        _running.outbox = None


@contextmanager
def _savepoint(cursor: Any) -> Iterator[None]:
    """A savepoint for one caller, as a nested `atomic` block has, at a fraction of its cost."""
    cursor.execute("SAVEPOINT caller")
    try:
        yield
        cursor.execute(
            "RELEASE SAVEPOINT caller"
        )  # inside `try`: it fails in a transaction that PostgreSQL has aborted
    except BaseException:
        if not is_connection_lost(connection.connection):
            connection.needs_rollback = False  # set by the ORM on an error, and settled by the savepoint
            try:
                cursor.execute("ROLLBACK TO SAVEPOINT caller")
                cursor.execute("RELEASE SAVEPOINT caller")
            except Exception:
                # On an I/O error SQLite rolls back the whole transaction with its savepoints. Earlier work of this
                # batch is lost, and every further statement would be committed by itself: the batch must be aborted.
                connection.needs_rollback = True
                raise
        raise


def _write_outbox_rows(callers: list[Caller]) -> None:
    for kind, write_rows in _row_writers.items():
        rows = [row for caller in callers for row in caller.outbox.rows.get(kind, ())]
        if not rows:
            continue
        try:
            write_rows(rows)
        except (OperationalError, InterfaceError):
            raise  # an error of the whole database, which `commit_batch` handles
        except DatabaseError as error:
            log.critical("the %s rows of a write could not be written: %s", kind, type(error).__name__)
            raise StorageUnavailable(
                f"The {kind} rows of this write could not be written. Nothing was stored; try again."
            ) from None


def answer_all(batch: list[Caller], error: BaseException) -> None:
    for caller in batch:
        if not caller.reply.done():
            caller.reply.answer(error=error)
