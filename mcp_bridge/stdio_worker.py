"""What a local agent's process does besides answering: it gets ready, and runs jobs while no server does.

An instance that is used through `flux_mcp` alone has no worker; without somebody who runs its jobs nothing stored
would ever get its vector, and no vote would be learned from.
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
from memory.embedding import native_calls  # noqa: F401  loaded before any thread loads the encoder: it closes at the end

log = logging.getLogger(__name__)

READY_SECONDS = 0.25  # a client that calls again within this time is answered first, without the encoder
QUIET_SECONDS = 1.0  # jobs wait until nobody has called for so long
MINUTE = 60.0
SECONDS_PER_ROUND = 5.0  # seconds of work before looking again whether somebody called
END_SECONDS = 1.5  # for the job in hand at the end: clients end a process that is still there after two seconds

_woken = threading.Event()
_ended = threading.Event()
_called = 0.0


def start_worker() -> None:
    """After the first answer: load what the next ones need, then wait for work."""
    global _called
    _called = time.monotonic()
    if _thread is None:
        _start()


_thread: threading.Thread | None = None


def _start() -> None:
    global _thread
    wakeup.use(lambda kinds: _woken.set())
    _woken.set()  # for what others have left
    _thread = threading.Thread(target=_live, name="alone", daemon=True)
    _thread.start()


def end_worker() -> None:
    """The client has hung up: finish the job in hand and begin no other. One that takes longer is done again later."""
    _ended.set()
    _woken.set()
    shutdown.finish_running_jobs(END_SECONDS)


def _live() -> None:
    try:
        _wait_until_quiet(READY_SECONDS)
        if not _ended.is_set():
            _get_ready()
    except Exception as error:
        log.warning("not everything could be made ready: %s", error_place(error))
    while not _ended.is_set():
        _woken.wait(MINUTE)
        _woken.clear()
        _wait_until_quiet(QUIET_SECONDS)
        if _ended.is_set():
            return
        try:
            _run_jobs()
        except Exception as error:
            log.warning("jobs were left for later: %s", error_place(error))
        finally:
            close_old_connections()


def _wait_until_quiet(seconds: float) -> None:
    while time.monotonic() - _called < seconds and not _ended.wait(seconds / 4):
        pass


def _get_ready() -> None:
    """The engine and the encoder, for the first question."""
    from memory.embedding import active_encoder
    from memory.recall import recall  # noqa: F401  loading it is the point

    active_encoder.load_soon()


def _run_jobs() -> None:
    if running_state.is_running(settings.HOME):
        _tell_the_worker()
    elif sweep.overdue(MINUTE):
        sweep.sweep_and_run()
    else:
        worker.drain(seconds=SECONDS_PER_ROUND)


def _tell_the_worker() -> None:
    from fluxsite import celery  # a process without a server never needs it

    celery.wake_for_ready_rows()
