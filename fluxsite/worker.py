"""The worker process: a Celery worker for some or all queues, with beat, which runs job rows.

The row decides what is due. A task runs the rows of its kind for a few seconds and then sends itself another message,
so that no kind keeps the threads from the others. Work of the queues `heavy` and `slow` leaves one thread to `fast`.
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
AT_A_TIME_SECONDS = 5.0  # of one kind's rows, before other kinds have their turn
AHEAD = timedelta(seconds=55)  # a row that is due later is the next sweep's business
AWAY = 1.25  # minutes without a sweep, after which the broker counts as away


class Places:
    """Threads that work of the queues `heavy` and `slow` may have; a kind that finds none is woken when one is free."""

    def __init__(self, places: int) -> None:
        self._lock = threading.Lock()
        self._free = places
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


_places = Places(THREADS - 1)
_sent_for: dict[str, float] = {}  # kind -> monotonic time of the message this process has sent ahead


def runner(kind: JobKind) -> Callable[[], None]:
    """The body of a kind's task."""

    def run() -> None:
        with _places.taken_by(kind) as taken:
            if taken:
                worker.drain(kind.stored, seconds=AT_A_TIME_SECONDS)
        if taken:
            wake_when_due(kind.stored)

    run.__doc__ = f"Run the job rows of kind {kind.name}."
    return run


def sweep_and_wake() -> None:
    """Once a minute: housekeeping, what recurs, and messages for rows whose own were lost."""
    sweep.sweep()
    wake_when_due()


def wake_when_due(stored: Collection[str] | None = None) -> None:
    """Rows that wait for their next try, or have a dead worker's lease, come due soon: send a message for then."""
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
            _send_ahead(kind, seconds)


def _send_ahead(kind: JobKind, seconds: float) -> None:
    try:
        celery.send(kind.name, countdown=seconds)
    except Exception as error:
        log.warning("no message could be sent ahead for %s: %s", kind.name, type(error).__name__)


def sweep_without_the_broker(queues: Collection[str]) -> None:
    """Beat sends its message through the broker. While that is away the worker looks by itself."""
    minute = float(celery.app.conf.beat_schedule["sweep"]["schedule"])
    own = [name for kind in kinds.every_kind(queues) for name in kind.stored]
    while True:
        time.sleep(minute / 6)
        if sweep.overdue(minute * AWAY):
            sweep.sweep_and_run(own)
            connection.close()


def end_soon() -> None:
    """Finish the running jobs and end; Celery itself may take seconds to notice that it should."""
    threading.Thread(target=_end, name="ending", daemon=True).start()


def _end() -> None:
    shutdown.finish_running_jobs()
    logging.shutdown()
    os._exit(0)


def start(queues: Collection[str] = QUEUES) -> None:
    """Run until the process is told to end."""
    from celery.beat import EmbeddedService
    from celery.platforms import SecurityWarning  # type: ignore[attr-defined]  # missing from its stubs

    from memory.embedding import active_encoder

    if settings.CONFIG_PROBLEM:
        raise ConfigError(settings.CONFIG_PROBLEM)
    wakeup.use(celery.wake)
    announcements.from_a_thread()
    settings.HOME.queue.mkdir(parents=True, exist_ok=True, mode=0o700)
    file_broker.drop_old(settings.HOME.queue)
    # The very first start builds what the encoder needs from its weights: not while a job waits for it.
    active_encoder.load_soon()
    wake_when_due()  # whatever was waiting while nobody worked
    # Celery warns root about pickled tasks; ours are names in JSON.
    warnings.filterwarnings("ignore", message="You're running the worker with superuser", category=SecurityWarning)
    threading.Thread(target=sweep_without_the_broker, args=[queues], name="sweep", daemon=True).start()
    if FAST in queues:  # where the sweep runs
        # Celery's own --beat is a process, which a killed worker would leave behind.
        EmbeddedService(celery.app, thread=True).start()  # type: ignore[union-attr]  # a thread, as asked
    # Its own command line would load a terminal's worth of libraries, and Django's checks whose outcome it drops.
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
