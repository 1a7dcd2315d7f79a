"""Synchronous wrapper of the SDK's MCP client, whose event loop runs in a thread."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Awaitable, Callable
from typing import Any

from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

from tests.instances import ROOT, Instance

SECONDS = 60


class Driver:
    """One connection to an MCP server."""

    def __init__(self, target: Callable[[], Any], mode: str = "auto") -> None:
        self._target, self._mode = target, mode
        self._loop = asyncio.new_event_loop()
        self._ready, self._failure = threading.Event(), None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        assert self._ready.wait(SECONDS), "the server did not answer"
        if self._failure is not None:
            raise self._failure

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_until_complete(self._live())
        except BaseException as error:
            self._failure = error
        finally:
            self._ready.set()

    async def _live(self) -> None:
        self._end = asyncio.Event()
        async with Client(self._target(), mode=self._mode) as self.client:
            self._ready.set()
            await self._end.wait()

    def ask(self, work: Callable[[Client], Awaitable[Any]]) -> Any:
        return asyncio.run_coroutine_threadsafe(work(self.client), self._loop).result(SECONDS)  # type: ignore[arg-type]

    def tools(self) -> dict[str, Any]:
        """List the tools again, without the client's cache."""
        listed = self.ask(lambda client: client.session.list_tools())
        return {tool.name: tool for tool in listed.tools}

    def call(self, name: str, **arguments: Any) -> Any:
        """The answer of a tool that must work."""
        result = self.try_call(name, **arguments)
        assert not result.is_error, result.content[0].text
        return result.structured_content

    def try_call(self, name: str, **arguments: Any) -> Any:
        return self.ask(lambda client: client.call_tool(name, arguments))

    def refused(self, name: str, **arguments: Any) -> tuple[str, str]:
        """Code and text of a refusal."""
        result = self.try_call(name, **arguments)
        assert result.is_error, result.content
        return code_of(result), result.content[0].text

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join(SECONDS)
        assert not self._thread.is_alive()


def code_of(result: Any) -> str:
    text = str(result.content[0].text)
    code = result.meta["flux-memory/error"]["code"]
    assert text.startswith(f"{code}: ")
    return str(code)


def over_http(instance: Instance, token: str | None = None, mode: str = "auto") -> Driver:
    """A client of the MCP server of a running instance."""
    headers = {"Authorization": f"Bearer {token or instance.token}"}
    address = f"{instance.state['urls']['mcp']}/mcp"
    return Driver(lambda: streamable_http_client(address, http_client=create_mcp_http_client(headers)), mode)


def over_stdio(instance: Instance, *arguments: str, mode: str = "auto", **environment: str) -> Driver:
    """A client that starts `manage.py flux_mcp` of an instance, as every client does."""
    words = [str(ROOT / "manage.py"), "flux_mcp", *arguments]
    parameters = StdioServerParameters(
        command=sys.executable, args=words, env={**instance.environment, **environment}, cwd="/"
    )
    return Driver(lambda: stdio_client(parameters), mode)
