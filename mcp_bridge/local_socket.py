"""Unix socket in the data home, where the running server answers local agents' processes (`mcp_bridge/relay.py`).

Each connection is a session of the same MCP server that such a process would run itself: same protocol, same lookup
of the agent for every call, same audit. Only the owner can open the folder and the socket.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import socket
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from django.conf import settings

from fluxcore.db_errors import error_place
from fluxcore.errors import Busy
from fluxcore.version import VERSION
from mcp_bridge import errors, relay
from mcp_bridge.fair_threads import FairThreads
from mcp_bridge.threads import RunInThread, run_in_threads

log = logging.getLogger(__name__)

AT_ONCE = 8  # concurrent calls of local agents
MOST_UNDER_WAY = 32  # waiting and running calls of one session; a further one is refused
MOST_SESSIONS = 64  # concurrent sessions; a further process serves by itself
LONGEST = 64 * 1024 * 1024  # maximum bytes of one message

_run_in_thread = run_in_threads(ThreadPoolExecutor(AT_ONCE, "mcp-local"))
_threads = FairThreads(_run_in_thread, AT_ONCE)
_sessions: set[asyncio.Task[Any]] = set()
_server: asyncio.Server | None = None


async def listen() -> None:
    """Listen on the socket, at the server's start. If that fails, agents' processes serve by themselves."""
    global _server
    if not hasattr(socket, "AF_UNIX"):
        return
    try:
        _server = await asyncio.start_unix_server(_session, sock=_bound(), limit=LONGEST)
    except OSError as error:
        log.warning("cannot listen for local agents: %s", error_place(error))


def _bound() -> socket.socket:
    """The bound socket. An old socket file is from a killed server: the supervisor holds the instance's lock."""
    (settings.HOME.run / relay.SOCKET).unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    with relay.socket_address(settings.HOME.run) as path:
        listener.bind(path)
    (settings.HOME.run / relay.SOCKET).chmod(0o600)
    return listener


async def close() -> None:
    """Stop listening and end all sessions, at the server's end. Agents' processes then serve by themselves."""
    if _server is None:
        return
    _server.close()
    (settings.HOME.run / relay.SOCKET).unlink(missing_ok=True)
    for task in list(_sessions):
        task.cancel()
    await asyncio.gather(*_sessions, return_exceptions=True)


async def _session(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    task = asyncio.current_task()
    assert task is not None  # noqa: S101  asyncio runs this in a task
    _sessions.add(task)
    try:
        hello = await _greeted(reader, writer)
        if hello is not None:
            await _serve(reader, writer, hello)
    except (Exception, asyncio.CancelledError) as error:
        if not isinstance(error, asyncio.CancelledError | ConnectionError):
            log.warning("the session of a local agent failed: %s", error_place(error))
    finally:
        _sessions.discard(task)
        writer.close()


async def _greeted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> dict[str, str] | None:
    """The agent named in the peer's first line, if the peer has this code, this storage and an allowed user."""
    first_line = await asyncio.wait_for(reader.readline(), relay.GREETING_SECONDS)
    try:
        hello = json.loads(first_line)
        who = {name: hello[name] for name in ("space", "agent", "ceiling")}
        same = (hello["version"], hello["storage"]) == (VERSION, relay.storage_digest())
    except (ValueError, KeyError, TypeError):
        return None
    allowed_user = relay.peer_user(writer.get_extra_info("socket")) in (None, 0, os.geteuid())
    fits = (
        same
        and allowed_user
        and len(_sessions) <= MOST_SESSIONS
        and all(isinstance(name, str) for name in who.values())
    )
    answer = {"ok": True, "keyed": await _run_in_thread(_keyed)} if fits else {"ok": False}
    writer.write(json.dumps(answer).encode() + b"\n")
    await writer.drain()
    return who if fits else None


def _keyed() -> list[str]:
    """Names of the tools that take an idempotency key, which are all that write."""
    from mcp_bridge import registry

    names = (registry.DEFAULT_GROUP, *registry.SWITCHED_GROUPS)
    return [tool.name for name in names for tool in registry.load_group(name).tools if relay.KEY in tool.takes]


async def _serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, hello: dict[str, str]) -> None:
    built, transport = await asyncio.to_thread(_build, hello)
    async with transport(stdin=_SocketInput(reader), stdout=_SocketOutput(writer)) as (read, write):
        await built.run(read, write, built.create_initialization_options())


def _build(hello: dict[str, str]) -> Any:
    """Build the server, in a thread: loading the SDK takes a second."""
    from mcp.server.stdio import stdio_server

    from mcp_bridge import server, stdio

    who = stdio.local_caller(hello["space"], hello["agent"], hello["ceiling"])
    return server.build_server(who, _limited_threads(hello), lambda ctx: hello["ceiling"]), stdio_server


def _limited_threads(hello: dict[str, str]) -> RunInThread:
    """The threads for one session. Calls of its agent leave some free for others; a refusal is a JSON-RPC error."""
    run = _threads.of_session((hello["space"], hello["agent"]), MOST_UNDER_WAY)

    async def call(work: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return await run(work, *arguments)
        except Busy as refusal:
            raise errors.protocol_error(refusal) from None

    return call


class _SocketInput:
    """The connection in the shape of standard input, for the SDK."""

    def __init__(self, reader: asyncio.StreamReader) -> None:
        self._reader = reader

    def __aiter__(self) -> _SocketInput:
        return self

    async def __anext__(self) -> str:
        try:
            line = await self._reader.readline()
        except (ValueError, ConnectionError):
            line = b""  # too long or disconnected: the session ends, and the peer serves by itself
        if not line:
            raise StopAsyncIteration
        return line.decode("utf-8", "replace")


class _SocketOutput:
    """The connection in the shape of standard output, for the SDK."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer

    async def write(self, text: str) -> None:
        self._writer.write(text.encode())

    async def flush(self) -> None:
        await self._writer.drain()
