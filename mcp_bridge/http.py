"""MCP over streamable HTTP: `/mcp`, both protocol revisions, a bearer token with every message.

It is stateless for either revision: any process can answer any message, and a caller that lost its token or a
capability is refused with the next one.
"""

from __future__ import annotations

import asyncio
import json
import logging
import math
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from django.conf import settings

from accounts import anonymous_refusals, tokens
from accounts.principals import Principal
from fluxcore import incoming_bodies, metrics
from fluxcore.errors import (
    BadRequest,
    Busy,
    FluxError,
    Forbidden,
    Invalid,
    MethodNotAllowed,
    NotReady,
    OutcomeUnknown,
    Unauthenticated,
)
from fluxcore.fair_queue import FairShares
from fluxcore.writes import limit_messages
from mcp_bridge import errors, oauth_metadata
from mcp_bridge.origin_check import HEADERS
from mcp_bridge.threads import run_in_threads

log = logging.getLogger(__name__)

Scope = dict[str, Any]
AT_ONCE = 64  # concurrent calls, most of them waiting for the database; the booths limit how many run
PRINCIPAL = "flux.principal"
_STOPPING = "The server is stopping. Nothing was done; try again in a moment."
_CUT_OFF = (
    "The server stopped before it could answer, so the call may or may not have been carried out. "
    "Repeat it with the same idempotency key to be sure."
)

_run_in_thread = run_in_threads(ThreadPoolExecutor(AT_ONCE, "mcp"))
_shares = FairShares(AT_ONCE)
_incomplete = incoming_bodies.IncompleteBodies()


class _SessionManager:
    """The SDK's session manager, loaded at the start of the process, so that the first message does not wait."""

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
        """Run the manager in a task of its own: the SDK requires it to be opened and closed by the same task."""
        try:
            manager = await asyncio.to_thread(_build_manager)
        except BaseException as error:
            ready.set_exception(error)
            return
        async with manager.run():
            ready.set_result(manager)
            await self._end.wait()

    async def close(self) -> None:
        self._end.set()
        if self._task is not None:
            await self._task


def _build_manager() -> Any:
    from fluxsite.run import gc_pause
    from mcp_bridge import sdk

    gc_pause.pause_gc_again()
    sdk.load_lean()
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

    from mcp_bridge import registry, server
    from memory.grains import store  # noqa: F401  loading them is the point, as REST has loaded its views
    from memory.recall import recall  # noqa: F401  loading them is the point, as REST has loaded its views

    for name in (registry.DEFAULT_GROUP, *registry.SWITCHED_GROUPS):
        registry.load_group(name)
    gc_pause.freeze_and_resume_gc()

    def who(ctx: server.Context) -> Principal:
        found: Principal = ctx.request.scope[PRINCIPAL]  # type: ignore[union-attr]  # every message is an HTTP request
        return found

    # Hosts and origins are checked by mcp_bridge/asgi.py, for all its addresses.
    return StreamableHTTPSessionManager(
        server.build_server(who, _run_in_thread, lambda ctx: who(ctx).ceiling),
        json_response=True,
        stateless=True,
        max_request_body_size=settings.MAX_BODY_BYTES,
    )


_manager: _SessionManager | None = None


async def open_sessions() -> None:
    """Load the session manager, before the process listens."""
    global _manager
    _manager = _SessionManager()
    await _manager.open()


async def close_sessions() -> None:
    """Close the session manager, at the end of the process."""
    if _manager is not None:
        await _manager.close()


