"""flux_import: import memories from our own export, flux-memory, an MCP memory file, Markdown notes or plain text."""

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

_SHOWN = 20  # refused memories printed; --report lists all


class Command(FluxCommand):
    help = (
        "Import memories from a file or folder. Existing memories are kept, so an import can be repeated or continued."
    )

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("path", nargs="?", type=Path, help="file, or folder of notes, to import")
        parser.add_argument("--space", default="main", help="space to import into (default main)")
        parser.add_argument(
            "--format", choices=tuple(formats.READERS), help="format of the file (default: detect automatically)"
        )
        parser.add_argument(
            "--provenance",
            choices=origins.AUTHORITY[1:],
            help="default provenance of memories that name none (default unknown)",
        )
        parser.add_argument(
            "--ceiling",
            default="user_stated",
            choices=origins.CEILINGS,
            help="maximum provenance; a higher one is lowered to it (default user_stated)",
        )
        parser.add_argument(
            "--chunk",
            type=int,
            default=notes.CHUNK,
            help="notes and text: maximum characters per memory (default 1000)",
        )
        parser.add_argument(
            "--dry-run", action="store_true", help="show what would be imported, without changing anything"
        )
        parser.add_argument(
            "--report",
            type=Path,
            metavar="FILE",
            help="write the result of each memory to this file, one JSON line each",
        )
        parser.add_argument("--reason", default="", help="reason, recorded in the audit log")

    def run(self, options: dict[str, Any]) -> None:
        if options["path"] is None:
            raise Invalid(
                f"The file or folder to import is missing: {typed_command('flux_import PATH')}.", field="path"
            )
        if not notes.LEAST_CHUNK <= options["chunk"] <= notes.MOST_CHUNK:
            raise Invalid(
                f"--chunk must be a number of characters from {notes.LEAST_CHUNK} to {notes.MOST_CHUNK}.", field="chunk"
            )
        if options["report"] and not options["report"].absolute().parent.is_dir():
            raise Invalid(f"The folder of {options['report']} does not exist. Create it first.", field="report")
        who = replace(shell(find_space(options["space"])), ceiling=options["ceiling"])
        source = formats.read(options["path"], format=options["format"], chunk=options["chunk"])
        tally, refused = ImportTally(), list[ItemOutcome]()
        with self._report(options["report"]) as note, self.progress("Importing", source.total) as advance:
            for outcomes in import_source(
                who, source, provenance=options["provenance"], dry=options["dry_run"], reason=options["reason"]
            ):
                tally.add(outcomes)
                refused += [one for one in outcomes if one.status == REFUSED]
                note(outcomes)
                advance(len(outcomes))
        self._say(source.format, tally.shape(), refused, dry=options["dry_run"])
        if refused:
            sys.exit(Invalid.exit_status)

    def _say(self, format: str, counts: dict[str, int], refused: list[ItemOutcome], *, dry: bool) -> None:
        shown = [one.shape() for one in refused]
        verb = "Would import" if dry else "Imported"
        self.answer(
            {"format": format, "dry_run": dry, **counts, "errors": shown[:1000]},
            says=f"[bold green]{verb}[/] {counts['stored']} memories and {counts['links']} links from "
            f"{formats.FORMAT_TITLES[format]}; {counts['there']} existed already, {counts['refused']} refused, "
            f"{counts['capped']} lowered to the maximum provenance",
        )
        if not self.as_json:
            for one in refused[:_SHOWN]:
                self.notes.print(Text(f"{one.place}: {one.message}", "yellow"))
            if len(refused) > _SHOWN:
                self.notes.print(Text(f"and {len(refused) - _SHOWN} more: --report FILE lists them all", "yellow"))

    @contextmanager
    def _report(self, file: Path | None) -> Iterator[Any]:
        if file is None:
            yield lambda outcomes: None
            return
        with file.open("w", encoding="utf-8") as target:
            yield lambda outcomes: target.writelines(
                json.dumps(one.shape(), ensure_ascii=False) + "\n" for one in outcomes
            )
