"""Tools for an agent's own exact memory: values under keys, with versions and expiry."""

from __future__ import annotations

from mcp_bridge import calls
from mcp_bridge.registry import SWITCHED_GROUPS, Group

GROUP = Group("memory", SWITCHED_GROUPS["memory"], calls.tools("memory"))
