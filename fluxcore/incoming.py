"""Requests whose body is still coming in: how long one may take, and how many of one token may wait at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator
from contextlib import contextmanager

from fluxcore import config
from fluxcore.errors import RateLimited

BYTES_PER_SECOND = 64 * 1024  # the slowest sender that a large body is waited for
MOST_OF_A_TOKEN = 8  # a program sends its bodies at once; only somebody who stalls has more of them under way

LINGER_SECONDS = 10.0  # after an answer to a body that was not read: who is still sending can read the answer
LINGER_BYTES = 64 * 1024 * 1024


def seconds_for(size: int) -> float:
    """How long a body of this many bytes may take, from its headers to its last byte."""
    return config.current().REQUEST_SECONDS + size / BYTES_PER_SECOND


class IncompleteBodies:
    """Counts the requests of each token that wait for the rest of their body. For one event loop."""

    def __init__(self) -> None:
        self._waiting: Counter[Hashable] = Counter()

    @contextmanager
    def place(self, token: Hashable) -> Iterator[None]:
        if self._waiting[token] >= MOST_OF_A_TOKEN:
            raise RateLimited(
                f"{MOST_OF_A_TOKEN} requests of this token still wait for their body, and no more may. "
                "Send each body at once.",
                retry_after=1, limit="incomplete_bodies", most=MOST_OF_A_TOKEN,
            )  # fmt: skip
        self._waiting[token] += 1
        try:
            yield
        finally:
            self._waiting[token] -= 1
            if not self._waiting[token]:
                del self._waiting[token]
