from __future__ import annotations

from django.apps import AppConfig


class McpBridgeConfig(AppConfig):
    name = "mcp_bridge"
    verbose_name = "MCP"

    def ready(self) -> None:
        from accounts import toolboxes
        from mcp_bridge.registry import SWITCHED

        for name, says in SWITCHED.items():
            toolboxes.offer(name, says)
