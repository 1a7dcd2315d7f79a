"""Write booth: concurrent writers of a process share one commit, each in its own savepoint.

A durable commit costs a disk flush whatever its size, so the booth takes all waiting callers (at most MAX_BATCH), runs
their work in one transaction and answers after the commit. Work that fails is rolled back without affecting the others.
Audit entries and events are collected in each caller's outbox and written once per batch, before the commit, so that
there is no write without its audit entry.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar, cast

from django.conf import settings
from django.db import DatabaseError, InterfaceError, OperationalError, connection, transaction

from fluxcore import config, metrics
from fluxcore.db_errors import error_place, is_connection_lost, translate
from fluxcore.errors import Busy, FluxError, OutcomeUnknown, StorageUnavailable
from fluxcore.writes import write_locks
from fluxcore.writes.outbox import Outbox
from fluxcore.writes.reply import Reply

log = logging.getLogger(__name__)

T = TypeVar("T")
MAX_BATCH = 256
# Most writes of one agent in a batch while other agents write too, because they wait for its commit.
SHARE = 16
# Time for which SHARE applies after two agents were waiting at once.
SHARING_SECONDS = 1.0
# Longest wait for an answer: longer than the database's own lock timeout, so that callers see its error.
WAIT_SECONDS = 30.0
# When the database refuses a whole batch, callers that have waited longer than this are refused too. Together with the
# database's lock timeout nobody waits for more than ten seconds.
PATIENCE_SECONDS = 2.0

_batch_writers: dict[str, Callable[[list[Any]], None]] = {}
_running = threading.local()


class _Caller:
    """A queued write: its work, its outbox and its reply."""

    __slots__ = ("agent", "lock", "outbox", "queued_at", "reply", "work")

    def __init__(self, work: Callable[[], Any], lock: str, agent: str = "") -> None:
        self.work = work
        self.lock = lock
        self.agent = agent
        self.queued_at = time.monotonic()
        self.outbox = Outbox()
        self.reply = Reply()


def batch_writer(kind: str, write: Callable[[list[Any]], None]) -> None:
    """Register the function that writes the outbox rows of one kind, once per batch inside its transaction."""
    _batch_writers[kind] = write


def outbox() -> Outbox:
    """The outbox of the running write; only valid inside `write`."""
    current = getattr(_running, "outbox", None)
    if current is None:
        raise RuntimeError("This must run inside booth.write(...).")
    return cast(Outbox, current)


def write(work: Callable[[], T], *, lock: str = write_locks.INSTANCE, agent: str = "") -> T:
    """Run `work` in a durable transaction and return its result after the commit.

    The order of waiting writes is fair between locks (spaces), and between the agents of each.
    """
    if getattr(_running, "outbox", None) is not None:
        # A verb that is called by another verb shares its transaction and outbox.
        return _within(outbox(), work)
    if settings.BOOTH == "inline":
        caller = _Caller(work, lock)
        _commit([caller])
        return cast(T, caller.reply.result())
    reply = _shared_booth().put(work, lock, agent)
    try:
        return cast(T, reply.result(timeout=WAIT_SECONDS))
    except TimeoutError:
        if reply.done():
            return cast(T, reply.result())  # the work raised TimeoutError, or was answered just now
        if reply.cancel():
            raise Busy(retry_after=5) from None  # it has not begun, and will not
        raise OutcomeUnknown(retry_after=5) from None


def _within(shared: Outbox, work: Callable[[], T]) -> T:
    mark = shared.mark()
    try:
        with transaction.atomic():
            return work()
    except BaseException:
        shared.roll_back_to(mark)
        raise


def post(work: Callable[[], Any], *, lock: str = write_locks.INSTANCE) -> None:
    """Run `work` soon without waiting for it, for rows that may be lost in a kill, where that is documented."""
    if settings.BOOTH == "inline" or getattr(_running, "outbox", None) is not None:
        try:
            write(work, lock=lock)
        except Exception as error:
            log.warning("a write-behind note failed: %s", type(error).__name__)
        return
    try:
        _shared_booth().put(work, lock, on_answer=_log_failure)
    except Busy:
        log.warning("a write-behind was dropped: the write queue is full")


def depth() -> int:
    """Number of writes waiting in this process."""
    return len(_current.waiting) if _current is not None else 0


def _log_failure(reply: Reply) -> None:
    error = reply.error()
    if error is not None:
        log.error("a write-behind note failed: %s", type(error).__name__)


class Booth:
    """Queue of writes and the thread that runs them in batches."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        self.waiting: deque[_Caller] = deque()
        self.condition = threading.Condition()  # guards `waiting`, notified when a caller is added
        self.seconds_per_caller = 0.01
        self._shared_until = 0.0  # end of the time in which SHARE applies, in monotonic seconds
        self.thread = threading.Thread(target=self._serve, name="write-booth", daemon=True)
        self.thread.start()

    def open(self) -> bool:
        """Whether the booth can be used; False in a forked process or if its thread has died."""
        return self.pid == os.getpid() and self.thread.is_alive()

    def put(
        self,
        work: Callable[[], Any],
        lock: str = write_locks.INSTANCE,
        agent: str = "",
        *,
        on_answer: Callable[[Reply], None] | None = None,
    ) -> Reply:
        """Queue a write; its reply is answered after the commit."""
        caller = _Caller(work, lock, agent)
        if on_answer is not None:
            caller.reply.call_when_done(on_answer)
        with self.condition:
            if len(self.waiting) >= config.current().MAX_WRITE_QUEUE_DEPTH:
                raise Busy(retry_after=max(1.0, len(self.waiting) * self.seconds_per_caller))
            self.waiting.append(caller)
            self.condition.notify()
        return caller.reply

    def _serve(self) -> None:
        while True:
            with self.condition:
                while not self.waiting:
                    self.condition.wait()
                taken = self._take()
            # Callers that gave up waiting have cancelled their reply; after `begin` it cannot be cancelled.
            batch = [caller for caller in taken if caller.reply.begin()]
            if not batch:
                continue
            started = time.monotonic()
            try:
                metrics.BATCH_SIZE.observe(len(batch))
                refused = _commit(batch)
            except BaseException as error:
                log.critical("the write booth failed on a batch of %d: %s", len(batch), error_place(error))
                _answer(batch, StorageUnavailable(retry_after=1))
            else:
                if refused:
                    self._refuse_long_waiting()
            spent = (time.monotonic() - started) / len(batch)
            self.seconds_per_caller += 0.1 * (spent - self.seconds_per_caller)

    def _take(self) -> list[_Caller]:
        """Take the next batch, fairly by space and agent; each agent's own writes stay in their order."""
        spaces: dict[str, dict[str, list[_Caller]]] = {}
        for caller in self.waiting:
            spaces.setdefault(caller.lock, {}).setdefault(caller.agent, []).append(caller)
        now = time.monotonic()
        if sum(map(len, spaces.values())) > 1:
            self._shared_until = now + SHARING_SECONDS
        share = SHARE if now < self._shared_until else MAX_BATCH
        # The first write of each agent comes before the second of any, and spaces alternate within each round.
        turns = [
            (position, place, caller)
            for agents in spaces.values()
            for place, callers in enumerate(agents.values())
            for position, caller in enumerate(callers[:share])
        ]
        turns.sort(key=lambda turn: turn[:2])
        taken = [caller for _, _, caller in turns[:MAX_BATCH]]
        taken_ids = set(map(id, taken))
        self.waiting = deque(caller for caller in self.waiting if id(caller) not in taken_ids)
        return taken

    def _refuse_long_waiting(self) -> None:
        """Refuse callers that waited behind a batch the database refused, so that they do not wait as long again."""
        since = time.monotonic() - PATIENCE_SECONDS
        with self.condition:
            refused = [caller for caller in self.waiting if caller.queued_at < since]
            self.waiting = deque(caller for caller in self.waiting if caller.queued_at >= since)
        _answer([caller for caller in refused if caller.reply.begin()], StorageUnavailable(retry_after=2))


