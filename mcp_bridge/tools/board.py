"""Tools for boards that agents share: keys, locks with fencing tokens, queues of work, and watching changes."""

from __future__ import annotations

from typing import Any

from accounts.principals import Principal
from mcp_bridge import calls
from mcp_bridge.registry import SWITCHED_GROUPS, Group, Tool
from mcp_bridge.schemas import gives, many, text, whole


def _watch(principal: Principal, given: dict[str, Any]) -> dict[str, Any]:
    """Changes so far, without waiting for any."""
    from memory.keyvalue import watch

    what = watch.watch(f"boards/{given.get('board') or 'main'}", given.get("pattern"))
    return watch.poll(lambda: principal, what, given.get("since"), 0.0)


# Not a declared call: over REST the same call waits and streams.
_WATCH = Tool(
    "board_watch",
    "Watch a board",
    "Changes of keys, locks and queues since a position. Without since: the present position, to start from.",
    _watch,
    takes={
        "board": text("Name of the board. Default main."),
        "pattern": text("Only keys that match."),
        "since": text("position of the previous call."),
    },
    needs=("bb.read",),
    reads=True,
    repeats=True,
    gives=gives(("changes", "position"), changes=many({"type": "object"}), count=whole(), position=text()),
)

GROUP = Group("board", SWITCHED_GROUPS["board"], (*calls.tools("board"), _WATCH))
