"""What MCP clients must be told to use this memory: written, shown, and put in place if asked."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser
from rich.syntax import Syntax

from accounts import origins
from accounts.names import check_name
from fluxcore.errors import Conflict, Invalid
from fluxsite.setup import FIRST_AGENT, FIRST_SPACE
from mcp_bridge import clients, installing, snippets
from mcp_bridge.clients import CLIENTS
from memory.management.base import FluxCommand


class Command(FluxCommand):
    help = "Write and show what MCP clients must be told; --install puts it into a client's own file."
    needs_tables = False

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("client", nargs="?", choices=CLIENTS, help="show only this client's")
        parser.add_argument(
            "--install", choices=CLIENTS, metavar="CLIENT", help="merge it into that client's file, keeping a backup"
        )
        parser.add_argument(
            "--instructions", type=Path, metavar="FILE", help="put the loop into an AGENTS.md or CLAUDE.md"
        )
        parser.add_argument("--dry-run", action="store_true", help="only show what would change")
        parser.add_argument("--yes", action="store_true", help="do not ask before a file is changed")
        parser.add_argument("--space", default=FIRST_SPACE, help=f"the agent's space (default {FIRST_SPACE})")
        parser.add_argument("--agent", default=FIRST_AGENT, help=f"who calls (default {FIRST_AGENT})")
        parser.add_argument(
            "--ceiling", default="user_stated", choices=origins.CEILINGS,
            help="the highest provenance the agent may claim (default user_stated)",
        )  # fmt: skip
        parser.add_argument("--url", help="the MCP door of a running server instead of a local process")
        parser.add_argument("--config-file", type=Path, help="the client's file, if it is not at the usual place")

    def run(self, options: dict[str, Any]) -> None:
        if options["config_file"] and not options["install"]:
            raise Invalid("--config-file names the file of --install CLIENT.", field="config_file")
        for what in ("space", "agent"):
            check_name(options[what], what=f"the {what}")
        way = snippets.way(
            settings.HOME, space=options["space"], agent=options["agent"], ceiling=options["ceiling"],
            url=options["url"],
        )  # fmt: skip
        written = snippets.write(settings.HOME.integrations, way)
        changed = []
        if options["install"]:
            client = CLIENTS[options["install"]]
            file = options["config_file"] or client.file(Path.home())
            changed.append(self._carry_out(options, lambda: installing.plan(client, way, file)))
        if options["instructions"]:
            changed.append(self._carry_out(options, lambda: installing.plan_instructions(options["instructions"])))
        if self.as_json:
            self.answer({"written": [str(file) for file in written], "changed": changed})
        elif changed:
            self._say(changed, options)
        else:
            self._show(options["client"], way, written)

    def _carry_out(self, options: dict[str, Any], make: Any) -> dict[str, Any]:
        try:
            plan = make()
        except installing.Unmergeable as error:
            raise Conflict(str(error)) from None
        backup = None
        if plan.changes:
            if not self.as_json:
                self.console.print(Syntax(plan.diff(), "diff", background_color="default"))
            if self._agreed(options, plan.file):
                try:
                    backup = plan.carry_out()
                except installing.Unmergeable as error:
                    raise Conflict(str(error)) from None
                done = True
            else:
                done = False
        else:
            done = True
        return {
            "file": str(plan.file), "done": done, "changed": done and plan.changes,
            "backup": str(backup) if backup else None, "diff": plan.diff(),
        }  # fmt: skip

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
                says = f"{one['file']} says so already."
            else:
                says = f"[bold green]Wrote[/] {one['file']}." + (f" Before: {one['backup']}" if one["backup"] else "")
            self.console.print(says)
        if options["install"] and changed[0]["done"]:
            self.console.print(CLIENTS[options["install"]].restart)

    def _show(self, only: str | None, way: clients.Way, written: list[Path]) -> None:
        for client in CLIENTS.values():
            if only in (None, client.name):
                self.console.print(f"[bold]{client.title}[/]  {client.file(Path.home())}")
                kind = "toml" if client.toml else "json"
                self.console.print(Syntax(client.snippet(way), kind, background_color="default", word_wrap=False))
        self.console.print(f"Written to {written[0].parent}. Put in place: flux_mcp_config --install CLIENT")
        for note in snippets.notes(way):
            self.notes.print(f"[yellow]{note}[/]")
