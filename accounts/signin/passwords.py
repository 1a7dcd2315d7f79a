"""Looking at passwords: two at a time in a process, because Argon2 takes 100 MiB for each.

A flood of invented names must not delay people, and nobody may learn from it which names exist. So tries at names
nobody has are looked at one at a time, in turn by source; a password of somebody who exists is looked at beside them,
at once. If it is right, the answer comes at once. If it is wrong, the answer waits in the same line, as long as the
look at an invented name would have taken.
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
from fluxcore.writes import limit_messages, limits

MAX_PASSWORD = 1024
AT_ONCE = 2
# Tries of one source in any 60 seconds. Beyond them only right passwords are answered with anything but a refusal.
TRIES_PER_SOURCE = 60
# Seconds after which such a refusal comes, whoever was named: more than a look at a password takes.
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
    """The hash looked at for names nobody has, as slow as any other."""
    return make_password("nobody has this password")


def check_attempt(password: str, password_hash: str | None, *, source: str, name: str) -> bool:
    """Whether a try to sign in has the right password; None stands for a name nobody can sign in with."""
    began = time.monotonic()
    wait = limits.count(f"sign-in:{source}", limit=TRIES_PER_SOURCE)
    if wait:
        if password_hash is not None and matches(password, password_hash):
            return True
        time.sleep(max(0.0, began + REFUSED_AFTER - time.monotonic()))
        raise limit_messages.rate_reached(
            "sign-in", limit=TRIES_PER_SOURCE, seconds=limits.WINDOW, wait=wait, do="Wait a minute, then try again"
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
    """Whether it is the password, and the seconds the look took without the wait for a place."""
    with _place():
        began = time.monotonic()
        return _right(password, password_hash), time.monotonic() - began


def _right(password: str, password_hash: str | None) -> bool:
    nobody = _decoy_hash()
    if len(password) > MAX_PASSWORD:
        return False
    return check_password(password, password_hash or nobody) and password_hash is not None


def matches(password: str, password_hash: str) -> bool:
    """Whether it is the password of somebody who is known to exist."""
    return _timed(password, password_hash)[0]


def hash_password(password: str) -> str:
    with _place():
        return make_password(password)
