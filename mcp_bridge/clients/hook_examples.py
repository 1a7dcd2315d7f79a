"""Example hooks for clients that support them: recall with every prompt, without a tool call of the model."""

from __future__ import annotations

import json
import shlex
from typing import Any

from mcp_bridge.clients.programs import ConnectionMethod

SECONDS = 10


def examples(method: ConnectionMethod) -> dict[str, str]:
    """Settings of each client, by the name of the example file."""
    command = hook_command(method)
    hook = {"type": "command", "command": command}
    return {
        "claude-code.hooks.json": _written({"UserPromptSubmit": [{"hooks": [{**hook, "timeout": SECONDS}]}]}),
        "gemini.hooks.json": _written(
            {"BeforeAgent": [{"hooks": [{"name": "flux-memory", **hook, "timeout": SECONDS * 1000}]}]}
        ),
    }


def hook_command(method: ConnectionMethod) -> str:
    """The shell command a client runs with each prompt; with FLUX_URL and FLUX_TOKEN it calls a running server."""
    import sys

    options = method.args[method.args.index("--name") :] if "--name" in method.args else ()
    set_first = [f"{name}={shlex.quote(value)}" for name, value in method.env.items()]
    if method.url:
        set_first.append(f"FLUX_URL={shlex.quote(method.url.removesuffix('/mcp'))}")
    root = (
        [f"PYTHONPATH={shlex.quote(method.args[0].removesuffix('manage.py').rstrip('/'))}"] if _checkout(method) else []
    )
    return " ".join(
        [*set_first, *root, *map(shlex.quote, (method.command or sys.executable, "-m", "mcp_bridge.hook")), *options]
    )


def _checkout(method: ConnectionMethod) -> bool:
    return bool(method.args) and method.args[0].endswith("manage.py")


def _written(hooks: dict[str, Any]) -> str:
    return json.dumps({"hooks": hooks}, indent=2) + "\n"
