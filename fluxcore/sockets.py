"""One WebSocket of the live feed, from its handshake to its end, in plain ASGI.

A door says who may come in; everything else is the same at every door: refused before it is accepted,
bounded in number, silent towards whoever talks into it, and dropped when it does not listen.
"""

from __future__ import annotations

import asyncio
import json
import logging
import math
import secrets
from collections.abc import Awaitable, Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import parse_qsl

from django.db import close_old_connections

from fluxcore import clock, events
from fluxcore.db_errors import error_place, translate
from fluxcore.errors import Busy, FluxError, Invalid
from fluxcore.events import Position
from fluxcore.live import BROKEN, Ending, Message, Socket, Visitor, feed, spoken

log = logging.getLogger(__name__)

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]
Headers = list[tuple[bytes, bytes]]

SLOW_SECONDS = 5.0  # how long a full socket may take nothing
CLOSE_SECONDS = 0.5  # how long we try to say goodbye to one that does not listen
TOO_SLOW = Ending(4408, "You do not take what you are sent. Come back with ?since=.")
TALKED = Ending(4400, "This feed only speaks; it takes no messages.")

_HANDSHAKES_WAITING = 64
_doorkeepers = ThreadPoolExecutor(4, "live-door")
_waiting = 0


async def serve(
    scope: Scope, receive: Receive, send: Send, admit: Callable[[Scope], Visitor], headers: Headers
) -> None:
    """Ask the door's `admit` (in a thread: it may use the database), then feed the socket until it ends."""
    await receive()  # websocket.connect
    try:
        visitor, position = await _admitted(scope, admit)
        socket = feed.join(visitor, position)
    except FluxError as refusal:
        await _refuse(receive, send, refusal, headers)
        return
    try:
        await send({"type": "websocket.accept", "headers": headers})
        await _attend(socket, position, receive, send)
    except OSError:
        pass  # hung up while we spoke
    finally:
        feed.leave(socket)


async def _refuse(receive: Receive, send: Send, refusal: FluxError, headers: Headers) -> None:
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


def query(scope: Scope, *known: str) -> dict[str, str]:
    """The address's parameters: each at most once, none that we do not know."""
    try:
        given = parse_qsl(
            scope["query_string"].decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=8
        )
    except ValueError:
        raise Invalid("The address cannot be read.", field="query") from None
    names = [name for name, _ in given]
    if not set(names) <= set(known) or len(set(names)) < len(names):
        raise Invalid(f"This address takes {' and '.join(known)}, each once.", field="query")
    return dict(given)


def since(given: dict[str, str]) -> Position | None:
    return Position.parse(given["since"]) if "since" in given else None


async def _admitted(scope: Scope, admit: Callable[[Scope], Visitor]) -> tuple[Visitor, Position]:
    global _waiting
    if _waiting >= _HANDSHAKES_WAITING:
        raise Busy("Too many are at the door. Try again.", retry_after=1)
    _waiting += 1
    try:
        return await asyncio.get_running_loop().run_in_executor(_doorkeepers, _ask, scope, admit)
    finally:
        _waiting -= 1


def _ask(scope: Scope, admit: Callable[[Scope], Visitor]) -> tuple[Visitor, Position]:
    close_old_connections()
    try:
        visitor = admit(scope)
        visitor.rights()
        head = events.head()
        if visitor.since is not None and visitor.since > head:
            raise Invalid("The log has not come that far. Begin anew, without since.", field="since")
    except FluxError:
        raise
    except Exception as error:
        known = translate(error)
        if isinstance(known, FluxError):
            raise known from None
        log.error("a live feed could not begin: %s", error_place(error))  # noqa: TRY400  its text may quote a memory
        raise FluxError from None
    else:
        return visitor, head if visitor.since is None else visitor.since
    finally:
        close_old_connections()


async def _attend(socket: Socket, position: Position, receive: Receive, send: Send) -> None:
    speaking = asyncio.create_task(_speak(socket, position, send))
    listening = asyncio.create_task(_listen(receive))
    try:
        reasons: set[asyncio.Future[Any]] = {socket.ending, listening, speaking}
        await asyncio.wait(reasons, return_when=asyncio.FIRST_COMPLETED)
        ending = _why(socket.ending, listening, speaking)
    finally:
        speaking.cancel()
        listening.cancel()
        await asyncio.gather(speaking, listening, return_exceptions=True)
    if ending is None:
        return
    try:
        async with asyncio.timeout(CLOSE_SECONDS):
            await send({"type": "websocket.close", "code": ending.code, "reason": ending.reason})
    except TimeoutError:
        pass  # the server drops the connection when this call returns


def _why(*reasons: asyncio.Future[Any]) -> Ending | None:
    """The first that has an answer. None: the other side hung up."""
    for one in reasons:
        if one.done() and not one.cancelled():
            error = one.exception()
            if error is None or isinstance(error, OSError):
                return None if error else one.result()
            log.error("a live feed broke: %s", error_place(error))
            return BROKEN
    return None


async def _speak(socket: Socket, position: Position, send: Send) -> Ending:
    visitor = socket.visitor
    hello = Message(
        kind="live.open",
        at=clock.rfc3339(clock.now()),
        actor=visitor.actor,
        subject=visitor.where,
        data={},
        position=str(position),
    )
    try:
        await _say(send, [spoken(hello)])
        while True:
            await socket.arrived.wait()
            await _say(send, socket.page)
            socket.taken()
    except TimeoutError:
        return TOO_SLOW


async def _say(send: Send, texts: Iterable[str]) -> None:
    for text in texts:
        async with asyncio.timeout(SLOW_SECONDS):
            await send({"type": "websocket.send", "text": text})


async def _listen(receive: Receive) -> Ending | None:
    message = await receive()
    return None if message["type"] == "websocket.disconnect" else TALKED
