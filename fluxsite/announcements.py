"""Announces commits to followers of the event log, by a message to the group `log` of the channel layer.

A follower that receives it reads the log at once instead of at its next poll. With Redis the group reaches every
machine; otherwise the layer is in memory and announces only the process's own commits. A lost announcement only delays,
since followers poll the log. No commit waits for an announcement, and a Redis that hangs is abandoned after 3 s.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable

from django.conf import settings

from fluxcore import events
from fluxcore.db_errors import error_place

log = logging.getLogger(__name__)

GROUP = "log"
PAUSE_SECONDS = 0.1  # commits within this time are announced together
GIVE_UP_SECONDS = 3.0
RETRY_SECONDS = 5.0


class Announcer:
    """Sends announcements in one event loop, for commits of all threads."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._pending = False
        self._sending: asyncio.Task[None] | None = None  # used only in the event loop
        self._failed = False

    def announce(self) -> None:
        """Announce a commit; callable from any thread."""
        if not self._pending:
            self._pending = True
            self._loop.call_soon_threadsafe(self._begin)

    def _begin(self) -> None:
        if self._sending is None:
            self._sending = self._loop.create_task(self._send_while_pending())

    async def _send_while_pending(self) -> None:
        try:
            while self._pending:
                self._pending = False
                await self._send()
                await asyncio.sleep(PAUSE_SECONDS)
        finally:
            self._sending = None

    async def _send(self) -> None:
        from channels.layers import get_channel_layer  # not loaded by processes that announce nothing

        try:
            async with asyncio.timeout(GIVE_UP_SECONDS):
                await get_channel_layer().group_send(GROUP, {"type": "log.grew"})
        except Exception as error:
            if not self._failed:
                log.warning("commits cannot be announced; followers find them by polling: %s", error_place(error))
            self._failed = True
        else:
            self._failed = False


async def listen(wake: Callable[[], None]) -> None:
    """Call `wake` for each announcement until cancelled; errors of the channel layer are logged and retried."""
    from channels.layers import get_channel_layer

    layer = get_channel_layer()
    while True:
        try:
            channel = await layer.new_channel()
            await layer.group_add(GROUP, channel)
            while True:
                await layer.receive(channel)
                wake()
        except Exception as error:
            log.warning("announcements of commits cannot be received; the log is polled: %s", error_place(error))
            await asyncio.sleep(RETRY_SECONDS)


def from_this_loop() -> None:
    """Announce commits in the running event loop, for a server that also has followers in it."""
    events.announce_with(Announcer(asyncio.get_running_loop()).announce)


def from_a_thread() -> None:
    """Announce commits in a separate event loop, started at the first commit. Only with Redis: nobody else listens."""
    if settings.REDIS_URL:
        events.announce_with(_begin)


_lock = threading.Lock()
_announcer: Announcer | None = None


def _begin() -> None:
    global _announcer
    with _lock:
        if _announcer is None:
            loop = asyncio.new_event_loop()
            threading.Thread(target=loop.run_forever, name="announcements", daemon=True).start()
            _announcer = Announcer(loop)
    events.announce_with(_announcer.announce)
    _announcer.announce()
