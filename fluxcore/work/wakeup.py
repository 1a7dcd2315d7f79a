"""Wakeup of workers after a commit, with the kinds of jobs there are, at most ten times a second."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

log = logging.getLogger(__name__)

PAUSE_SECONDS = 0.1

Sender = Callable[[frozenset[str]], object]

_sender: Sender | None = None
_wanted: set[str] = set()  # guarded by _lock
_lock = threading.Lock()
_asked = threading.Event()
_thread: threading.Thread | None = None


def use(sender: Sender | None) -> Sender | None:
    """Set how workers are woken: by messages (`fluxsite/celery.py`) or in this process. Returns the old sender."""
    global _sender
    former, _sender = _sender, sender
    return former


def wake(*kinds: str) -> None:
    """Wake a worker for these kinds soon. If the message is lost, the next sweep finds the jobs within a minute."""
    global _thread
    if _sender is None or not kinds:
        return
    with _lock:
        _wanted.update(kinds)
        _asked.set()
        if _thread is None or not _thread.is_alive():  # not started yet, or this process was forked
            _thread = threading.Thread(target=_send_when_asked, name="job-wakeup", daemon=True)
            _thread.start()


def _send_when_asked() -> None:
    """Send wakeups in a separate thread, so that a broker that hangs does not block writes."""
    while _asked.wait():
        with _lock:
            _asked.clear()
            found = frozenset(_wanted)
            _wanted.clear()
        try:
            if _sender is not None:
                _sender(found)
        except Exception as error:
            log.warning(
                "no worker could be woken for %s (%s); the sweep finds the work within a minute",
                ", ".join(sorted(found)),
                type(error).__name__,
            )
        time.sleep(PAUSE_SECONDS)
