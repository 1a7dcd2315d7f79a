"""The MCP server of a local agent: started by its client, speaks over standard input and output.

`manage.py flux_mcp` goes straight to `mcp_bridge.entry`, which loads no more than it needs; this is how Django finds
the command among the others.
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