async def serve(scope: Scope, receive: Any, send: Any) -> None:
    """Answer one message: authenticate, read it, check the capability, hand it to the SDK."""
    global _manager
    started, status, answering = time.perf_counter(), 500, False

    async def watched(message: dict[str, Any]) -> None:
        nonlocal status, answering
        if message["type"] == "http.response.start":
            status, answering = message["status"], True
            message = {**message, "headers": [*message.get("headers", ()), *HEADERS]}
        await send(message)

    number: Any = None
    begun = False
    caller: tuple[Any, Any] | None = None
    try:
        if scope["method"] != "POST":
            raise MethodNotAllowed("Send messages with POST: this server has no streams and no sessions.")
        headers = dict(scope["headers"])
        principal = await _run_in_thread(_authenticated, headers, scope)
        body = await _incomplete.whole(asyncio.ensure_future(_read(headers, receive)), partial(_number, principal))
        if not _shares.take(principal.space, principal.actor):
            raise Busy("Too many calls of this agent or its space at the same time. Try again in 1 s.", retry_after=1)
        caller = (principal.space, principal.actor)
        message = _peeked(body)
        number = message.get("id")
        await _run_in_thread(_demand, principal, message)
        if _manager is None:
            _manager = _SessionManager()
        manager = await _manager.open()
        begun = True
        await manager.handle_request({**scope, PRINCIPAL: principal}, _replay_body(body, receive), watched)
    except asyncio.CancelledError:
        if answering:
            raise
        # The process is ending. A thread that has begun the call may still finish it.
        await _refuse(scope, watched, OutcomeUnknown(_CUT_OFF) if begun else NotReady(_STOPPING, retry_after=5), number)
    except Exception as error:
        if answering:
            raise  # the answer has begun: the connection is closed
        await _refuse(scope, watched, errors.as_flux_error(error), number)
    finally:
        if caller is not None:
            _shares.leave(*caller)
        spent = time.perf_counter() - started
        metrics.count_request(scope["method"], "mcp", status, spent)
        log.info("mcp %d %.1fms", status, spent * 1000)


def _authenticated(headers: dict[bytes, bytes], scope: Scope) -> Principal:
    """The principal of the bearer token in the Authorization header."""
    scheme, _, token = headers.get(b"authorization", b"").decode("latin-1").partition(" ")
    try:
        return tokens.authenticate(token.strip(" ") if scheme.lower() == "bearer" else "")
    except Unauthenticated:
        anonymous_refusals.count_refusal((scope.get("client") or ("unknown", 0))[0])
        raise


async def _number(principal: Principal) -> int | None:
    return principal.token


def _demand(principal: Principal, message: dict[str, Any]) -> None:
    """Refuse a missing capability with HTTP 403, whose header tells the client what to request."""
    if message.get("method") != "tools/call":
        return
    from mcp_bridge import registry

    params = message.get("params")
    name = params.get("name") if isinstance(params, dict) else None
    tool = next((tool for tool in registry.switched_on_tools(principal) if tool.name == name), None)
    if tool is None or registry.may_call(principal, tool):
        return
    given = params.get("arguments") if isinstance(params, dict) else None
    try:
        arguments, _ = registry.check_arguments(tool, given if isinstance(given, dict) else None)
    except Invalid:
        return  # the tool's answer reports it
    registry.demand_capabilities(principal, tool, arguments)


async def _read(headers: dict[bytes, bytes], receive: Any) -> bytes:
    parts, size = [], 0
    most = settings.MAX_BODY_BYTES
    if int(headers.get(b"content-length", b"0")) > most:  # the HTTP parser has checked that it is a number
        raise limit_messages.body_too_large("A message", most)
    while True:
        message = await receive()
        if message["type"] != "http.request":
            raise BadRequest("The message was not sent completely.")
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > most:
            raise limit_messages.body_too_large("A message", most)
        if not message.get("more_body"):
            return b"".join(parts)


def _peeked(body: bytes) -> dict[str, Any]:
    """The parsed message; empty if it is not a JSON object, which the SDK then reports."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _replay_body(body: bytes, receive: Any) -> Any:
    waiting = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Any:
        return waiting.pop() if waiting else await receive()

    return replay


async def _refuse(scope: Scope, send: Any, refusal: FluxError, number: Any) -> None:
    """Send a refusal, both as a JSON-RPC error and with the HTTP status."""
    code = errors.UNAUTHORISED if refusal.status == 401 else errors.REFUSED
    if not isinstance(number, str | int) or isinstance(number, bool):
        number = None
    error = {"code": code, "message": errors.error_text(refusal), "data": errors.protocol_data(refusal)}
    body = json.dumps({"jsonrpc": "2.0", "id": number, "error": error}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    if refusal.status == 401:
        given = b"authorization" in dict(scope["headers"])
        headers.append(
            (b"www-authenticate", oauth_metadata.challenge(scope, "invalid_token" if given else "").encode())
        )
    elif isinstance(refusal, Forbidden):
        missing = str(refusal.details.get("missing", ""))
        headers.append((b"www-authenticate", oauth_metadata.challenge(scope, "insufficient_scope", missing).encode()))
    elif refusal.status == 405:
        headers.append((b"allow", b"POST"))
    if refusal.retry_after is not None:
        headers.append((b"retry-after", str(max(1, math.ceil(refusal.retry_after))).encode()))
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
