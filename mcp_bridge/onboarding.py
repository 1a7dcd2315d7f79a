"""What an agent is told before it works with this memory: the loop, and who it is here."""

from __future__ import annotations

from typing import Any

from accounts.principals import Principal
from accounts.verbs import selector
from fluxcore import config
from mcp_bridge.instructions import instructions


@selector("agents.onboard", needs="self.read")
def onboarding(principal: Principal) -> dict[str, Any]:
    """The instructions, the mode this memory works in, and what the caller may do."""
    from mcp_bridge import registry

    return {
        "instructions": f"{instructions(principal.ceiling)}\n\n{MODES[config.current().OPERATING_MODE]}",
        "operating_mode": config.current().OPERATING_MODE,
        "server_name": config.current().MCP_SERVER_NAME,
        "agent": principal.name,
        "provenance_ceiling": principal.ceiling,
        "tools": [tool.name for tool in registry.shown(principal)],
    }


MODES = {
    "caller_extracts": "This memory calls no model: store facts one by one, each a sentence that stands on its own.",
    "flux_extracts": (
        "This memory has a model of its own: hand whole turns and long texts over with flux_extract, if you have that "
        "tool, and it finds the single facts in them. With flux_store, store facts one by one."
    ),
}
