"""flux_export: write all memories of a space as JSON lines, or its graph for another program."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import IO, Any, cast

from django.core.management.base import CommandParser

from accounts.principals import find_space, shell
from fluxcore import clock, files
from fluxcore.command_names import typed_command
from fluxcore.errors import Invalid
from fluxcore.version import VERSION
from memory.grains.import_export import export
from memory.management.base import FluxCommand
from memory.transfer import graph_export, graph_formats
from memory.transfer.formats import flux_export

LINES = "lines"


class Command(FluxCommand):
    help = "Export a space: its memories with what was learned as JSON lines, or its graph."

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", nargs="?", type=Path, help="output file; - for standard output")
        parser.add_argument("--space", default="main", help="space to export (default main)")
        parser.add_argument(
            "--format",
            default=LINES,
            choices=(LINES, *graph_formats.GRAPH_FORMATS),
            help=f"lines (default): everything, can be read by {typed_command('flux_import')}; the others: the graph",
        )
        parser.add_argument("--around", metavar="ID", help="graph: only the surroundings of the memory with this id")
        parser.add_argument(
            "--hops",
            type=int,
            default=graph_export.USUAL_HOPS,
            help="graph: number of links around that memory, 1 to 4 (default 1)",
        )

    def run(self, options: dict[str, Any]) -> None:
        file = options["file"]
        if file is None:
            raise Invalid(
                f"The output file is missing: {typed_command('flux_export FILE')}, or - for standard output.",
                field="file",
            )
        to_screen = str(file) == "-"
        if not to_screen and not file.absolute().parent.is_dir():
            raise Invalid(f"The folder of {file} does not exist. Create it first.", field="file")
        if to_screen and self.as_json:
            raise Invalid("--json cannot be combined with an export to standard output. Name a file.", field="file")
        who = shell(find_space(options["space"]))
        if options["format"] == LINES:
            if options["around"]:
                raise Invalid("--around is only for graphs: add --format graphml, json or dot.", field="around")
            found = self._lines(who, file, options["space"], to_screen)
        else:
            found = self._graph(who, file, options, to_screen)
        export.record_export(who, grains=found["grains"], links=found["links"], form=options["format"])
        if not to_screen:
            says = f"[bold green]Exported[/] {found['grains']} memories and {found['links']} links to {file}"
            self.answer({**found, "file": str(file), "format": options["format"]}, says=says)

    def _lines(self, who: Any, file: Path, space: str, to_screen: bool) -> dict[str, int]:
        links = list(export.export_links(who))
        total, counted = export.count_exported(who), 0
        header = {
            "version": VERSION,
            "exported_at": clock.rfc3339(clock.now()),
            "space": space,
            "grains": total,
            "links": len(links),
        }
        with self._opened(file, to_screen) as target, self.progress("Exporting", total + len(links)) as advance:
            for line in flux_export.export_lines(header, export.export_grains(who), links):
                counted += line.startswith('{"grain"')
                target.write(line)
                advance()
        return {"grains": counted, "links": len(links)}

    def _graph(self, who: Any, file: Path, options: dict[str, Any], to_screen: bool) -> dict[str, int]:
        found = graph_export.export_graph(who, around=options["around"], hops=options["hops"], limit=None)
        text = graph_formats.write_graph(found, options["format"])
        if to_screen:
            self.stdout.write(text, ending="")
        else:
            files.replace_file(file.absolute(), text)
        return {"grains": len(found.grains), "links": len(found.links)}

    @contextmanager
    def _opened(self, file: Path, to_screen: bool) -> Iterator[IO[str]]:
        """Write to a temporary file and rename it, readable only by its owner: it contains every memory."""
        if to_screen:
            yield cast(IO[str], self.stdout._out)
            return
        with files.replacing_file(file.absolute()) as target:
            text = TextIOWrapper(target, encoding="utf-8")
            yield text
            text.flush()
            text.detach()
