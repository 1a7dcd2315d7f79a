"""MCP client programs, with the configuration each needs to use this memory. Imports no Django."""

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
    """How a client connects to the memory: a process it starts, or a URL with a token."""

    name: str  # name of the entry in a client's list of servers
    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    url: str = ""
    token: str = ""  # empty: the client reads it from the variable FLUX_TOKEN

    def header(self, variable: str) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token or variable}"}

    def process(self) -> dict[str, Any]:
        return {"command": self.command, "args": list(self.args), **({"env": dict(self.env)} if self.env else {})}


EntryBuilder = Callable[[ConnectionMethod], dict[str, Any]]


@dataclass(frozen=True)
class McpClientProgram:
    """A client program: its configuration file, and the table of servers in it."""

    name: str
    title: str
    file: Callable[[Path], Path]  # path below the user's home
    table: str  # name of the table of servers
    entry: EntryBuilder
    toml: bool = False
    restart: str = "Restart it to see the tools."

    def snippet(self, method: ConnectionMethod) -> str:
        """The entry alone, as a complete configuration file of the client."""
        if self.toml:
            return toml_table(self.table, method.name, self.entry(method))
        return json.dumps({self.table: {method.name: self.entry(method)}}, indent=2) + "\n"


def local_process(
    python: str, manage: Path | None, *, instance: str, space: str, agent: str, ceiling: str, home: str | None = None
) -> ConnectionMethod:
    """Connection by a local process that serves an instance of this machine."""
    begin = (str(manage), "flux_mcp") if manage is not None else ("-m", "mcp_bridge.entry")
    asked = ("--name", instance, "--space", space, "--agent", agent, "--ceiling", ceiling)
    return ConnectionMethod(entry_name(instance), python, (*begin, *asked), {"FLUX_HOME": home} if home else {})


def remote_server(url: str, token: str = "", *, instance: str) -> ConnectionMethod:
    """Connection to the MCP endpoint of a running server."""
    return ConnectionMethod(entry_name(instance), url=f"{url.rstrip('/').removesuffix('/mcp')}/mcp", token=token)


def entry_name(instance: str) -> str:
    """Name of an instance's entry in a client's list of servers; each instance has its own."""
    return f"flux-{instance}"


def _claude_code(method: ConnectionMethod) -> dict[str, Any]:
    if method.url:
        return {"type": "http", "url": method.url, "headers": method.header(f"${{{TOKEN}}}")}
    return {"type": "stdio", **method.process()}


def _claude_desktop(method: ConnectionMethod) -> dict[str, Any]:
    """Claude Desktop starts processes only, so a remote server is reached through `mcp_bridge.proxy`."""
    if not method.url:
        return method.process()
    env = {"FLUX_URL": method.url.removesuffix("/mcp"), TOKEN: method.token or "flux_..."}
    return ConnectionMethod(method.name, method.command or sys.executable, ("-m", "mcp_bridge.proxy"), env).process()


def _cursor(method: ConnectionMethod) -> dict[str, Any]:
    return {"url": method.url, "headers": method.header(f"${{env:{TOKEN}}}")} if method.url else method.process()


def _vs_code(method: ConnectionMethod) -> dict[str, Any]:
    if method.url:
        return {"type": "http", "url": method.url, "headers": method.header(f"${{env:{TOKEN}}}")}
    return {"type": "stdio", **method.process()}


def _gemini(method: ConnectionMethod) -> dict[str, Any]:
    return {"httpUrl": method.url, "headers": method.header(f"${TOKEN}")} if method.url else method.process()


def _codex(method: ConnectionMethod) -> dict[str, Any]:
    if not method.url:
        return method.process()
    if method.token:
        return {"url": method.url, "http_headers": method.header("")}
    return {"url": method.url, "bearer_token_env_var": TOKEN}


def _settings(home: Path, vendor: str) -> Path:
    """Folder of a program's settings for a user."""
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
