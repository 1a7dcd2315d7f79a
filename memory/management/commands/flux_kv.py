"""flux_kv: read and change the keys of an agent."""

from __future__ import annotations

from typing import Any

from fluxcore.command_names import typed_command
from fluxcore.errors import Invalid
from memory.management.calls import CallCommand


class Command(CallCommand):
    help = "Exact memory of an agent: read, write, cas, delete, list, and more."
    group, place = "memory", "agent"

    def run(self, options: dict[str, Any]) -> None:
        if options["agent"] is None:
            raise Invalid(f"The agent is missing: {typed_command('flux_kv list AGENT')}.", field="agent")
        super().run(options)
