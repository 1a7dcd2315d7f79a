"""flux_mcp: MCP server of one local agent over standard input and output, started by its client.

`manage.py flux_mcp` calls `mcp_bridge.entry` directly, which imports little; this class exists so that Django lists the
command.
"""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from mcp_bridge import entry
from memory.management.base import FluxCommand


class Command(FluxCommand):
    help = "Serve MCP over standard input and output to one local agent. MCP clients start it."

    def arguments(self, parser: CommandParser) -> None:
        entry.options(parser)

    def run(self, options: dict[str, Any]) -> None:
        entry.serve(options["space"], options["agent"], options["ceiling"])
