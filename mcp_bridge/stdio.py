"""The MCP server of one local agent, over standard input and output."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import anyio
from django.conf import settings
from django.db import connection
from mcp.server.stdio import stdio_server

from accounts import local
from accounts.principals import Principal
from fluxcore.errors import NotReady
from mcp_bridge import alone, parent, server, wire
from mcp_bridge.aside import aside
from mcp_bridge.server import Context


def serve(space: str, agent: str, ceiling: str) -> None:
    """Until the client hangs up or dies."""

    def who(ctx: Context) -> Principal:
        refuse_nothing_there()
        return local.agent(space, agent, ceiling)

    executor = ThreadPoolExecutor(1, "mcp")
    beside = aside(executor)

    async def then_chores(work: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return await beside(work, *arguments)
        finally:
            alone.begin()

    built = server.build(who, then_chores)

    async def run() -> None:
        stdout = anyio.wrap_file(wire.writer())
        async with stdio_server(stdout=stdout) as (read, write):
            await built.run(read, write, built.create_initialization_options())

    parent.end_with_parent()
    try:
        anyio.run(run)
    finally:
        # In this order: a call in hand is committed, its jobs are left to the next process, and the interpreter then
        # waits for the receipts of recalls (memory/grains/traces.py) and the encoder (memory/embedding/native.py).
        executor.shutdown()
        alone.end()


def refuse_nothing_there() -> None:
    """Looking for a database that is not there would make an empty one."""
    home = settings.HOME
    if not home.initialised:
        raise NotReady(f"There is no instance {home.name!r} in {home.path.parent}.")
    if connection.vendor == "sqlite" and not Path(settings.DATABASES["default"]["NAME"]).exists():
        raise NotReady("The database of this memory is missing. Bring it back from a backup: flux_backup restore.")
