"""Wakes workers after a commit: tells them for which kinds there is work, at most ten times a second."""

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
    """Say how workers are woken: by messages (`fluxsite/celery.py`) or by an event of this process; the former way."""
    global _sender
    former, _sender = _sender, sender
    return former


def wake(*kinds: str) -> None:
    """Wake a worker for these kinds soon. The rows are safe: a message that is lost costs a minute at most."""
    global _thread
    if _sender is None or not kinds:
        return
    with _lock:
        _wanted.update(kinds)
        _asked.set()
        if _thread is None or not _thread.is_alive():  # not yet, or this process is a fork of one that had it
            _thread = threading.Thread(target=_send_when_asked, name="job-wakeup", daemon=True)
            _thread.start()


def _send_when_asked() -> None:
    """In a thread of its own, so that a broker that hangs holds up no write; at most ten times a second."""
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
