"""Admission to the live feed: Channels' origin validation and authentication, with our rules and errors.

Each server passes its check of the origin and its authentication (`admit`). A refusal is an HTTP answer, sent before
the WebSocket is accepted.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import parse_qsl

from channels.middleware import BaseMiddleware
from channels.routing import URLRouter
from channels.security.websocket import OriginValidator
from django.db import close_old_connections
from django.urls import path, re_path

from fluxcore import events
from fluxcore.db_errors import error_place, translate
from fluxcore.errors import Busy, FluxError, Invalid
from fluxcore.events import Position
from fluxcore.log.live import LiveSubscriber
from fluxsite.websockets import Headers, LiveConsumer, Receive, Scope, Send, refuse, refuses_unknown

log = logging.getLogger(__name__)

_HANDSHAKES_WAITING = 64
_threads = ThreadPoolExecutor(4, "live-admission")
_waiting = 0


class CheckedOrigin(OriginValidator):  # type: ignore[misc]  # Channels has no types
    """Channels' origin validation with a server's own rule, and our errors instead of a bare 403."""

    def __init__(self, application: Any, check: Callable[[Scope], None], headers: Headers) -> None:
        super().__init__(application, [])
        self.check, self.headers = check, headers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            self.check(scope)
        except FluxError as refusal:
            await receive()  # websocket.connect
            await refuse(receive, send, refusal, self.headers)
            return
        await self.application(scope, receive, send)


class Admission(BaseMiddleware):  # type: ignore[misc]  # Channels has no types
    """Authenticates the caller and adds it to the scope, as Channels' AuthMiddleware does.

    That one queries the database in the single thread that all synchronous pages share; this one has its own threads.
    """

    def __init__(self, inner: Any, admit: Callable[[Scope], LiveSubscriber], headers: Headers) -> None:
        super().__init__(inner)
        self.admit, self.headers = admit, headers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            subscriber, position = await _admitted(scope, self.admit)
        except FluxError as refusal:
            await receive()  # websocket.connect
            await refuse(receive, send, refusal, self.headers)
            return
        await super().__call__({**scope, "subscriber": subscriber, "position": position}, receive, send)


def at_live(
    consumer: type[LiveConsumer], check: Callable[[Scope], None], admit: Callable[[Scope], LiveSubscriber]
) -> Any:
    """WebSocket application of a server with `/live`; it checks the origin, then the address, then the caller."""
    headers = consumer.headers
    unknown: Any = refuses_unknown(headers)
    routes = [path("live", Admission(consumer.as_asgi(), admit, headers)), re_path("", unknown)]
    return CheckedOrigin(URLRouter(routes), check, headers)


def query(scope: Scope, *known: str) -> dict[str, str]:
    """Parameters of the query string; unknown and repeated ones are refused."""
    try:
        given = parse_qsl(
            scope["query_string"].decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=8
        )
    except ValueError:
        raise Invalid(
            "The query string cannot be read. It must be percent-encoded ASCII with at most 8 parameters.",
            field="query",
        ) from None
    names = [name for name, _ in given]
    if not set(names) <= set(known) or len(set(names)) < len(names):
        raise Invalid(f"Parameters must be among {', '.join(known)}, each given once.", field="query")
    return dict(given)


def since(given: dict[str, str]) -> Position | None:
    return Position.parse(given["since"]) if "since" in given else None


async def _admitted(scope: Scope, admit: Callable[[Scope], LiveSubscriber]) -> tuple[LiveSubscriber, Position]:
    global _waiting
    if _waiting >= _HANDSHAKES_WAITING:
        raise Busy("Too many connections are waiting. Try again in 1 s.", retry_after=1)
    _waiting += 1
    try:
        return await asyncio.get_running_loop().run_in_executor(_threads, _admit, scope, admit)
    finally:
        _waiting -= 1


def _admit(scope: Scope, admit: Callable[[Scope], LiveSubscriber]) -> tuple[LiveSubscriber, Position]:
    close_old_connections()
    try:
        subscriber = admit(scope)
        subscriber.rights()
        head = events.head()
        if subscriber.since is not None and subscriber.since > head:
            raise Invalid("Position is ahead of the log. Watch without `since`.", field="since")
    except FluxError:
        raise
    except Exception as error:
        known = translate(error)
        if isinstance(known, FluxError):
            raise known from None
        log.error("a live feed could not be opened: %s", error_place(error))  # noqa: TRY400  its text may quote a memory
        raise FluxError from None
    else:
        return subscriber, head if subscriber.since is None else subscriber.since
    finally:
        close_old_connections()
