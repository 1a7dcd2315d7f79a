"""MCP prompts: two texts that a user can choose in clients with prompts."""

from __future__ import annotations

from collections.abc import Mapping

import mcp_types as types
from mcp.shared.exceptions import MCPError

LONGEST = 4000
_SAYS = {
    "remember": (
        "Remember this",
        "text",
        "What to remember.",
        "Remember this. Split it into facts that stand on their own, keep names and dates, and store them with "
        "flux_store (provenance {ceiling}, one call with items if there are several). Then list what you stored.\n\n{}",
    ),
    "what_do_you_know": (
        "What do you know about …",
        "subject",
        "A person, a project, a decision, anything.",
        "What do you know about the following? Call flux_retrieve, and again with other words if it returns little. "
        "Tell me what is certain and what is only inferred, with dates, then rate what you used with flux_feedback."
        "\n\n{}",
    ),
}
LISTED = [
    types.Prompt(
        name=name,
        title=title,
        description=title,
        arguments=[types.PromptArgument(name=argument, description=says, required=True)],
    )
    for name, (title, argument, says, _) in _SAYS.items()
]


def get(name: str, given: Mapping[str, str], ceiling: str) -> types.GetPromptResult:
    """The prompt, written for a caller whose maximum provenance is `ceiling`."""
    if name not in _SAYS:
        raise MCPError(
            code=types.INVALID_PARAMS, message=f"There is no prompt {name[:64]!r}. Allowed: {', '.join(_SAYS)}."
        )
    title, argument, _, says = _SAYS[name]
    value = given.get(argument, "")
    if set(given) != {argument} or not value.strip() or len(value) > LONGEST:
        raise MCPError(
            code=types.INVALID_PARAMS, message=f"{name} needs {argument}: a text of at most {LONGEST} characters."
        )
    text = types.TextContent(type="text", text=says.replace("{ceiling}", ceiling).replace("{}", value))
    return types.GetPromptResult(description=title, messages=[types.PromptMessage(role="user", content=text)])
