"""Writer of an instance's `integrations/` folder: a snippet per client, the AGENTS.md block, example hooks."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from fluxcore import files
from fluxcore.command_names import typed_command
from fluxsite.home import DataHome
from mcp_bridge.clients import hook_examples, programs
from mcp_bridge.clients.programs import CLIENTS, ConnectionMethod
from mcp_bridge.instructions import instructions_block

ROOT = Path(__file__).resolve().parent.parent.parent
DEFAULT_HOME = Path.home() / ".flux"


def connection_method(
    home: DataHome, *, space: str, agent: str, ceiling: str, url: str | None = None
) -> ConnectionMethod:
    """How a client on this machine connects to the instance."""
    if url:
        return programs.remote_server(url, instance=home.name)
    manage = ROOT / "manage.py"
    elsewhere = None if home.path.parent == DEFAULT_HOME else str(home.path.parent)
    return programs.local_process(
        sys.executable,
        manage if manage.exists() else None,
        instance=home.name,
        space=space,
        agent=agent,
        ceiling=ceiling,
        home=elsewhere,
    )


def write_snippets(folder: Path, method: ConnectionMethod, ceiling: str) -> list[Path]:
    """Write all files again, readable by the owner alone."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    texts = {
        f"{client.name}.{'toml' if client.toml else 'json'}": client.snippet(method) for client in CLIENTS.values()
    }
    texts |= {
        "AGENTS.md": instructions_block(ceiling),
        "CLAUDE.md": instructions_block(ceiling),
        **hook_examples.examples(method),
    }
    for name, text in texts.items():
        files.replace_file(folder / name, text)
    return [folder / name for name in texts]


def connection_notes(method: ConnectionMethod) -> list[str]:
    """Notes on settings that a client's process does not inherit."""
    found = []
    if not method.url and os.environ.get("DATABASE_URL"):
        found.append("This instance gets its database from DATABASE_URL: add it to `env` of the snippet, or use --url.")
    if method.url:
        found.append(f"Set FLUX_TOKEN where the client runs: {typed_command('flux_token mint AGENT')} prints one.")
    return found
