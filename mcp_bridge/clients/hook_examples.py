"""Hooks for clients that have them: the memory is asked with every prompt, without the model having to think of it."""

from __future__ import annotations

import json
import shlex
from typing import Any

from mcp_bridge.clients.programs import ConnectionMethod

SECONDS = 10


def examples(way: ConnectionMethod) -> dict[str, str]:
    """By file name: what goes into the settings of each client."""
    line = hook_command(way)
    one = {"type": "command", "command": line}
    return {
        "claude-code.hooks.json": _written({"UserPromptSubmit": [{"hooks": [{**one, "timeout": SECONDS}]}]}),
        "gemini.hooks.json": _written(
            {"BeforeAgent": [{"hooks": [{"name": "flux-memory", **one, "timeout": SECONDS * 1000}]}]}
        ),
    }


def hook_command(way: ConnectionMethod) -> str:
    """The line a client runs with each prompt; FLUX_URL and FLUX_TOKEN make it ask a running server."""
    import sys

    asked = way.args[way.args.index("--name") :] if "--name" in way.args else ()
    set_first = [f"{name}={shlex.quote(value)}" for name, value in way.env.items()]
    if way.url:
        set_first.append(f"FLUX_URL={shlex.quote(way.url.removesuffix('/mcp'))}")
    root = [f"PYTHONPATH={shlex.quote(way.args[0].removesuffix('manage.py').rstrip('/'))}"] if _checkout(way) else []
    return " ".join(
        [*set_first, *root, *map(shlex.quote, (way.command or sys.executable, "-m", "mcp_bridge.hook")), *asked]
    )


def _checkout(way: ConnectionMethod) -> bool:
    return bool(way.args) and way.args[0].endswith("manage.py")


def _written(hooks: dict[str, Any]) -> str:
    return json.dumps({"hooks": hooks}, indent=2) + "\n"
