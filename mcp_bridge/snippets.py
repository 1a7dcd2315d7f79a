"""The files under an instance's `integrations/`: a snippet per client, the block for AGENTS.md, examples of hooks."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from fluxcore.command_names import typed
from fluxsite.home import Home, private_file
from mcp_bridge import clients, hooks
from mcp_bridge.clients import CLIENTS, Way
from mcp_bridge.instructions import block

ROOT = Path(__file__).resolve().parent.parent
USUAL_HOME = Path.home() / ".flux"


def way(home: Home, *, space: str, agent: str, ceiling: str, url: str | None = None) -> Way:
    """How a client of this machine reaches the instance."""
    if url:
        return clients.remote(url, instance=home.name)
    manage = ROOT / "manage.py"
    elsewhere = None if home.path.parent == USUAL_HOME else str(home.path.parent)
    return clients.local(
        sys.executable, manage if manage.exists() else None, instance=home.name, space=space, agent=agent,
        ceiling=ceiling, home=elsewhere,
    )  # fmt: skip


def write(folder: Path, way: Way, ceiling: str) -> list[Path]:
    """All of them anew; readable by the owner alone, as everything of the instance is."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    texts = {f"{client.name}.{'toml' if client.toml else 'json'}": client.snippet(way) for client in CLIENTS.values()}
    texts |= {"AGENTS.md": block(ceiling), "CLAUDE.md": block(ceiling), **hooks.examples(way)}
    for name, text in texts.items():
        private_file(folder / name, text)
    return [folder / name for name in texts]


def notes(way: Way) -> list[str]:
    """What a client's process would not know."""
    found = []
    if not way.url and os.environ.get("DATABASE_URL"):
        found.append("This instance has its database from DATABASE_URL: add it to `env` of the snippet, or use --url.")
    if way.url:
        found.append(f"Set FLUX_TOKEN where the client runs: {typed('flux_token mint AGENT')} prints one.")
    return found
