"""Requests whose body is still coming in: how long one may take, and how many of one token may wait at once."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Hashable, Iterator
from contextlib import contextmanager

from fluxcore import config
from fluxcore.errors import BodyTooSlow
from fluxcore.writes import limit_messages

BYTES_PER_SECOND = 64 * 1024  # the slowest sender that a large body is waited for
AT_ONCE_SECONDS = 0.5  # a body that is complete by then is not counted, however many of a token there are
MAX_PER_TOKEN = 8  # a program sends its bodies at once; only somebody who stalls has more of them under way

LINGER_SECONDS = 10.0  # after an answer to a body that was not read: who is still sending can read the answer
LINGER_BYTES = 64 * 1024 * 1024


def body_seconds(size: int) -> float:
    """How long a body of this many bytes may take, from its headers to its last byte."""
    return config.current().REQUEST_SECONDS + size / BYTES_PER_SECOND


class IncompleteBodies:
    """Waits for bodies, and counts the requests of each token whose body is late. For one event loop."""

    def __init__(self) -> None:
        self._waiting: Counter[Hashable] = Counter()

    async def whole(
        self, reading: asyncio.Future[bytes], token: Callable[[], Awaitable[Hashable]], seconds: float | None = None
    ) -> bytes:
        """The body. One that is not there at once needs a place of its token, and has so many seconds."""
        try:
            await asyncio.wait({reading}, timeout=AT_ONCE_SECONDS)
            if not reading.done():
                with self.place(await token()):
                    await asyncio.wait({reading}, timeout=None if seconds is None else seconds - AT_ONCE_SECONDS)
            if not reading.done():
                raise BodyTooSlow
            return reading.result()
        finally:
            reading.cancel()

    @contextmanager
    def place(self, token: Hashable) -> Iterator[None]:
        """One of the few places that a token has for bodies that are not complete."""
        if self._waiting[token] >= MAX_PER_TOKEN:
            raise limit_messages.at_once_reached(
                "incomplete bodies of one token",
                limit=MAX_PER_TOKEN,
                raised_by=None,
                wait=1,
                do="Send each body without a pause",
            )
        self._waiting[token] += 1
        try:
            yield
        finally:
            self._waiting[token] -= 1
            if not self._waiting[token]:
                del self._waiting[token]
