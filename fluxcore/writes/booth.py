"""The write booth: concurrent writers of a process share one commit, each in a savepoint of its own.

A durable commit costs a disk flush whatever is in it, so the booth takes everybody who is waiting
(at most MAX_BATCH), runs their work in one transaction and answers after the commit. A caller whose
work fails is rolled back alone. What every write must leave behind (audit entries, events) is put on
the caller's outbox and written once per batch, before the commit: no audit, no write.
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
# Of one agent's writes so many go into a batch while others write too: they wait for its commit.
SHARE = 16
# Seconds for which a second writer is expected back after it was seen.
SHARING_SECONDS = 1.0
# Longer than the database's own lock wait, so that its answer is the one the caller sees.
WAIT_SECONDS = 30.0
# When the database refuses a whole batch, whoever has waited this long behind it is told so at once:
# with the lock's own wait nobody then hears nothing for more than ten seconds.
PATIENCE_SECONDS = 2.0

_batch_writers: dict[str, Callable[[list[Any]], None]] = {}
_running = threading.local()


class _Caller:
    __slots__ = ("agent", "came", "lock", "outbox", "reply", "work")

    def __init__(self, work: Callable[[], Any], lock: str, agent: str = "") -> None:
        self.work = work
        self.lock = lock
        self.agent = agent
        self.came = time.monotonic()
        self.outbox = Outbox()
        self.reply = Reply()


def batch_writer(kind: str, write: Callable[[list[Any]], None]) -> None:
    """Register who writes the slips' rows of one kind, once per batch and inside its transaction."""
    _batch_writers[kind] = write


def outbox() -> Outbox:
    """The outbox of the work that is running now; only valid inside `write`."""
    current = getattr(_running, "outbox", None)
    if current is None:
        raise RuntimeError("This must run inside booth.write(...).")
    return cast(Outbox, current)


def write(work: Callable[[], T], *, lock: str = write_locks.INSTANCE, agent: str = "") -> T:
    """Run `work` in a durable transaction and return its result after the commit.

    Lane (the space) and agent say whose turn it takes among those who wait.
    """
    if getattr(_running, "outbox", None) is not None:
        # A verb that calls another verb shares its transaction and its outbox.
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
            return cast(T, reply.result())  # the work's own error, or an answer that came at the last moment
        if reply.cancel():
            raise Busy(retry_after=5) from None  # it had not begun and never will
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
    """Run `work` soon and do not wait: for notes whose loss on a kill is acceptable and documented."""
    if settings.BOOTH == "inline" or getattr(_running, "outbox", None) is not None:
        try:
            write(work, lock=lock)
        except Exception as error:
            log.warning("a write-behind note failed: %s", type(error).__name__)
        return
    try:
        _shared_booth().put(work, lock, then=_log_failure)
    except Busy:
        log.warning("a write-behind note was dropped: the booth is full")


def depth() -> int:
    """Callers waiting in this process."""
    return len(_current.waiting) if _current is not None else 0


def _log_failure(reply: Reply) -> None:
    error = reply.error()
    if error is not None:
        log.error("a write-behind note failed: %s", type(error).__name__)


