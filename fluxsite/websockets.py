"""WebSockets of the live feed: their Channels consumer, and refusals before the handshake.

They are limited in number, and closed if a client sends messages or does not read. All consumers of a process await its
one follower of the log. Nothing here uses the thread that all synchronous pages share.
"""

from __future__ import annotations

import asyncio
import json
import logging
import math
import secrets
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from channels.consumer import get_handler_name
from channels.exceptions import StopConsumer
from channels.generic.websocket import AsyncWebsocketConsumer
from channels.utils import await_many_dispatch

from fluxcore import clock
from fluxcore.db_errors import error_place
from fluxcore.errors import FluxError, NotFound
from fluxcore.events import Position
from fluxcore.log.live import BROKEN, CloseReason, LiveMessage, Socket, feed, spoken

log = logging.getLogger(__name__)

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]
Headers = list[tuple[bytes, bytes]]

SLOW_SECONDS = 5.0  # a client that reads nothing for so long is disconnected
CLOSE_SECONDS = 0.5  # time-out of the closing handshake
TOO_SLOW = CloseReason(4408, "Messages were not read for 5 s. Reconnect with ?since=")
SENT_MESSAGE = CloseReason(4400, "This feed accepts no messages.")


class LiveConsumer(AsyncWebsocketConsumer):  # type: ignore[misc]  # Channels has no types
    """Sends pages of events to one client, until the client or the feed ends it or the client reads too slowly."""

    headers: Headers = []
    socket: Socket | None = None
    sending: asyncio.Task[CloseReason]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Run without a channel layer: group messages cost each socket ten times as much as waiting for the feed."""
        self.scope, self.base_receive, self.base_send = scope, receive, send
        self.joined = asyncio.Event()
        try:
            await await_many_dispatch([receive, self._feed_ended], self.dispatch)
        except (StopConsumer, OSError):
            pass  # ended, or the client disconnected while sending
        finally:
            if self.socket is not None:
                feed.leave(self.socket)
                self.sending.cancel()
                await asyncio.gather(self.sending, return_exceptions=True)

    async def dispatch(self, message: dict[str, Any]) -> None:
        """Handle a message without Channels' closing of old database connections, which uses the shared thread."""
        await getattr(self, get_handler_name(message))(message)

    async def connect(self) -> None:
        try:
            self.socket = feed.join(self.scope["subscriber"], self.scope["position"])
        except FluxError as refusal:
            await refuse(self.base_receive, self.base_send, refusal, self.headers)
            raise StopConsumer from None
        self.sending = asyncio.create_task(self._send_events(self.socket, self.scope["position"]))
        self.joined.set()

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        if self.socket is not None:
            self.socket.end(SENT_MESSAGE)

    async def websocket_disconnect(self, message: dict[str, Any]) -> None:
        raise StopConsumer

    async def _feed_ended(self) -> dict[str, Any]:
        """A message for `dispatch`, once the feed or the sending has ended."""
        await self.joined.wait()
        assert self.socket is not None  # noqa: S101  joined
        reasons: set[asyncio.Future[Any]] = {self.socket.ending, self.sending}
        await asyncio.wait(reasons, return_when=asyncio.FIRST_COMPLETED)
        return {"type": "feed.ended"}

    async def feed_ended(self, message: dict[str, Any]) -> None:
        assert self.socket is not None  # noqa: S101  joined
        ending = _first_close_reason(self.socket.ending, self.sending)
        self.sending.cancel()
        await asyncio.gather(self.sending, return_exceptions=True)
        if ending is not None:
            try:
                async with asyncio.timeout(CLOSE_SECONDS):
                    await self.close(ending.code, ending.reason)
            except TimeoutError:
                pass  # the server drops the connection when the consumer stops
        raise StopConsumer

    async def _send_events(self, socket: Socket, position: Position) -> CloseReason:
        subscriber = socket.subscriber
        hello = LiveMessage(
            kind="live.open",
            at=clock.rfc3339(clock.now()),
            actor=subscriber.actor,
            subject=subscriber.where,
            data={},
            position=str(position),
        )
        await self.accept(headers=self.headers)
        try:
            await self._send_texts([spoken(hello)])
            while True:
                await socket.arrived.wait()
                await self._send_texts(socket.page)
                socket.taken()
        except TimeoutError:
            return TOO_SLOW

    async def _send_texts(self, texts: Iterable[str]) -> None:
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(SLOW_SECONDS) as limit:
            until = loop.time() + SLOW_SECONDS
            for text in texts:
                # Like `send`, but without two further coroutines for each socket and event.
                await self.base_send({"type": "websocket.send", "text": text})
                # Each text has its own time-out; the timer is reset once a tenth of it has passed.
                if loop.time() > until - 0.9 * SLOW_SECONDS:
                    until = loop.time() + SLOW_SECONDS
                    limit.reschedule(until)


def _first_close_reason(*reasons: asyncio.Future[Any]) -> CloseReason | None:
    """The reason from the first finished future; None if the client disconnected."""
    for reason in reasons:
        if reason.done() and not reason.cancelled():
            error = reason.exception()
            if error is None or isinstance(error, OSError):
                return None if error else reason.result()
            log.error("a live feed failed: %s", error_place(error))
            return BROKEN
    return None


async def refuse(receive: Receive, send: Send, refusal: FluxError, headers: Headers) -> None:
    """Send an HTTP error response instead of the handshake."""
    body = json.dumps({**refusal.body(), "request_id": secrets.token_hex(8)}).encode()
    headers = [*headers, (b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    if refusal.retry_after is not None:
        headers.append((b"retry-after", str(max(1, math.ceil(refusal.retry_after))).encode()))
    if refusal.status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    await send({"type": "websocket.http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "websocket.http.response.body", "body": body})
    try:
        async with asyncio.timeout(CLOSE_SECONDS):
            # Wait for our and the connection's end; before both, uvicorn logs the answered handshake as broken.
            await receive()
            await receive()
    except TimeoutError:
        pass


def refuses_unknown(headers: Headers) -> Callable[[Scope, Receive, Send], Awaitable[None]]:
    """Last route of a server: refuses every other address as not found."""

    async def application(scope: Scope, receive: Receive, send: Send) -> None:
        await receive()  # websocket.connect
        await refuse(receive, send, NotFound("No such address on this server."), headers)

    return application
