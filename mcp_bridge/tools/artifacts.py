"""Tools for stores: files with versions, and transcripts."""

from __future__ import annotations

from mcp_bridge import calls
from mcp_bridge.registry import SWITCHED_GROUPS, Group

GROUP = Group("artifacts", SWITCHED_GROUPS["artifacts"], calls.tools("artifacts"))
