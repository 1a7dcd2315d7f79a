"""Write booth: concurrent writers of a process share one commit, each in its own savepoint.

A durable commit costs a disk flush whatever its size, so the booth takes all waiting callers (at most MAX_BATCH), runs
their work in one transaction (`batch.py`) and answers after the commit. This module has the queue, its order and its
limits.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any, TypeVar, cast

from django.conf import settings
from django.db import transaction

from fluxcore import config, metrics
from fluxcore.db_errors import error_place
from fluxcore.errors import Busy, OutcomeUnknown, StorageUnavailable
from fluxcore.writes import write_locks
from fluxcore.writes.batch import Caller, answer_all, commit_batch, running_outbox
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


def outbox() -> Outbox:
    """The outbox of the running write; only valid inside `write`."""
    current = running_outbox()
    if current is None:
        raise RuntimeError("This must run inside booth.write(...).")
    return current


def write(work: Callable[[], T], *, lock: str = write_locks.INSTANCE, agent: str = "") -> T:
    """Run `work` in a durable transaction and return its result after the commit.

    The order of waiting writes is fair between locks (spaces), and between the agents of each.
    """
    shared = running_outbox()
    if shared is not None:
        # A verb that is called by another verb shares its transaction and outbox.
        return _within(shared, work)
    if settings.BOOTH == "inline":
        caller = Caller(work, lock)
        commit_batch([caller])
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
    if settings.BOOTH == "inline" or running_outbox() is not None:
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
        self.waiting: deque[Caller] = deque()
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
        caller = Caller(work, lock, agent)
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
                refused = commit_batch(batch)
            except BaseException as error:
                log.critical("the write booth failed on a batch of %d: %s", len(batch), error_place(error))
                answer_all(batch, StorageUnavailable(retry_after=1))
            else:
                if refused:
                    self._refuse_long_waiting()
            spent = (time.monotonic() - started) / len(batch)
            self.seconds_per_caller += 0.1 * (spent - self.seconds_per_caller)

    def _take(self) -> list[Caller]:
        """Take the next batch, fairly by space and agent; each agent's own writes stay in their order."""
        spaces: dict[str, dict[str, list[Caller]]] = {}
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
        answer_all([caller for caller in refused if caller.reply.begin()], StorageUnavailable(retry_after=2))


_current: Booth | None = None
_booth_lock = threading.Lock()


def _shared_booth() -> Booth:
    global _current
    if _current is None or not _current.open():
        with _booth_lock:
            if _current is None or not _current.open():
                _current = Booth()
    return _current
