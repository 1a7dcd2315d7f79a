"""The bell that wakes a worker: rung after a commit, in a thread of its own, at most ten times a second."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

log = logging.getLogger(__name__)

_bell: Callable[[], None] | None = None
_wanted = threading.Event()
_ringer: threading.Thread | None = None
_ringing = threading.Lock()


def on_ring(bell: Callable[[], None]) -> None:
    """Tell the core how to wake a worker (fluxsite/celery.py does)."""
    global _bell
    _bell = bell


def ring() -> None:
    """Wake a worker soon. The row is safe: a ring that is lost costs a minute at most."""
    global _ringer
    if _bell is None:
        return
    _wanted.set()
    with _ringing:
        if _ringer is None or not _ringer.is_alive():  # not yet, or this process is a fork of one that had it
            _ringer = threading.Thread(target=_ring_when_wanted, name="job-bell", daemon=True)
            _ringer.start()


def _ring_when_wanted() -> None:
    """In a thread of its own, so that a broker that hangs holds up no write; at most ten times a second."""
    while _wanted.wait():
        _wanted.clear()  # before the bell: whoever rings from here on gets another one
        try:
            if _bell is not None:
                _bell()
        except Exception as error:
            log.warning("the bell did not ring (%s); the minute sweep will find the work", type(error).__name__)
        time.sleep(0.1)
