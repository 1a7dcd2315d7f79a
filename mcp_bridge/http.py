"""MCP over streamable HTTP: `/mcp`, both protocol revisions, a bearer token with every message.

Each message stands for itself: no session is kept in memory for either revision, so any process can answer it, and
who has lost a token or a capability is refused with the next one.
"""

from __future__ import annotations

import asyncio
import json
import logging
import math
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from django.conf import settings

from accounts import refusals, tokens
from accounts.principals import Principal
from fluxcore import metrics
from fluxcore.errors import BadRequest, FluxError, Forbidden, MethodNotAllowed, TooLarge, Unauthenticated
from mcp_bridge import protected, refusing
from mcp_bridge.aside import aside
from mcp_bridge.hosts import HEADERS

log = logging.getLogger(__name__)

Scope = dict[str, Any]
AT_ONCE = 16  # calls that wait for the database at once; the booths bound what runs
PRINCIPAL = "flux.principal"
_UNAUTHORISED, _REFUSED = -32001, -32003  # of JSON-RPC's range for servers

_aside = aside(ThreadPoolExecutor(AT_ONCE, "mcp"))


class _Line:
    """What listens behind the door: made by the first message, since loading the SDK costs a second."""

    def __init__(self) -> None:
        self.manager: Any = None
        self._making = asyncio.Lock()
        self._end = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def open(self) -> Any:
        async with self._making:
            if self.manager is None:
                ready: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
                self._task = asyncio.create_task(self._hold(ready))
                self.manager = await ready
        return self.manager

    async def _hold(self, ready: asyncio.Future[Any]) -> None:
        """The SDK opens and closes its manager in one and the same task."""
        try:
            made = await asyncio.to_thread(_made)
        except BaseException as error:
            ready.set_exception(error)
            return
        async with made.run():
            ready.set_result(made)
            await self._end.wait()

    async def close(self) -> None:
        self._end.set()
        if self._task is not None:
            await self._task


def _made() -> Any:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

    from mcp_bridge import server

    def who(ctx: server.Context) -> Principal:
        found: Principal = ctx.request.scope[PRINCIPAL]  # type: ignore[union-attr]  # every message came over HTTP
        return found

    # Hosts and origins are judged by this door, for all its addresses alike.
    return StreamableHTTPSessionManager(
        server.build(who, _aside, lambda ctx: who(ctx).ceiling),
        json_response=True,
        stateless=True,
        max_request_body_size=settings.MAX_BODY_BYTES,
    )


_line: _Line | None = None


async def close() -> None:
    """With the process."""
    if _line is not None:
        await _line.close()


async def serve(scope: Scope, receive: Any, send: Any) -> None:
    """One message: who sends it, whether they may, and the answer."""
    global _line
    started, status = time.perf_counter(), 500

    async def watched(message: dict[str, Any]) -> None:
        nonlocal status
        if message["type"] == "http.response.start":
            status = message["status"]
            message = {**message, "headers": [*message.get("headers", ()), *HEADERS]}
        await send(message)

    number: Any = None
    try:
        if scope["method"] != "POST":
            raise MethodNotAllowed("Send messages with POST: this server keeps no streams and no sessions.")
        headers = dict(scope["headers"])
        principal = await _aside(_authenticated, headers, scope)
        body = await _read(receive)
        message = _peeked(body)
        number = message.get("id")
        await _aside(_demand, principal, message)
        if _line is None:
            _line = _Line()
        manager = await _line.open()
        await manager.handle_request({**scope, PRINCIPAL: principal}, _again(body, receive), watched)
    except Exception as error:
        if status != 500:
            raise  # it had begun to answer: the connection is broken off
        await _refuse(scope, watched, refusing.as_flux_error(error), number)
    finally:
        spent = time.perf_counter() - started
        metrics.request(scope["method"], "mcp", status, spent)
        log.info("mcp %d %.1fms", status, spent * 1000)


def _authenticated(headers: dict[bytes, bytes], scope: Scope) -> Principal:
    """A token is taken from its header and nowhere else; only those this instance minted for itself are known here."""
    scheme, _, token = headers.get(b"authorization", b"").decode("latin-1").partition(" ")
    try:
        return tokens.authenticate(token.strip(" ") if scheme.lower() == "bearer" else "")
    except Unauthenticated:
        refusals.note((scope.get("client") or ("unknown", 0))[0])
        raise


def _demand(principal: Principal, message: dict[str, Any]) -> None:
    """Who lacks what a tool needs is told so in HTTP's words, so that a client can ask for more."""
    if message.get("method") != "tools/call":
        return
    from mcp_bridge import registry

    params = message.get("params")
    name = params.get("name") if isinstance(params, dict) else None
    tool = next((tool for tool in registry.switched_on(principal) if tool.name == name), None)
    if tool is not None:
        registry.demand(principal, tool)


async def _read(receive: Any) -> bytes:
    parts, size = [], 0
    while True:
        message = await receive()
        if message["type"] != "http.request":
            raise BadRequest("The message was not sent to its end.")
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > settings.MAX_BODY_BYTES:
            raise TooLarge(f"A message has at most {settings.MAX_BODY_BYTES} bytes.", limit=settings.MAX_BODY_BYTES)
        if not message.get("more_body"):
            return b"".join(parts)


def _peeked(body: bytes) -> dict[str, Any]:
    """The message as far as the door looks at it; what is wrong with it the SDK says."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _again(body: bytes, receive: Any) -> Any:
    waiting = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Any:
        return waiting.pop() if waiting else await receive()

    return replay


async def _refuse(scope: Scope, send: Any, refusal: FluxError, number: Any) -> None:
    """The refusal as JSON-RPC and as HTTP have it."""
    code = _UNAUTHORISED if refusal.status == 401 else _REFUSED
    if not isinstance(number, str | int) or isinstance(number, bool):
        number = None
    error = {"code": code, "message": refusing.told(refusal), "data": refusing.meta(refusal)[refusing.ERROR]}
    body = json.dumps({"jsonrpc": "2.0", "id": number, "error": error}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    if refusal.status == 401:
        given = b"authorization" in dict(scope["headers"])
        headers.append((b"www-authenticate", protected.challenge(scope, "invalid_token" if given else "").encode()))
    elif isinstance(refusal, Forbidden):
        missing = str(refusal.details.get("missing", ""))
        headers.append((b"www-authenticate", protected.challenge(scope, "insufficient_scope", missing).encode()))
    elif refusal.status == 405:
        headers.append((b"allow", b"POST"))
    if refusal.retry_after is not None:
        headers.append((b"retry-after", str(max(1, math.ceil(refusal.retry_after))).encode()))
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
