"""flux_mcp_config: show, write or install the configuration of MCP clients for this memory."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser
from rich.syntax import Syntax

from accounts import origins
from accounts.names import check_name
from fluxcore.command_names import typed_command
from fluxcore.errors import Conflict, Invalid
from fluxsite.setup import FIRST_AGENT, FIRST_SPACE
from mcp_bridge.clients import installer, programs, snippets
from mcp_bridge.clients.programs import CLIENTS
from memory.management.base import FluxCommand


class Command(FluxCommand):
    help = "Show the configuration of MCP clients; --install puts it into a client's own file."
    needs_tables = False

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("client", nargs="?", choices=CLIENTS, help="show only the configuration of this client")
        parser.add_argument(
            "--install",
            choices=CLIENTS,
            metavar="CLIENT",
            help="add it to the configuration file of this client, with a backup",
        )
        parser.add_argument("--entry", help="name of the entry in the client's file (default flux-INSTANCE)")
        parser.add_argument(
            "--write",
            action="store_true",
            help="write the configuration of all clients to integrations/ in the data home",
        )
        parser.add_argument(
            "--instructions",
            type=Path,
            metavar="FILE",
            help="add the instructions for agents to an AGENTS.md or CLAUDE.md",
        )
        parser.add_argument("--dry-run", action="store_true", help="show what would change, without changing anything")
        parser.add_argument("--yes", action="store_true", help="change files without asking")
        parser.add_argument("--space", default=FIRST_SPACE, help=f"the agent's space (default {FIRST_SPACE})")
        parser.add_argument(
            "--agent", default=FIRST_AGENT, help=f"agent that the client acts as (default {FIRST_AGENT})"
        )
        parser.add_argument(
            "--ceiling",
            choices=origins.CEILINGS,
            help="maximum provenance: user_stated lets it pass on what you say as your own words (default; with --url "
            "the instructions need that of the token)",
        )
        parser.add_argument("--url", help="MCP address of a running server, instead of starting a local process")
        parser.add_argument(
            "--config-file", type=Path, help="configuration file of the client, if it is not at the default place"
        )

    def run(self, options: dict[str, Any]) -> None:
        if options["config_file"] and not options["install"]:
            raise Invalid("--config-file can only be used with --install CLIENT.", field="config_file")
        ceiling = self._ceiling(options)
        for what in ("space", "agent"):
            check_name(options[what], what=f"the {what}")
        way = snippets.connection_method(
            settings.HOME,
            space=options["space"],
            agent=options["agent"],
            ceiling=ceiling,
            url=options["url"],
        )
        if options["entry"]:
            way = replace(way, name=check_name(options["entry"], what="the entry"))
        written = snippets.write_snippets(settings.HOME.integrations, way, ceiling) if options["write"] else []
        changed = []
        if options["install"]:
            client = CLIENTS[options["install"]]
            file = options["config_file"] or client.file(Path.home())
            chosen = bool(options["entry"])
            changed.append(self._carry_out(options, lambda: installer.plan_install(client, way, file, replace=chosen)))
        if options["instructions"]:
            text = options["instructions"]
            changed.append(self._carry_out(options, lambda: installer.plan_instructions(text, ceiling)))
        if self.as_json:
            shown = {client.name: client.snippet(way) for client in CLIENTS.values()}
            self.answer({"written": [str(file) for file in written], "changed": changed, "snippets": shown})
        elif changed:
            self._say(changed, options)
        else:
            self._show(options["client"], way, written)

    def _ceiling(self, options: dict[str, Any]) -> str:
        """The maximum provenance that instructions are written for: of a server elsewhere only its token has one."""
        given: str | None = options["ceiling"]
        if given is None and options["url"] and (options["instructions"] or options["write"]):
            raise Invalid(
                "The instructions must fit the maximum provenance of the token used at --url. Add --ceiling with one "
                f"of {', '.join(origins.CEILINGS)}; {typed_command('flux_token list')} shows the token's.",
                field="ceiling",
            )
        return given or "user_stated"

    def _carry_out(self, options: dict[str, Any], make: Any) -> dict[str, Any]:
        try:
            plan = make()
        except installer.UnmergeableFile as error:
            raise Conflict(str(error)) from None
        backup = None
        if plan.changes:
            if not self.as_json:
                self.console.print(Syntax(plan.diff(), "diff", background_color="default"))
            if self._agreed(options, plan.file):
                try:
                    backup = plan.carry_out()
                except installer.UnmergeableFile as error:
                    raise Conflict(str(error)) from None
                done = True
            else:
                done = False
        else:
            done = True
        return {
            "file": str(plan.file),
            "done": done,
            "changed": done and plan.changes,
            "backup": str(backup) if backup else None,
            "diff": plan.diff(),
        }

    def _agreed(self, options: dict[str, Any], file: Path) -> bool:
        if options["dry_run"]:
            return False
        if options["yes"] or not sys.stdin.isatty():
            return True
        return input(f"Write {file}? [Y/n]: ").strip().lower() in ("", "y", "yes")

    def _say(self, changed: list[dict[str, Any]], options: dict[str, Any]) -> None:
        for one in changed:
            if not one["done"]:
                says = f"Nothing was written to {one['file']}."
            elif not one["changed"]:
                says = f"{one['file']} is up to date."
            else:
                says = f"[bold green]Wrote[/] {one['file']}." + (
                    f" Backup of the earlier file: {one['backup']}" if one["backup"] else ""
                )
            self.console.print(says)
        if options["install"] and changed[0]["done"]:
            self.console.print(CLIENTS[options["install"]].restart)

    def _show(self, only: str | None, way: programs.ConnectionMethod, written: list[Path]) -> None:
        for client in CLIENTS.values():
            if only in (None, client.name):
                self.console.print(f"[bold]{client.title}[/]  {client.file(Path.home())}")
                kind = "toml" if client.toml else "json"
                self.console.print(Syntax(client.snippet(way), kind, background_color="default", word_wrap=False))
        if written:
            self.console.print(f"Written to {written[0].parent}.")
        self.console.print(
            f"To add it to the configuration file of your client: {typed_command('flux_mcp_config --install CLIENT')}"
        )
        for note in snippets.connection_notes(way):
            self.notes.print(f"[yellow]{note}[/]")
