"""Password checks: two at a time in a process, because Argon2 needs 100 MiB for each.

A flood of unknown names must not delay people, and response times must not show which names exist. So passwords of
unknown names are checked one at a time, in turn by source; the password of a known name is checked at once. If it is
right, the answer is sent at once. If it is wrong, the answer waits in the same queue, as long as the check for an
unknown name would have taken.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache

from django.contrib.auth.hashers import check_password, make_password

from fluxcore.errors import Busy
from fluxcore.fair_queue import FairQueue
from fluxcore.writes import limit_messages, limit_windows, limits

MAX_PASSWORD = 1024
AT_ONCE = 2
# Attempts of one source in any 60 seconds. Above it, all but right passwords get the same refusal.
TRIES_PER_SOURCE = 60
# Seconds after which that refusal is sent, whichever name was given: more than a check takes.
REFUSED_AFTER = 1.0
_places = threading.BoundedSemaphore(AT_ONCE)
_waiting = FairQueue(1)
_WAIT_SECONDS = 20.0


@contextmanager
def _place() -> Iterator[None]:
    if not _places.acquire(timeout=_WAIT_SECONDS):
        raise _busy()
    try:
        yield
    finally:
        _places.release()


def _busy() -> Busy:
    return Busy("Too many sign-ins at the same time. Try again in a minute.", retry_after=30)


@lru_cache(maxsize=1)
def _decoy_hash() -> str:
    """Hash that is checked for unknown names, as slow as any other."""
    return make_password("nobody has this password")


def check_attempt(password: str, password_hash: str | None, *, source: str, name: str) -> bool:
    """Whether a sign-in attempt has the right password. `password_hash` is None for unknown and suspended users."""
    began = time.monotonic()
    wait = limits.count(f"sign-in:{source}", limit=TRIES_PER_SOURCE)
    if wait:
        if password_hash is not None and matches(password, password_hash):
            return True
        time.sleep(max(0.0, began + REFUSED_AFTER - time.monotonic()))
        raise limit_messages.rate_reached(
            "sign-in",
            limit=TRIES_PER_SOURCE,
            seconds=limit_windows.WINDOW,
            wait=wait,
            do="Wait a minute, then try again",
        )
    turn = _waiting.join(source, name)
    try:
        right, spent = _timed(password, password_hash) if password_hash is not None else (False, 0.0)
        if right:
            return True
        if not turn.wait(max(0.0, began + _WAIT_SECONDS - time.monotonic())):
            raise _busy()
        if password_hash is None:
            _timed(password, None)
        else:
            time.sleep(max(0.0, turn.granted_at + spent - time.monotonic()))
        return False
    finally:
        turn.leave()


def _timed(password: str, password_hash: str | None) -> tuple[bool, float]:
    """Whether the password is right, and the seconds the check took without the wait for a place."""
    with _place():
        began = time.monotonic()
        return _right(password, password_hash), time.monotonic() - began


def _right(password: str, password_hash: str | None) -> bool:
    decoy = _decoy_hash()
    if len(password) > MAX_PASSWORD:
        return False
    return check_password(password, password_hash or decoy) and password_hash is not None


def matches(password: str, password_hash: str) -> bool:
    """Whether the password of a known user is right."""
    return _timed(password, password_hash)[0]


def hash_password(password: str) -> str:
    with _place():
        return make_password(password)
