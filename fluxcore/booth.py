"""The write booth: concurrent writers of a process share one commit, each in a savepoint of its own.

A durable commit costs a disk flush whatever is in it, so the booth takes everybody who is waiting
(at most MAX_BATCH), runs their work in one transaction and answers after the commit. A caller whose
work fails is rolled back alone. What every write must leave behind (audit entries, events) is put on
the caller's slip and written once per batch, before the commit: no audit, no write.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from typing import Any, TypeVar, cast

from django.conf import settings
from django.db import DatabaseError, InterfaceError, OperationalError, connection, transaction

from fluxcore import config, metrics
from fluxcore.errors import Busy, DiskFull, FluxError, OutcomeUnknown, StorageUnavailable

log = logging.getLogger(__name__)

T = TypeVar("T")
MAX_BATCH = 256
# Longer than the database's own lock wait, so that its answer is the one the caller sees.
WAIT_SECONDS = 30.0

_closers: dict[str, Callable[[list[Any]], None]] = {}
_here = threading.local()


class Slip:
    """What one caller's work leaves for the batch: rows for the closers, calls for after the commit."""

    def __init__(self) -> None:
        self.rows: dict[str, list[Any]] = {}
        self.after: list[Callable[[], None]] = []

    def add(self, kind: str, row: Any) -> None:
        self.rows.setdefault(kind, []).append(row)

    def after_commit(self, call: Callable[[], None]) -> None:
        self.after.append(call)


class _Caller:
    __slots__ = ("future", "slip", "work")

    def __init__(self, work: Callable[[], Any]) -> None:
        self.work = work
        self.slip = Slip()
        self.future: Future[Any] = Future()


def closer(kind: str, write: Callable[[list[Any]], None]) -> None:
    """Register who writes the slips' rows of one kind, once per batch and inside its transaction."""
    _closers[kind] = write


def slip() -> Slip:
    """The slip of the work that is running now; only valid inside `write`."""
    current = getattr(_here, "slip", None)
    if current is None:
        raise RuntimeError("This must run inside booth.write(...).")
    return cast(Slip, current)


def write(work: Callable[[], T]) -> T:
    """Run `work` in a durable transaction and return its result after the commit."""
    if getattr(_here, "slip", None) is not None:
        # A verb that calls another verb shares its transaction and its slip.
        with transaction.atomic():
            return work()
    if settings.BOOTH == "inline":
        caller = _Caller(work)
        _commit([caller])
        return cast(T, caller.future.result())
    try:
        return cast(T, _booth().put(work).result(timeout=WAIT_SECONDS))
    except FutureTimeout:
        raise OutcomeUnknown(retry_after=5) from None


def post(work: Callable[[], Any]) -> None:
    """Run `work` soon and do not wait: for notes whose loss on a kill is acceptable and documented."""
    if settings.BOOTH == "inline" or getattr(_here, "slip", None) is not None:
        write(work)
        return
    try:
        _booth().put(work).add_done_callback(_log_failure)
    except Busy:
        log.warning("a write-behind note was dropped: the booth is full")


def depth() -> int:
    """Callers waiting in this process."""
    return len(_current.waiting) if _current is not None else 0


def _log_failure(future: Future[Any]) -> None:
    error = future.exception()
    if error is not None:
        log.error("a write-behind note failed: %s", type(error).__name__)


class Booth:
    def __init__(self) -> None:
        self.pid = os.getpid()
        self.waiting: deque[_Caller] = deque()
        self.bell = threading.Condition()
        self.seconds_per_caller = 0.01
        threading.Thread(target=self._serve, name="write-booth", daemon=True).start()

    def put(self, work: Callable[[], Any]) -> Future[Any]:
        caller = _Caller(work)
        with self.bell:
            if len(self.waiting) >= config.current().MAX_WRITE_QUEUE_DEPTH:
                raise Busy(retry_after=max(1.0, len(self.waiting) * self.seconds_per_caller))
            self.waiting.append(caller)
            self.bell.notify()
        return caller.future

    def _serve(self) -> None:
        while True:
            with self.bell:
                while not self.waiting:
                    self.bell.wait()
                batch = [self.waiting.popleft() for _ in range(min(len(self.waiting), MAX_BATCH))]
            metrics.BOOTH.observe(len(batch))
            started = time.monotonic()
            try:
                _commit(batch)
            except BaseException:
                log.exception("the write booth failed on a batch of %d", len(batch))
                _answer(batch, StorageUnavailable(retry_after=1))
            spent = (time.monotonic() - started) / len(batch)
            self.seconds_per_caller += 0.1 * (spent - self.seconds_per_caller)


_current: Booth | None = None
_making = threading.Lock()


def _booth() -> Booth:
    global _current
    if _current is None or _current.pid != os.getpid():
        with _making:
            if _current is None or _current.pid != os.getpid():
                _current = Booth()
    return _current


def _commit(batch: list[_Caller]) -> None:
    """Run a batch and answer its callers. If what is shared fails, each caller gets a transaction of its own."""
    for attempt in (1, 2):
        outcomes: list[tuple[_Caller, Any, BaseException | None]] = []
        committing = False
        try:
            with transaction.atomic():
                for caller in batch:
                    outcomes.append(_run(caller, alone=len(batch) == 1))
                _close([caller for caller, _, error in outcomes if error is None])
                committing = True
        except Exception as error:
            lost = isinstance(error, InterfaceError | OperationalError) and not _usable()
            if lost:
                connection.close()
            if committing and lost:
                _answer(batch, OutcomeUnknown(retry_after=1))
                return
            if lost and attempt == 1 and not connection.in_atomic_block:
                continue  # nothing was committed: a fresh connection may try again
            if len(batch) > 1 and not committing:
                for caller in batch:
                    _commit([caller])
                return
            _answer(batch, translate(error))
            return
        break
    for caller, result, error in outcomes:
        if error is not None:
            caller.future.set_exception(error)
        else:
            caller.future.set_result(result)
    for caller, _, error in outcomes:
        if error is None:
            for call in caller.slip.after:
                try:
                    call()
                except Exception:
                    log.exception("a call after the commit failed")


def _run(caller: _Caller, *, alone: bool) -> tuple[_Caller, Any, BaseException | None]:
    caller.slip = Slip()
    _here.slip = caller.slip
    try:
        if alone:
            # The transaction itself is the savepoint: let its failure roll everything back.
            return caller, caller.work(), None
        with transaction.atomic():
            return caller, caller.work(), None
    except (FluxError, DatabaseError) as error:
        if alone or not _usable():
            raise
        return caller, None, translate(error)
    except Exception as error:
        if alone:
            raise
        return caller, None, error
    finally:
        _here.slip = None


def _close(callers: list[_Caller]) -> None:
    for kind, write_rows in _closers.items():
        rows = [row for caller in callers for row in caller.slip.rows.get(kind, ())]
        if rows:
            write_rows(rows)


def _answer(batch: list[_Caller], error: BaseException) -> None:
    for caller in batch:
        if not caller.future.done():
            caller.future.set_exception(error)


def _usable() -> bool:
    return connection.connection is not None and (connection.vendor == "sqlite" or connection.is_usable())


def translate(error: BaseException) -> BaseException:
    """A database's words into our table; anything that is not the database's is passed on."""
    if isinstance(error, FluxError) or not isinstance(error, DatabaseError | InterfaceError):
        return error
    words = str(error).lower()
    if "disk is full" in words or "no space left" in words:
        return DiskFull()
    if isinstance(error, OperationalError | InterfaceError):
        log.error("the database refused a write: %s", type(error).__name__)
        return StorageUnavailable(retry_after=2)
    return error
