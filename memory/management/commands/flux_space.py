"""flux_space: list and create spaces, the tenants of an instance."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser
from django.db.models import Count

from accounts.agents import create_space, describe_space
from accounts.models import Space
from accounts.principals import shell
from fluxcore.command_names import typed_command
from fluxcore.errors import Invalid
from memory.management.base import FluxCommand


class Command(FluxCommand):
    help = "Spaces: list, create."

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("action", nargs="?", default="list", choices=["list", "create"])
        parser.add_argument("space", nargs="?", help="create: name of the space")
        parser.add_argument("--reason", default="", help="reason, recorded in the audit log")

    def run(self, options: dict[str, Any]) -> None:
        if options["action"] == "create":
            if options["space"] is None:
                raise Invalid(
                    f"The name of the space is missing: {typed_command('flux_space create NAME')}.", field="space"
                )
            created = create_space(shell(), name=options["space"], reason=options["reason"])
            self.answer(
                created,
                says=f"Created the space {created['name']}. "
                f"Next: {typed_command('flux_agent create NAME --space ' + created['name'])}",
            )
            return
        found = list(Space.objects.annotate(agent_count=Count("agents")).order_by("name"))
        if self.as_json:
            self.answer({"spaces": [{**describe_space(space), "agents": space.agent_count} for space in found]})
            return
        self.table(
            ("space", "agents", "created"),
            [(space.name, space.agent_count, f"{space.created_at:%Y-%m-%d}") for space in found],
            empty=f"No spaces yet. Create one: {typed_command('flux_space create NAME')}",
        )
