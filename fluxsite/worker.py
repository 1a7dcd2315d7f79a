"""The worker process: a Celery worker for some or all queues, with beat, which runs job rows.

The rows decide what is due. A task runs the rows of its kind for a few seconds and then sends itself another message,
so that no kind occupies the threads for long. Jobs of the queues `heavy` and `slow` leave one thread to `fast`.
"""

from __future__ import annotations

import logging
import os
import socket
import threading
import time
import warnings
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from datetime import timedelta

from django.conf import settings
from django.db import connection

from fluxcore import clock
from fluxcore.config import ConfigError
from fluxcore.work import jobs, kinds, shutdown, sweep, wakeup, worker
from fluxcore.work.kinds import FAST, QUEUES, JobKind
from fluxsite import announcements, celery, file_broker

log = logging.getLogger(__name__)

THREADS = 3
AT_A_TIME_SECONDS = 5.0  # time for one kind's rows before other kinds run
AHEAD = timedelta(seconds=55)  # rows that are due later are left to the next sweep
AWAY = 1.25  # minutes without a sweep after which the broker counts as unavailable


class ThreadSlots:
    """Limits the threads of the queues `heavy` and `slow`; a kind that gets no slot is woken when one is free."""

    def __init__(self, slots: int) -> None:
        self._lock = threading.Lock()
        self._free = slots
        self._waiting: set[str] = set()

    @contextmanager
    def taken_by(self, kind: JobKind) -> Iterator[bool]:
        if kind.queue == FAST:
            yield True
            return
        with self._lock:
            taken = self._free > 0
            self._free -= taken
            if not taken:
                self._waiting.add(kind.name)
        try:
            yield taken
        finally:
            if taken:
                with self._lock:
                    self._free += 1
                    waiting, self._waiting = self._waiting, set()
                wakeup.wake(*waiting)


_slots = ThreadSlots(THREADS - 1)
_sent_for: dict[str, float] = {}  # kind -> monotonic time for which this process has sent a delayed message


def runner(kind: JobKind) -> Callable[[], None]:
    """Body of the task of a kind."""

    def run() -> None:
        with _slots.taken_by(kind) as taken:
            if taken:
                worker.drain(kind.stored, seconds=AT_A_TIME_SECONDS)
        if taken:
            wake_when_due(kind.stored)

    run.__doc__ = f"Run the job rows of kind {kind.name}."
    return run


def sweep_and_wake() -> None:
    """Run housekeeping and the schedule, and send messages for rows that are due; called once a minute."""
    sweep.sweep()
    wake_when_due()


def wake_when_due(stored: Collection[str] | None = None) -> None:
    """Send delayed messages for rows that are due soon: retries, and rows of an ended worker."""
    now = clock.now()
    for name, due in jobs.next_due(AHEAD, stored).items():
        kind = kinds.find(name)
        if kind is None:
            continue
        seconds = max((due - now).total_seconds(), 0.0)
        if not seconds:
            wakeup.wake(kind.name)
        elif not time.monotonic() < _sent_for.get(kind.name, 0.0) <= time.monotonic() + seconds + 0.5:
            _sent_for[kind.name] = time.monotonic() + seconds
            _send_delayed(kind, seconds)


def _send_delayed(kind: JobKind, seconds: float) -> None:
    try:
        celery.send(kind.name, countdown=seconds)
    except Exception as error:
        log.warning("no delayed message could be sent for %s: %s", kind.name, type(error).__name__)


def sweep_without_the_broker(queues: Collection[str]) -> None:
    """Run the sweep in this process while the broker, through which beat sends its message, is unavailable."""
    minute = float(celery.app.conf.beat_schedule["sweep"]["schedule"])
    own = [name for kind in kinds.every_kind(queues) for name in kind.stored]
    while True:
        time.sleep(minute / 6)
        if sweep.overdue(minute * AWAY):
            sweep.sweep_and_run(own)
            connection.close()


def end_soon() -> None:
    """Finish the running jobs and end the process; Celery itself may take seconds to react."""
    threading.Thread(target=_end, name="ending", daemon=True).start()


def _end() -> None:
    shutdown.finish_running_jobs()
    logging.shutdown()
    os._exit(0)


def start(queues: Collection[str] = QUEUES) -> None:
    """Run the worker until the process is ended."""
    from celery.beat import EmbeddedService
    from celery.platforms import SecurityWarning  # type: ignore[attr-defined]  # missing from its stubs

    from memory.embedding import active_encoder

    if settings.CONFIG_PROBLEM:
        raise ConfigError(settings.CONFIG_PROBLEM)
    wakeup.use(celery.wake)
    announcements.from_a_thread()
    settings.HOME.queue.mkdir(parents=True, exist_ok=True, mode=0o700)
    file_broker.drop_old(settings.HOME.queue)
    # On the very first start the encoder builds its model files; begin before a job needs them.
    active_encoder.load_soon()
    wake_when_due()  # rows that became due while no worker ran
    # Celery warns root about pickled tasks; ours are JSON with names only.
    warnings.filterwarnings("ignore", message="You're running the worker with superuser", category=SecurityWarning)
    threading.Thread(target=sweep_without_the_broker, args=[queues], name="sweep", daemon=True).start()
    if FAST in queues:  # the queue of the sweep
        # Celery's --beat is a process, which would survive a killed worker.
        EmbeddedService(celery.app, thread=True).start()  # type: ignore[union-attr]  # a thread, because of thread=True
    # Not by Celery's command line, which loads terminal libraries and runs Django's checks without using their result.
    os.environ.update(CELERY_SKIP_CHECKS="yes")
    work = celery.app.Worker(
        hostname=f"{'-'.join(queues)}@{socket.gethostname()}",
        pool="threads",
        concurrency=THREADS,
        queues=list(queues),
        loglevel="WARNING",
        quiet=True,
        without_gossip=True,
        without_mingle=True,
        without_heartbeat=True,
    )
    work.start()
    raise SystemExit(work.exitcode)
