"""The MCP server of one local agent, over standard input and output."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TextIO

import anyio
from django.conf import settings
from django.db import connection
from mcp.server.stdio import stdio_server

from accounts import local_agent
from accounts.principals import Principal
from fluxcore.command_names import typed_command
from fluxcore.errors import NotReady
from mcp_bridge import parent, server, stdio_guard, stdio_worker
from mcp_bridge.relay import UnservedInput
from mcp_bridge.server import Context, FindCaller
from mcp_bridge.threads import run_in_threads


def serve(space: str, agent: str, ceiling: str, left: UnservedInput | None = None) -> None:
    """Serve until the client disconnects, beginning with input that a stopped server left unanswered."""
    executor = ThreadPoolExecutor(1, "mcp")
    in_thread = run_in_threads(executor)

    async def then_jobs(work: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return await in_thread(work, *arguments)
        finally:
            stdio_worker.start_worker()

    built = server.build_server(local_caller(space, agent, ceiling), then_jobs, lambda ctx: ceiling)

    async def run() -> None:
        out: Any = stdio_guard.protocol_writer()
        if left:
            out = _OutputWithoutGreeting(out, left.greeted)
        stdout = anyio.wrap_file(out)
        stdin = anyio.wrap_file(stdio_guard.protocol_reader(left.text())) if left else None
        async with stdio_server(stdin, stdout) as (read, write):
            await built.run(read, write, built.create_initialization_options())

    parent.end_with_parent()
    try:
        anyio.run(run)
    finally:
        # The order matters: a running call is committed, its jobs are left to the next process, then the interpreter
        # waits for the traces of recalls (memory/recall/traces.py) and the encoder (memory/embedding/native_calls.py).
        executor.shutdown()
        stdio_worker.end_worker()


def local_caller(space: str, agent: str, ceiling: str) -> FindCaller:
    """A function that finds the agent named on the command line, for every message again."""

    def who(ctx: Context) -> Principal:
        refuse_missing_instance()
        return local_agent.find_local_agent(space, agent, ceiling)

    return who


class _OutputWithoutGreeting:
    """Standard output without the answer to a repeated `initialize`, to which the client has an answer."""

    def __init__(self, out: TextIO, greeted: str) -> None:
        self._out, self._greeted = out, greeted

    def write(self, text: str) -> int:
        if self._greeted and json.dumps(json.loads(text).get("id")) == self._greeted:
            self._greeted = ""
            return len(text)
        return self._out.write(text)

    def flush(self) -> None:
        self._out.flush()


def refuse_missing_instance() -> None:
    """Refuse if there is no database: connecting to a missing SQLite file would create an empty one."""
    home = settings.HOME
    if not home.initialised:
        raise NotReady(f"There is no instance {home.name!r} in {home.path.parent}.")
    if connection.vendor == "sqlite" and not Path(settings.DATABASES["default"]["NAME"]).exists():
        command = typed_command("flux_backup restore FILE")
        raise NotReady(f"The database of this instance is missing. Restore it from a backup: {command}.")
