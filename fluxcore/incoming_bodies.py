"""Limits on incomplete request bodies: how long one may take, and how many of one token may wait at once."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Hashable, Iterator
from contextlib import contextmanager

from fluxcore import config
from fluxcore.errors import BodyTooSlow
from fluxcore.writes import limit_messages

BYTES_PER_SECOND = 64 * 1024  # lowest allowed speed of a sender
AT_ONCE_SECONDS = 0.5  # a body that is complete by then does not count for MAX_PER_TOKEN
MAX_PER_TOKEN = 8  # incomplete bodies; programs send their bodies at once, so only a stalling one has more

LINGER_SECONDS = 10.0  # the connection stays open after an answer to an unread body, so that its sender can read it
LINGER_BYTES = 64 * 1024 * 1024


def body_seconds(size: int) -> float:
    """Seconds a body of this many bytes may take, from its headers to its last byte."""
    return config.current().REQUEST_SECONDS + size / BYTES_PER_SECOND


class IncompleteBodies:
    """Waits for bodies, and limits the incomplete ones of each token. For one event loop."""

    def __init__(self) -> None:
        self._waiting: Counter[Hashable] = Counter()

    async def whole(
        self, reading: asyncio.Future[bytes], token: Callable[[], Awaitable[Hashable]], seconds: float | None = None
    ) -> bytes:
        """Wait for a body. One that is not complete at once counts for its token, and has this many seconds."""
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
        """Count an incomplete body of a token during the block; refused above the limit."""
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
