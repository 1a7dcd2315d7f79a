"""Tools every agent is shown, by their names in flux-memory: store, recall, feedback, list, health, onboarding.

They run the same verbs and selectors as REST. These are imported by the first call, so that listing the tools loads
neither numpy nor the engine.
"""

from __future__ import annotations

from mcp_bridge.registry import Group
from mcp_bridge.tools.grains.feedback import FEEDBACK, PENDING
from mcp_bridge.tools.grains.instance import HEALTH, ONBOARD
from mcp_bridge.tools.grains.list_grains import LIST
from mcp_bridge.tools.grains.retrieve import RETRIEVE
from mcp_bridge.tools.grains.store import STORE

GROUP = Group("grains", "recall, remember and rate", (ONBOARD, RETRIEVE, STORE, FEEDBACK, HEALTH, LIST, PENDING))
