"""The programs an agent lives in, and what each must be told to use this memory. Imports no Django."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

TOKEN = "FLUX_TOKEN"  # noqa: S105  the name of a variable


@dataclass(frozen=True)
class ConnectionMethod:
    """How a client reaches the memory: a process it starts, or an address with a token."""

    name: str  # of its entry in a client's list of servers
    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    url: str = ""
    token: str = ""  # left out, each client is told to take it from the variable FLUX_TOKEN

    def header(self, variable: str) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token or variable}"}

    def process(self) -> dict[str, Any]:
        return {"command": self.command, "args": list(self.args), **({"env": dict(self.env)} if self.env else {})}


EntryBuilder = Callable[[ConnectionMethod], dict[str, Any]]


@dataclass(frozen=True)
class McpClientProgram:
    """One program: the file it reads, and where in it a server stands."""

    name: str
    title: str
    file: Callable[[Path], Path]  # below the user's home
    table: str  # the name under which the file lists servers
    entry: EntryBuilder
    toml: bool = False
    restart: str = "Restart it to see the tools."

    def snippet(self, way: ConnectionMethod) -> str:
        """The entry alone, as a whole file that could be the client's."""
        if self.toml:
            return toml_table(self.table, way.name, self.entry(way))
        return json.dumps({self.table: {way.name: self.entry(way)}}, indent=2) + "\n"


def local_process(
    python: str, manage: Path | None, *, instance: str, space: str, agent: str, ceiling: str, home: str | None = None
) -> ConnectionMethod:
    """A process of this machine, serving an instance of it."""
    begin = (str(manage), "flux_mcp") if manage is not None else ("-m", "mcp_bridge.entry")
    asked = ("--name", instance, "--space", space, "--agent", agent, "--ceiling", ceiling)
    return ConnectionMethod(entry_name(instance), python, (*begin, *asked), {"FLUX_HOME": home} if home else {})


def remote_server(url: str, token: str = "", *, instance: str) -> ConnectionMethod:
    """The MCP endpoint of a running server."""
    return ConnectionMethod(entry_name(instance), url=f"{url.rstrip('/').removesuffix('/mcp')}/mcp", token=token)


def entry_name(instance: str) -> str:
    """What an instance is called in a client's list of servers: two instances have two entries."""
    return f"flux-{instance}"


def _claude_code(way: ConnectionMethod) -> dict[str, Any]:
    if way.url:
        return {"type": "http", "url": way.url, "headers": way.header(f"${{{TOKEN}}}")}
    return {"type": "stdio", **way.process()}


def _claude_desktop(way: ConnectionMethod) -> dict[str, Any]:
    """It starts processes only: the thin client stands between it and a server."""
    if not way.url:
        return way.process()
    env = {"FLUX_URL": way.url.removesuffix("/mcp"), TOKEN: way.token or "flux_..."}
    return ConnectionMethod(way.name, way.command or sys.executable, ("-m", "mcp_bridge.proxy"), env).process()


def _cursor(way: ConnectionMethod) -> dict[str, Any]:
    return {"url": way.url, "headers": way.header(f"${{env:{TOKEN}}}")} if way.url else way.process()


def _vs_code(way: ConnectionMethod) -> dict[str, Any]:
    if way.url:
        return {"type": "http", "url": way.url, "headers": way.header(f"${{env:{TOKEN}}}")}
    return {"type": "stdio", **way.process()}


def _gemini(way: ConnectionMethod) -> dict[str, Any]:
    return {"httpUrl": way.url, "headers": way.header(f"${TOKEN}")} if way.url else way.process()


def _codex(way: ConnectionMethod) -> dict[str, Any]:
    if not way.url:
        return way.process()
    if way.token:
        return {"url": way.url, "http_headers": way.header("")}
    return {"url": way.url, "bearer_token_env_var": TOKEN}


def _settings(home: Path, vendor: str) -> Path:
    """Where programs keep what belongs to a user."""
    if sys.platform == "darwin":
        return home / "Library" / "Application Support" / vendor
    if sys.platform == "win32":
        return home / "AppData" / "Roaming" / vendor
    return home / ".config" / vendor


CLIENTS = {
    client.name: client
    for client in (
        McpClientProgram(
            "claude-code",
            "Claude Code",
            lambda home: home / ".claude.json",
            "mcpServers",
            _claude_code,
            restart="Start a new session; /mcp shows the server.",
        ),
        McpClientProgram(
            "claude-desktop",
            "Claude Desktop",
            lambda home: _settings(home, "Claude") / "claude_desktop_config.json",
            "mcpServers",
            _claude_desktop,
        ),
        McpClientProgram(
            "codex",
            "Codex",
            lambda home: home / ".codex" / "config.toml",
            "mcp_servers",
            _codex,
            toml=True,
            restart="Start a new session; /mcp shows the server.",
        ),
        McpClientProgram("cursor", "Cursor", lambda home: home / ".cursor" / "mcp.json", "mcpServers", _cursor),
        McpClientProgram(
            "vscode",
            "VS Code",
            lambda home: _settings(home, "Code") / "User" / "mcp.json",
            "servers",
            _vs_code,
            restart="Run `MCP: List Servers` and start it.",
        ),
        McpClientProgram(
            "gemini", "Gemini CLI", lambda home: home / ".gemini" / "settings.json", "mcpServers", _gemini
        ),
    )
}


def toml_table(table: str, name: str, entry: Mapping[str, Any]) -> str:
    """A server as a TOML table; values are texts, lists of texts and tables of texts."""
    head = f"{table}.{_key(name)}"
    plain = {key: value for key, value in entry.items() if not isinstance(value, Mapping)}
    lines = [f"[{head}]", *(f"{key} = {_value(value)}" for key, value in plain.items())]
    for key, value in entry.items():
        if isinstance(value, Mapping):
            lines += ["", f"[{head}.{key}]", *(f"{_key(inner)} = {_value(text)}" for inner, text in value.items())]
    return "\n".join(lines) + "\n"


def _key(name: str) -> str:
    return name if name.replace("-", "").replace("_", "").isalnum() and name.isascii() else json.dumps(name)


def _value(value: Any) -> str:
    """JSON's texts and lists of them are TOML's too."""
    return json.dumps(value, ensure_ascii=False)
