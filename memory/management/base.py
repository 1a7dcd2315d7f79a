"""Base class of all flux_* commands: --name, --json, tables for people, exit statuses for scripts."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, ClassVar, cast

from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser
from django.db import DatabaseError, connection
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.text import Text

from fluxcore.command_names import typed_command
from fluxcore.db_errors import translate
from fluxcore.errors import BadConfiguration, FluxError, Invalid, NotReady
from fluxcore.models import Job
from fluxsite import home
from memory.management import tables

EX_CONFIG = 78


class FluxCommand(BaseCommand):
    """Base command. Subclasses implement `run(options)`; an error becomes one line and an exit status."""

    # True if the command needs an existing instance, so that a missing one is reported instead of created.
    needs_instance: ClassVar[bool] = True
    # False if the command creates the tables or works without them.
    needs_tables: ClassVar[bool] = True
    requires_system_checks: list[str] = []

    def create_parser(self, prog_name: str, subcommand: str, **options: Any) -> CommandParser:
        """Parser without abbreviated options: `--nam` would be accepted after the instance was chosen without it."""
        if prog_name == "flux":  # as it was typed: `flux mcp-config`, not `flux flux_mcp_config`
            subcommand = subcommand.removeprefix("flux_").replace("_", "-")
        return super().create_parser(prog_name, subcommand, allow_abbrev=False, **options)

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--name", help="the instance (default: FLUX_NAME or 'default')")
        parser.add_argument("--json", action="store_true", help="print one JSON document instead of text")
        self.arguments(parser)

    def arguments(self, parser: CommandParser) -> None:
        """Add the arguments of the command."""

    def run(self, options: dict[str, Any]) -> None:
        raise NotImplementedError

    def handle(self, *args: Any, **options: Any) -> None:
        self.as_json: bool = options["json"]
        self.console = Console(file=cast(IO[str], self.stdout._out), highlight=False, soft_wrap=True)
        self.notes = Console(stderr=True, highlight=False, soft_wrap=True)
        try:
            if self.needs_instance and not home.current_home().initialised:
                here = home.current_home()
                raise Invalid(
                    f"There is no instance {here.name!r} in {here.path.parent}. Create it: "
                    f"{typed_command('flux_init')}."
                )
            if self.needs_tables and Job._meta.db_table not in connection.introspection.table_names():
                raise NotReady(f"The database has no tables yet. Create them: {typed_command('flux_init')}.")
            self.run(options)
        except (FluxError, DatabaseError) as error:
            self._refuse(translate(error))
        except BrokenPipeError:
            sys.exit(0)

    def refuse_bad_configuration(self) -> None:
        """Refuse an invalid config.yaml; only for commands that apply it, so that others can be used to fix it."""
        if settings.CONFIG_PROBLEM:
            raise BadConfiguration(settings.CONFIG_PROBLEM)

    def _refuse(self, error: BaseException) -> None:
        if not isinstance(error, FluxError):
            raise error
        if self.as_json:
            self.stdout.write(json.dumps({"error": error.body()}))
        else:
            self.notes.print(Text.assemble((error.code, "bold red"), f": {error.message}"))
        sys.exit(error.exit_status)

    def say_upgrade(self, backup: Path | str | None) -> None:
        if backup is not None:
            self.notes.print(f"Upgraded the database. Backup: {backup}")

    def answer(self, value: Any, *, says: str = "") -> None:
        """Print the result: JSON for scripts, a sentence for people."""
        if self.as_json:
            self.stdout.write(json.dumps(value, ensure_ascii=False))
        elif says:
            self.console.print(says)

    def table(self, columns: Sequence[str], rows: Iterable[Sequence[Any]], *, empty: str) -> None:
        """Print a table for people; with --json call `answer` instead. Styled cells are `rich.text.Text`."""
        found = [
            [cell if isinstance(cell, Text) else Text("" if cell is None else str(cell)) for cell in row]
            for row in rows
        ]
        if not found:
            self.console.print(f"[dim]{empty}[/]")
            return
        tables.print_table(self.console, columns, found)

    @contextmanager
    def progress(self, says: str, total: int | None) -> Iterator[Any]:
        """Progress bar on a terminal; yields a function to advance it. Prints nothing elsewhere."""
        bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            console=self.notes,
            transient=True,
            disable=not self.notes.is_terminal,
        )
        with bar:
            task = bar.add_task(says, total=total)
            yield lambda step=1: bar.advance(task, step)

    def confirm(self, given: str | None, wanted: str, *, what: str) -> None:
        """Ask for confirmation of a destructive step, by repeating the name of what it deletes."""
        if given is None and sys.stdin.isatty():
            given = input(f"{what} Type {wanted} to continue: ")
        if given != wanted:
            raise Invalid(f"{what} Repeat it with --confirm {wanted}.", confirm=wanted)
