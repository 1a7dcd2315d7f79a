"""Looking at passwords: two at a time in a process, because Argon2 takes 100 MiB for each."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache

from django.contrib.auth.hashers import check_password, make_password

from fluxcore.errors import Busy

MAX_PASSWORD = 1024
AT_ONCE = 2
_places = threading.BoundedSemaphore(AT_ONCE)
_WAIT_SECONDS = 20.0


@contextmanager
def _place() -> Iterator[None]:
    if not _places.acquire(timeout=_WAIT_SECONDS):
        raise Busy("Too many people sign in at this moment. Try again in a minute.", retry_after=30)
    try:
        yield
    finally:
        _places.release()


@lru_cache(maxsize=1)
def _nobody() -> str:
    """The hash looked at for names nobody has, as slow as any other."""
    return make_password("nobody has this password")


def matches(password: str, password_hash: str | None) -> bool:
    """Whether it is the password; None stands for somebody who has none, and takes as long to look at."""
    with _place():
        nobody = _nobody()
        if len(password) > MAX_PASSWORD:
            return False
        return check_password(password, password_hash or nobody) and password_hash is not None


def hashed(password: str) -> str:
    with _place():
        return make_password(password)
