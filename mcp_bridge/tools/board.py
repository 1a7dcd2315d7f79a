"""What agents share: boards, locks with fencing tokens, queues of work, and what changes there."""

from __future__ import annotations

from typing import Any

from accounts.principals import Principal
from mcp_bridge import calls
from mcp_bridge.registry import SWITCHED_GROUPS, Group, Tool
from mcp_bridge.schemas import gives, many, text, whole


def _watch(principal: Principal, given: dict[str, Any]) -> dict[str, Any]:
    """What has changed by now: a tool does not keep its caller waiting."""
    from memory.keyvalue import watch

    what = watch.watch(f"boards/{given.get('board') or 'main'}", given.get("pattern"))
    return watch.poll(lambda: principal, what, given.get("since"), 0.0)


# By hand: over REST the same call waits and streams.
_WATCH = Tool(
    "board_watch",
    "What changed on a board",
    "Changes of keys, locks and queues since a position; without since it tells where to begin.",
    _watch,
    takes={
        "board": text("Which board. Default main."),
        "pattern": text("Only keys that match."),
        "since": text("position of the call before."),
    },
    needs=("bb.read",),
    reads=True,
    repeats=True,
    gives=gives(("changes", "position"), changes=many({"type": "object"}), count=whole(), position=text()),
)

GROUP = Group("board", SWITCHED_GROUPS["board"], (*calls.tools("board"), _WATCH))
