"""Exact memory of one's own: values under keys, with versions and lifetimes."""

from __future__ import annotations

from typing import Any

from accounts.principals import Principal
from mcp_bridge.registry import Group
from mcp_bridge.schemas import text
from mcp_bridge.tools import keys

_WHOSE = {"agent": text("Whose memory, if not your own; takes a capability for it.")}


def _where(principal: Principal, given: dict[str, Any]) -> str:
    """The caller's own, whoever that is by its credentials; another's only by name."""
    return f"agents/{given.get('agent') or principal.name}"


GROUP = Group(
    "memory",
    "exact memory under keys",
    keys.naming(_where, keys.tools("memory", "your exact memory", _where, "memory.read", "memory.write", _WHOSE)),
)
