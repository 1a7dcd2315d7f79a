"""Onboarding of agents: instructions, operating mode, and what the caller may do."""

from __future__ import annotations

from typing import Any

from accounts.principals import Principal
from accounts.verbs import selector
from fluxcore import config
from mcp_bridge.instructions import instructions


@selector("agents.onboard", needs="self.read")
def onboarding(principal: Principal) -> dict[str, Any]:
    """Onboarding of the caller: instructions, operating mode, tools and maximum provenance."""
    from mcp_bridge import registry

    mode = config.current().OPERATING_MODE
    return {
        "instructions": f"{instructions(principal.ceiling)}\n\nOperating mode: {mode}. {MODES[mode]}\n\n{CALLER}",
        "operating_mode": mode,
        "server_name": config.current().MCP_SERVER_NAME,
        "agent": principal.name,
        "provenance_ceiling": principal.ceiling,
        "tools": [tool.name for tool in registry.visible_tools(principal)],
    }


CALLER = """\
Say who calls: send caller_id as client:role with every call, for example "my-assistant:chat". The client is a name of
your program that stays the same, the role what this call is for: chat, memory_writer, background_lookup, system, admin
or test. The separate arguments client and role are understood as well. Each caller_id has
its own share of the limits; it does not change what you may do.

Save these instructions where you read them at every start, for example in AGENTS.md or CLAUDE.md."""
MODES = {
    "caller_extracts": "This memory calls no model: store facts one by one, each a sentence that stands on its own.",
    "flux_extracts": (
        "This memory has a model of its own: submit whole turns and long texts with flux_extract, if you have that "
        "tool, and it extracts the single facts from them. With flux_store, store facts one by one."
    ),
}