_current: Booth | None = None
_booth_lock = threading.Lock()


def _shared_booth() -> Booth:
    global _current
    if _current is None or not _current.open():
        with _booth_lock:
            if _current is None or not _current.open():
                _current = Booth()
    return _current


def _commit(batch: list[_Caller]) -> bool:
    """Run a batch and answer its callers; True if the database refused to begin its transaction.

    If the shared transaction fails, each caller gets its own one, so that rows of one caller which break a batch writer
    or the commit do not harm the others.
    """
    for attempt in (1, 2):
        outcomes: list[tuple[_Caller, Any, BaseException | None]] = []
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
                _write_batch_rows([caller for caller, _, error in outcomes if error is None])
                _refuse_autocommit()
                committing = True
        except Exception as error:
            # The connection that the batch used: leaving the block may already have opened a new one.
            lost = is_connection_lost(raw_connection or connection.connection)
            if lost:
                connection.close()
            if committing and lost:
                _answer(batch, OutcomeUnknown(retry_after=1))
                return False
            if lost and attempt == 1 and not connection.in_atomic_block:
                continue  # nothing was committed, so that it can be tried again with a new connection
            if len(batch) > 1 and began:
                return _commit_each(batch)
            _answer(batch, translate(error))
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


def _commit_each(batch: list[_Caller]) -> bool:
    """Commit each caller separately; True if the database refused to begin a transaction."""
    for position, caller in enumerate(batch):
        if _commit([caller]):
            # The database refuses writes now; trying each of the other callers would take too long.
            _answer(batch[position:], StorageUnavailable(retry_after=2))
            return True
    return False


def _run(caller: _Caller, cursor: Any, *, alone: bool) -> tuple[_Caller, Any, BaseException | None]:
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


def _write_batch_rows(callers: list[_Caller]) -> None:
    for kind, write_rows in _batch_writers.items():
        rows = [row for caller in callers for row in caller.outbox.rows.get(kind, ())]
        if not rows:
            continue
        try:
            write_rows(rows)
        except (OperationalError, InterfaceError):
            raise  # an error of the whole database, which `_commit` handles
        except DatabaseError as error:
            log.critical("the %s rows of a write could not be written: %s", kind, type(error).__name__)
            raise StorageUnavailable(
                f"The {kind} rows of this write could not be written. Nothing was stored; try again."
            ) from None


def _answer(batch: list[_Caller], error: BaseException) -> None:
    for caller in batch:
        if not caller.reply.done():
            caller.reply.answer(error=error)
