"""Anthropic's memory tool on a store of files: its folder /memories is the folder `memories` of the store.

Answers and errors are those of the SDK's own file tool, `BetaLocalFilesystemMemoryTool`. Folders differ: a store has
only those with a file in them, and the size of a folder is that of its files. Edits of several agents are applied one
after the other, and none is lost.
"""

from __future__ import annotations

from typing import Any

from flux.adapters import needs
from flux.adapters.memory_commands import MemoryCommands
from flux.client import AsyncFluxClient, FluxClient
from flux.errors import FluxError

try:
    from anthropic.lib.tools import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool, ToolError
except ImportError as error:
    raise needs("anthropic", error) from error


def _call(name: str) -> Any:
    """A method of the tool that runs a command, which with this client never waits."""

    def run(self: Any, command: Any = None) -> str:
        try:
            getattr(self.commands, name)(command).send(None)
        except StopIteration as end:
            return str(end.value)
        except (FluxError, ValueError) as error:
            raise ToolError(str(error)) from error
        raise TypeError("The client must be a FluxClient; for an AsyncFluxClient there is AsyncAnthropicMemoryTool.")

    return run


def _async_call(name: str) -> Any:
    """The same with a client whose answers are awaited."""

    async def run(self: Any, command: Any = None) -> str:
        try:
            return str(await getattr(self.commands, name)(command))
        except (FluxError, ValueError) as error:
            raise ToolError(str(error)) from error

    return run


class AnthropicMemoryTool(BetaAbstractMemoryTool):  # type: ignore[misc]
    """The memory tool on a store, which is named by its id or key."""

    def __init__(self, client: FluxClient, store: str, **named: Any) -> None:
        super().__init__(**named)
        self.commands = MemoryCommands(client, store)

    view, create, str_replace = _call("view"), _call("create"), _call("str_replace")
    insert, delete, rename = _call("insert"), _call("delete"), _call("rename")
    clear_all_memory = _call("clear_all_memory")


class AsyncAnthropicMemoryTool(BetaAsyncAbstractMemoryTool):  # type: ignore[misc]
    """The memory tool for asyncio."""

    def __init__(self, client: AsyncFluxClient, store: str, **named: Any) -> None:
        super().__init__(**named)
        self.commands = MemoryCommands(client, store)

    view, create, str_replace = _async_call("view"), _async_call("create"), _async_call("str_replace")
    insert, delete, rename = _async_call("insert"), _async_call("delete"), _async_call("rename")
    clear_all_memory = _async_call("clear_all_memory")
