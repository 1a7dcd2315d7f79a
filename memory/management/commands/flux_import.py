"""Move in: grains from our own export, flux-memory, an MCP memory file, Markdown notes or plain text."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser
from rich.text import Text

from accounts import origins
from accounts.principals import find_space, shell
from fluxcore.command_names import typed_command
from fluxcore.errors import Invalid
from memory.grains.import_export.write_batch import REFUSED
from memory.management.base import FluxCommand
from memory.transfer import formats
from memory.transfer.formats import notes
from memory.transfer.importer import ImportTally, ItemOutcome, import_source

_SHOWN = 20  # refusals on the screen; --report has all


class Command(FluxCommand):
    help = "Import memories from elsewhere. Repeated or broken off, it goes on where it was; nothing comes twice."

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("path", nargs="?", type=Path, help="a file, or a folder of notes")
        parser.add_argument("--space", default="main", help="where to (default main)")
        parser.add_argument("--format", choices=tuple(formats.READERS), help="what it is (default: look)")
        parser.add_argument(
            "--provenance",
            choices=origins.AUTHORITY[1:],
            help="who stands behind what says nothing about that itself (default unknown)",
        )
        parser.add_argument(
            "--ceiling",
            default="user_stated",
            choices=origins.CEILINGS,
            help="the most anything may claim; more is lowered to it (default user_stated)",
        )
        parser.add_argument("--chunk", type=int, default=notes.CHUNK, help="characters of a piece (default 1000)")
        parser.add_argument("--dry-run", action="store_true", help="say what would happen and change nothing")
        parser.add_argument("--report", type=Path, metavar="FILE", help="what became of each item, a JSON line each")
        parser.add_argument("--reason", default="", help="why, for the audit chain")

    def run(self, options: dict[str, Any]) -> None:
        if options["path"] is None:
            raise Invalid(f"Name what to import: {typed_command('flux_import PATH')}.", field="path")
        if not notes.LEAST_CHUNK <= options["chunk"] <= notes.MOST_CHUNK:
            raise Invalid(f"--chunk is a number from {notes.LEAST_CHUNK} to {notes.MOST_CHUNK}.", field="chunk")
        if options["report"] and not options["report"].absolute().parent.is_dir():
            raise Invalid(f"There is no folder for {options['report']}.", field="report")
        who = replace(shell(find_space(options["space"])), ceiling=options["ceiling"])
        source = formats.read(options["path"], format=options["format"], chunk=options["chunk"])
        tally, refused = ImportTally(), list[ItemOutcome]()
        with self._report(options["report"]) as note, self.progress("Importing", source.total) as advance:
            for told in import_source(
                who, source, provenance=options["provenance"], dry=options["dry_run"], reason=options["reason"]
            ):
                tally.add(told)
                refused += [one for one in told if one.status == REFUSED]
                note(told)
                advance(len(told))
        self._say(source.format, tally.shape(), refused, dry=options["dry_run"])
        if refused:
            sys.exit(Invalid.exit_status)

    def _say(self, format: str, counts: dict[str, int], refused: list[ItemOutcome], *, dry: bool) -> None:
        shown = [one.shape() for one in refused]
        said = "Would import" if dry else "Imported"
        self.answer(
            {"format": format, "dry_run": dry, **counts, "errors": shown[:1000]},
            says=f"[bold green]{said}[/] {counts['stored']} grains and {counts['links']} links from "
            f"{formats.FORMAT_TITLES[format]}; {counts['there']} were there already, {counts['refused']} refused, "
            f"{counts['capped']} lowered to the ceiling",
        )
        if not self.as_json:
            for one in refused[:_SHOWN]:
                self.notes.print(Text(f"{one.place}: {one.message}", "yellow"))
            if len(refused) > _SHOWN:
                self.notes.print(Text(f"and {len(refused) - _SHOWN} more: --report FILE names them all", "yellow"))

    @contextmanager
    def _report(self, file: Path | None) -> Iterator[Any]:
        if file is None:
            yield lambda told: None
            return
        with file.open("w", encoding="utf-8") as target:
            yield lambda told: target.writelines(json.dumps(one.shape(), ensure_ascii=False) + "\n" for one in told)
