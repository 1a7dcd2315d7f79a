"""flux_agent: list, create, change, suspend and reactivate agents."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from accounts import agents, effective_capabilities, manifests, tool_groups, trust
from accounts.models import Agent
from accounts.principals import find_space, shell
from accounts.tokens import find_agent
from fluxcore.command_names import typed_command
from fluxcore.errors import Invalid
from fluxsite.setup import FIRST_SPACE
from memory.management.base import FluxCommand

_RATING = {"required": True, "optional": False}


class Command(FluxCommand):
    help = (
        "Agents: list, show, create, apply a manifest, set the trust level, require feedback, choose tools, suspend "
        "(stop) and reactivate (resume)."
    )

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "action",
            nargs="?",
            default="list",
            choices=["list", "show", "create", "apply", "trust", "rating", "tools", "stop", "resume"],
        )
        parser.add_argument("agent", nargs="?", help="name of the agent; apply: the manifest file")
        parser.add_argument(
            "level",
            nargs="?",
            help=f"trust: one of {', '.join(trust.LEVELS)}; rating: {' or '.join(_RATING)}; "
            "tools: +GROUP adds a group, A,B sets exactly these, none removes all",
        )
        parser.add_argument(
            "--agent", dest="named", help="apply: name of the agent, if the file has only spec.capabilities"
        )
        parser.add_argument("--space", default=None, help=f"space of the agent (default {FIRST_SPACE})")
        parser.add_argument(
            "--capability",
            action="append",
            default=[],
            help="create: a capability, may be repeated (default: store, recall and feedback)",
        )
        parser.add_argument("--trust", help="create: maximum trust level (default trusted)")
        parser.add_argument(
            "--parent", help="create: parent agent; the new agent never has more capabilities than its parent"
        )
        parser.add_argument("--reason", default="", help="reason, recorded in the audit log")

    def run(self, options: dict[str, Any]) -> None:
        if options["action"] != "list" and options["agent"] is None:
            raise Invalid(
                f"The name of the agent is missing: {typed_command('flux_agent ' + options['action'] + ' NAME')}.",
                field="agent",
            )
        getattr(self, f"_{options['action']}")(options)

    def _list(self, options: dict[str, Any]) -> None:
        found = Agent.objects.select_related("space", "parent").order_by("space__name", "name")
        if options["space"]:
            found = found.filter(space__name=options["space"])
        if self.as_json:
            self.answer({"agents": [agents.describe_agent(agent) for agent in found]})
            return
        self.table(
            ("space", "agent", "state", "trust", "parent", "capabilities"),
            [
                (
                    agent.space.name,
                    agent.name,
                    "active" if agent.active else "suspended",
                    agent.trust,
                    agent.parent.name if agent.parent else "",
                    ", ".join(agent.capabilities),
                )
                for agent in found
            ],
            empty=f"No agents yet. Create one: {typed_command('flux_agent create NAME')}",
        )

    def _show(self, options: dict[str, Any]) -> None:
        agent = find_agent(options["space"] or FIRST_SPACE, options["agent"])
        found = {**agents.describe_agent(agent), "holds_now": list(effective_capabilities.capabilities_of(agent).texts)}
        if self.as_json:
            self.answer(found)
        else:
            rows = [(name, ", ".join(value) if isinstance(value, list) else value) for name, value in found.items()]
            self.table(("", ""), rows, empty="")

    def _create(self, options: dict[str, Any]) -> None:
        agent = agents.create_agent(
            shell(),
            space=options["space"] or FIRST_SPACE,
            name=options["agent"],
            reason=options["reason"],
            capabilities=options["capability"] or list(agents.EVERYDAY_CAPABILITIES),
            trust=options["trust"],
            parent=options["parent"],
        )
        self.answer(
            agent,
            says=f"Created the agent {agent['name']} in space {agent['space']}. "
            f"Next: {typed_command('flux_token mint ' + agent['name'] + ' --space ' + agent['space'])}",
        )

    def _apply(self, options: dict[str, Any]) -> None:
        """Apply the manifests of a file; all are checked before the first is applied."""
        found = manifests.read(Path(options["agent"]), options["named"])
        wanted = [(options["space"] or one.space or FIRST_SPACE, one) for one in found]
        for space in {space for space, _ in wanted}:
            find_space(space)
        done = [
            agents.apply_agent(
                shell(),
                space=space,
                name=one.name,
                capabilities=one.capabilities,
                trust=one.trust,
                parent=one.parent,
                reason=options["reason"],
            )
            for space, one in wanted
        ]
        lines = [
            f"{agent['space']}/{agent['name']}: "
            + ("created" if agent["created"] else "changed" if agent["changed"] else "unchanged")
            for agent in done
        ]
        self.answer({"agents": done}, says="\n".join(lines))

    def _trust(self, options: dict[str, Any]) -> None:
        if options["level"] is None:
            raise Invalid(
                f"The trust level is missing: {typed_command('flux_agent trust NAME ' + '|'.join(trust.LEVELS))}.",
                field="level",
            )
        changed = agents.set_trust(
            shell(),
            space=options["space"] or FIRST_SPACE,
            name=options["agent"],
            trust=options["level"],
            reason=options["reason"],
        )
        self.answer(
            changed,
            says=f"{changed['space']}/{changed['name']} now has the trust level {changed['trust']}. "
            "Its capabilities now: "
            f"{typed_command('flux_agent show ' + changed['name'] + ' --space ' + changed['space'])}",
        )

    def _rating(self, options: dict[str, Any]) -> None:
        if options["level"] not in _RATING:
            raise Invalid(
                f"The setting is missing: {typed_command('flux_agent rating NAME ' + '|'.join(_RATING))}.",
                field="level",
            )
        changed = agents.set_must_rate(
            shell(),
            space=options["space"] or FIRST_SPACE,
            name=options["agent"],
            must_rate=_RATING[options["level"]],
            reason=options["reason"],
        )
        says = (
            "must give feedback on its answers before it can recall again"
            if changed["must_rate"]
            else "is only reminded to give feedback"
        )
        self.answer(changed, says=f"{changed['space']}/{changed['name']} {says}.")

    def _tools(self, options: dict[str, Any]) -> None:
        """Set the additional groups of MCP tools; without a group, list them."""
        space, level = options["space"] or FIRST_SPACE, options["level"]
        now = find_agent(space, options["agent"]).tools
        if level is None:
            offered = tool_groups.registered_groups()
            if self.as_json:
                self.answer({"tools": now, "offered": offered})
            else:
                rows = [(name, "on" if name in now else "off", says) for name, says in offered.items()]
                self.table(("group", "", "for"), rows, empty="There are no additional groups of tools.")
            return
        named = [] if level == "none" else level.removeprefix("+").split(",")
        changed = agents.set_tools(
            shell(),
            space=space,
            name=options["agent"],
            tools=[*now, *named] if level.startswith("+") else named,
            reason=options["reason"],
        )
        shown = ", ".join(changed["tools"]) or "only the default tools"
        self.answer(changed, says=f"{changed['space']}/{changed['name']} sees these groups of tools: {shown}.")

    def _stop(self, options: dict[str, Any]) -> None:
        self._switch(options, active=False)

    def _resume(self, options: dict[str, Any]) -> None:
        self._switch(options, active=True)

    def _switch(self, options: dict[str, Any], *, active: bool) -> None:
        changed = agents.switch_agent(
            shell(),
            space=options["space"] or FIRST_SPACE,
            name=options["agent"],
            active=active,
            reason=options["reason"],
        )
        says = "Reactivated. Its tokens work again." if active else "Suspended. Its tokens do not work any more."
        if changed["grants_revoked"]:
            says += f" Grants revoked: {changed['grants_revoked']}."
        self.answer(changed, says=f"{changed['space']}/{changed['name']}: {says}")