class Booth:
    def __init__(self) -> None:
        self.pid = os.getpid()
        self.waiting: deque[_Caller] = deque()
        self.bell = threading.Condition()
        self.seconds_per_caller = 0.01
        self._shared_until = 0.0  # until when more than one agent is taken to write, in monotonic seconds
        self.thread = threading.Thread(target=self._serve, name="write-booth", daemon=True)
        self.thread.start()

    def open(self) -> bool:
        """False in a process forked from the booth's, and if its thread should ever have died."""
        return self.pid == os.getpid() and self.thread.is_alive()

    def put(
        self,
        work: Callable[[], Any],
        lock: str = write_locks.INSTANCE,
        agent: str = "",
        *,
        then: Callable[[Reply], None] | None = None,
    ) -> Reply:
        caller = _Caller(work, lock, agent)
        if then is not None:
            caller.reply.then(then)
        with self.bell:
            if len(self.waiting) >= config.current().MAX_WRITE_QUEUE_DEPTH:
                raise Busy(retry_after=max(1.0, len(self.waiting) * self.seconds_per_caller))
            self.waiting.append(caller)
            self.bell.notify()
        return caller.reply

    def _serve(self) -> None:
        while True:
            with self.bell:
                while not self.waiting:
                    self.bell.wait()
                taken = self._take()
            # A caller who gave up waiting has cancelled; from here on nobody can.
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
                    self._refuse_the_patient()
            spent = (time.monotonic() - started) / len(batch)
            self.seconds_per_caller += 0.1 * (spent - self.seconds_per_caller)

    def _take(self) -> list[_Caller]:
        """The next batch, in turn by space and then agent; each agent's own writes stay in their order."""
        spaces: dict[str, dict[str, list[_Caller]]] = {}
        for caller in self.waiting:
            spaces.setdefault(caller.lock, {}).setdefault(caller.agent, []).append(caller)
        now = time.monotonic()
        if sum(map(len, spaces.values())) > 1:
            self._shared_until = now + SHARING_SECONDS
        share = SHARE if now < self._shared_until else MAX_BATCH
        # An agent's first write comes before anybody's second, and spaces alternate within each round.
        turns = [
            (position, place, caller)
            for agents in spaces.values()
            for place, callers in enumerate(agents.values())
            for position, caller in enumerate(callers[:share])
        ]
        turns.sort(key=lambda turn: turn[:2])
        taken = [caller for _, _, caller in turns[:MAX_BATCH]]
        left = set(map(id, taken))
        self.waiting = deque(caller for caller in self.waiting if id(caller) not in left)
        return taken

    def _refuse_the_patient(self) -> None:
        """The database took nothing for seconds: do not let those who queued behind that wait as long again."""
        since = time.monotonic() - PATIENCE_SECONDS
        with self.bell:
            late = [caller for caller in self.waiting if caller.came < since]
            self.waiting = deque(caller for caller in self.waiting if caller.came >= since)
        late = [caller for caller in late if caller.reply.begin()]
        _answer(late, StorageUnavailable(retry_after=2))


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
    """Run a batch and answer its callers; True if the database did not even let it begin.

    If what is shared fails, each caller gets a transaction of its own, so that one who poisons the
    closers or the commit harms nobody else.
    """
    for attempt in (1, 2):
        outcomes: list[tuple[_Caller, Any, BaseException | None]] = []
        began = committing = False
        line: Any = None
        try:
            with transaction.atomic():
                line = connection.connection
                write_locks.take_locks({caller.lock for caller in batch})
                began = True
                with connection.cursor() as cursor:
                    for caller in batch:
                        outcomes.append(_run(caller, cursor, alone=len(batch) == 1))
                _write_batch_rows([caller for caller, _, error in outcomes if error is None])
                _refuse_autocommit()
                committing = True
        except Exception as error:
            # Asked of the connection the batch had: leaving the block may already have made a new one.
            lost = is_connection_lost(line or connection.connection)
            if lost:
                connection.close()
            if committing and lost:
                _answer(batch, OutcomeUnknown(retry_after=1))
                return False
            if lost and attempt == 1 and not connection.in_atomic_block:
                continue  # nothing was committed: a fresh connection may try again
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
    """The last look before a commit that many rely on: SQLite ends a transaction by itself when its disk fails."""
    if connection.vendor == "sqlite" and not connection.connection.in_transaction:
        raise StorageUnavailable(retry_after=2)


def _commit_each(batch: list[_Caller]) -> bool:
    for position, caller in enumerate(batch):
        if _commit([caller]):
            # The database has stopped taking writes meanwhile; asking once per caller would take for ever.
            _answer(batch[position:], StorageUnavailable(retry_after=2))
            return True
    return False


def _run(caller: _Caller, cursor: Any, *, alone: bool) -> tuple[_Caller, Any, BaseException | None]:
    caller.outbox = Outbox()
    _running.outbox = caller.outbox
    try:
        if alone:
            # The transaction itself is the savepoint: let its failure roll everything back.
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
    """As a nested `atomic` block has it, at a fraction of its cost: this is taken once per caller."""
    cursor.execute("SAVEPOINT caller")
    try:
        yield
        cursor.execute("RELEASE SAVEPOINT caller")  # inside: in a transaction PostgreSQL gave up, this is what fails
    except BaseException:
        if not is_connection_lost(connection.connection):
            connection.needs_rollback = False  # the ORM sets it on an error; the savepoint is what it asks for
            try:
                cursor.execute("ROLLBACK TO SAVEPOINT caller")
                cursor.execute("RELEASE SAVEPOINT caller")
            except Exception:
                # SQLite undoes a whole transaction on an I/O error, savepoints included. What came before in
                # this batch is gone, and going on would commit every statement by itself: the batch is void.
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
            raise  # the whole database's trouble: `_commit` knows what to do
        except DatabaseError as error:
            log.critical("the %s of a write could not be kept: %s", kind, type(error).__name__)
            raise StorageUnavailable(f"The {kind} of this write could not be kept, so nothing was stored.") from None


def _answer(batch: list[_Caller], error: BaseException) -> None:
    for caller in batch:
        if not caller.reply.done():
            caller.reply.answer(error=error)
