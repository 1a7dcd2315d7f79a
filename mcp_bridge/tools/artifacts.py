"""Tools for stores: files with versions, and transcripts."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from typing import Any

from accounts.principals import Principal
from mcp_bridge import calls, compact, store_budgets
from mcp_bridge.registry import SWITCHED_GROUPS, Group, Tool
from mcp_bridge.schemas import Schema, text, whole, yes_or_no

Fit = Callable[[dict[str, Any], dict[str, Any], int], dict[str, Any]]
_MAX_TOKENS = whole(
    f"Approximate maximum size of the answer in tokens. Default {store_budgets.USUAL_TOKENS}.",
    low=compact.FEWEST_TOKENS,
    high=compact.MOST_TOKENS,
)
_HINT = text("How to read what was left out.")


def _within_budget(tool: Tool, fit: Fit, gives: dict[str, Any]) -> Tool:
    """A tool with max_tokens, whose answer `fit` shortens."""

    def run(principal: Principal, given: dict[str, Any]) -> dict[str, Any]:
        fields = {name: value for name, value in given.items() if name != "max_tokens"}
        budget = compact.text_budget(given.get("max_tokens"), usual=store_budgets.USUAL_TOKENS)
        return fit(tool.run(principal, fields), fields, budget)

    return replace(tool, run=run, takes={**tool.takes, "max_tokens": _MAX_TOKENS}, gives=gives)


def _tools() -> tuple[Tool, ...]:
    tools = {tool.name: tool for tool in calls.tools("artifacts")}
    read, transcript = tools["artifact_read"], tools["transcript_read"]
    gives = _with_properties(read.gives, next_first=whole("Give it as first to read on."), hint=_HINT)
    tools[read.name] = _within_budget(read, store_budgets.fit_file, gives)
    gives = _with_properties(transcript.gives, hint=_HINT)
    gives["properties"]["messages"]["items"]["properties"]["cut"] = yes_or_no("The message is cut.")
    tools[transcript.name] = _within_budget(transcript, store_budgets.fit_messages, gives)
    return tuple(tools.values())


def _with_properties(gives: Any, **more: Schema) -> dict[str, Any]:
    found = deepcopy(dict(gives))
    found["properties"] |= more
    return found


GROUP = Group("artifacts", SWITCHED_GROUPS["artifacts"], _tools())
