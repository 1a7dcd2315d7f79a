from __future__ import annotations

from django.apps import AppConfig


class McpBridgeConfig(AppConfig):
    name = "mcp_bridge"
    verbose_name = "MCP"

    def ready(self) -> None:
        from accounts import tool_groups
        from mcp_bridge.registry import SWITCHED_GROUPS

        for name, says in SWITCHED_GROUPS.items():
            tool_groups.register_group(name, says)
