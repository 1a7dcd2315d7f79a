"""WebSockets of the live feed: a Channels consumer for each, and how one is refused.

Bounded in number, closed when a client talks, dropped when a client does not read. Each consumer awaits the one
follower of the log that its process has. Nothing here uses the thread that all synchronous pages share.
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
from fluxcore.log.live import BROKEN, CloseReason, Message, Socket, feed, spoken

log = logging.getLogger(__name__)

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]
Headers = list[tuple[bytes, bytes]]

SLOW_SECONDS = 5.0  # how long a full socket may take nothing
CLOSE_SECONDS = 0.5  # how long we try to say goodbye to one that does not listen
TOO_SLOW = CloseReason(4408, "You do not take what you are sent. Come back with ?since=.")
TALKED = CloseReason(4400, "This feed only speaks; it takes no messages.")


class LiveConsumer(AsyncWebsocketConsumer):  # type: ignore[misc]  # Channels has no types
    """One socket: gets pages of events from the feed, and ends when the client, the feed or a slow reader ends it."""

    headers: Headers = []
    socket: Socket | None = None
    speaking: asyncio.Task[CloseReason]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Without a channel layer: a group message costs each socket ten times what waiting for the feed does."""
        self.scope, self.base_receive, self.base_send = scope, receive, send
        self.joined = asyncio.Event()
        try:
            await await_many_dispatch([receive, self._feed_ended], self.dispatch)
        except (StopConsumer, OSError):
            pass  # ended, or hung up while we spoke
        finally:
            if self.socket is not None:
                feed.leave(self.socket)
                self.speaking.cancel()
                await asyncio.gather(self.speaking, return_exceptions=True)

    async def dispatch(self, message: dict[str, Any]) -> None:
        """Without Channels' look at old connections: it would wait for its turn among synchronous pages."""
        await getattr(self, get_handler_name(message))(message)

    async def connect(self) -> None:
        try:
            self.socket = feed.join(self.scope["visitor"], self.scope["position"])
        except FluxError as refusal:
            await refuse(self.base_receive, self.base_send, refusal, self.headers)
            raise StopConsumer from None
        self.speaking = asyncio.create_task(self._speak(self.socket, self.scope["position"]))
        self.joined.set()

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        if self.socket is not None:
            self.socket.end(TALKED)

    async def websocket_disconnect(self, message: dict[str, Any]) -> None:
        raise StopConsumer

    async def _feed_ended(self) -> dict[str, Any]:
        """A message for `dispatch`, once the feed or the sending has ended."""
        await self.joined.wait()
        assert self.socket is not None  # noqa: S101  joined
        reasons: set[asyncio.Future[Any]] = {self.socket.ending, self.speaking}
        await asyncio.wait(reasons, return_when=asyncio.FIRST_COMPLETED)
        return {"type": "feed.ended"}

    async def feed_ended(self, message: dict[str, Any]) -> None:
        assert self.socket is not None  # noqa: S101  joined
        ending = _why(self.socket.ending, self.speaking)
        self.speaking.cancel()
        await asyncio.gather(self.speaking, return_exceptions=True)
        if ending is not None:
            try:
                async with asyncio.timeout(CLOSE_SECONDS):
                    await self.close(ending.code, ending.reason)
            except TimeoutError:
                pass  # the server drops the connection when the consumer stops
        raise StopConsumer

    async def _speak(self, socket: Socket, position: Position) -> CloseReason:
        visitor = socket.subscriber
        hello = Message(
            kind="live.open",
            at=clock.rfc3339(clock.now()),
            actor=visitor.actor,
            subject=visitor.where,
            data={},
            position=str(position),
        )
        await self.accept(headers=self.headers)
        try:
            await self._say([spoken(hello)])
            while True:
                await socket.arrived.wait()
                await self._say(socket.page)
                socket.taken()
        except TimeoutError:
            return TOO_SLOW

    async def _say(self, texts: Iterable[str]) -> None:
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(SLOW_SECONDS) as limit:
            until = loop.time() + SLOW_SECONDS
            for text in texts:
                # As `send` would, without its two further coroutines for each socket and event.
                await self.base_send({"type": "websocket.send", "text": text})
                # Each text has its own time; the timer is set anew when a tenth of it is gone.
                if loop.time() > until - 0.9 * SLOW_SECONDS:
                    until = loop.time() + SLOW_SECONDS
                    limit.reschedule(until)


def _why(*reasons: asyncio.Future[Any]) -> CloseReason | None:
    """The first that has an answer. None: the other side hung up."""
    for one in reasons:
        if one.done() and not one.cancelled():
            error = one.exception()
            if error is None or isinstance(error, OSError):
                return None if error else one.result()
            log.error("a live feed broke: %s", error_place(error))
            return BROKEN
    return None


async def refuse(receive: Receive, send: Send, refusal: FluxError, headers: Headers) -> None:
    """An HTTP answer in place of the handshake, in the one error shape."""
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
            # Ours and the connection's own end: before both, uvicorn logs an answered handshake as a broken one.
            await receive()
            await receive()
    except TimeoutError:
        pass


def refuses_unknown(headers: Headers) -> Callable[[Scope, Receive, Send], Awaitable[None]]:
    """The last route of a server: every other address is not there."""

    async def application(scope: Scope, receive: Receive, send: Send) -> None:
        await receive()  # websocket.connect
        await refuse(receive, send, NotFound("This door has no such address."), headers)

    return application
