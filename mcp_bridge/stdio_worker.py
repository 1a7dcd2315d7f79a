"""Background thread of a local agent's process: loads the encoder, and runs jobs while no server does.

An instance that is used only through `flux_mcp` has no worker process. Without this thread no grain would get its
vector and no vote would take effect.
"""

from __future__ import annotations

import logging
import threading
import time

from django.conf import settings
from django.db import close_old_connections

from fluxcore.db_errors import error_place
from fluxcore.work import shutdown, sweep, wakeup, worker
from fluxsite.run import running_state
from memory.embedding import native_calls  # noqa: F401  imported before any thread loads the encoder, to close last

log = logging.getLogger(__name__)

READY_SECONDS = 0.25  # loading the encoder waits until there was no call for so long
QUIET_SECONDS = 1.0  # jobs wait until there was no call for so long
MINUTE = 60.0
SECONDS_PER_ROUND = 5.0  # jobs run for so long before the thread checks for calls again
END_SECONDS = 1.5  # time the running job has at the end; clients kill a process after two seconds

_woken = threading.Event()
_ended = threading.Event()
_called = 0.0


def start_worker() -> None:
    """Start the thread, after the first answer: it loads what later calls need, then waits for jobs."""
    global _called
    _called = time.monotonic()
    if _thread is None:
        _start()


_thread: threading.Thread | None = None


def _start() -> None:
    global _thread
    wakeup.use(lambda kinds: _woken.set())
    _woken.set()  # for jobs that earlier processes left
    _thread = threading.Thread(target=_run, name="stdio-worker", daemon=True)
    _thread.start()


def end_worker() -> None:
    """Finish the running job and begin no other. One that takes longer is repeated by another process."""
    _ended.set()
    _woken.set()
    shutdown.finish_running_jobs(END_SECONDS)


def _run() -> None:
    try:
        _wait_until_quiet(READY_SECONDS)
        if not _ended.is_set():
            _load_engine()
    except Exception as error:
        log.warning("the engine or the encoder could not be loaded: %s", error_place(error))
    while not _ended.is_set():
        _woken.wait(MINUTE)
        _woken.clear()
        _wait_until_quiet(QUIET_SECONDS)
        if _ended.is_set():
            return
        try:
            _run_jobs()
        except Exception as error:
            log.warning("jobs failed and are repeated later: %s", error_place(error))
        finally:
            close_old_connections()


def _wait_until_quiet(seconds: float) -> None:
    while time.monotonic() - _called < seconds and not _ended.wait(seconds / 4):
        pass


def _load_engine() -> None:
    """Load the engine and the encoder, for the first recall."""
    from memory.embedding import active_encoder
    from memory.recall import recall  # noqa: F401  loading it is the point

    active_encoder.load_soon()


def _run_jobs() -> None:
    if running_state.is_running(settings.HOME):
        _wake_the_worker()
    elif sweep.overdue(MINUTE):
        sweep.sweep_and_run()
    else:
        worker.drain(seconds=SECONDS_PER_ROUND)


def _wake_the_worker() -> None:
    from fluxsite import celery  # not imported while no server runs

    celery.wake_for_ready_rows()
