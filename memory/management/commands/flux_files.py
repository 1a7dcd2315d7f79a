"""flux_files: stores of files: create, list and delete them, read and change their files, export and import them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser
from rich.text import Text

from accounts.calls import checked
from flux.calls import stores as calls
from fluxcore.command_names import typed_command
from fluxcore.errors import Invalid
from memory.artifacts import stores
from memory.artifacts.tree_export import export_tree
from memory.artifacts.tree_folder import read_tree
from memory.artifacts.tree_import import import_tree
from memory.management.calls import CallCommand

_SHOWN = 20  # ignored names printed; --json lists all


class Command(CallCommand):
    help = "Stores of files with versions: create, list, read, write, history, export, import, and more."
    group = "files"
    own = {"export": "STORE FOLDER", "import": "FOLDER"}
    own_options = ("org", "project", "domain", "provenance")

    def arguments(self, parser: CommandParser) -> None:
        super().arguments(parser)
        parser.add_argument("--store", metavar="KEY", help="import: the store, created if it does not exist")

    def run(self, options: dict[str, Any]) -> None:
        if options["store"] is not None and options["action"] != "import":
            raise Invalid(f"{options['action']} takes no --store.", field="store")
        super().run(options)

    def run_own(self, action: str, options: dict[str, Any]) -> None:
        if action == "export":
            self._export(options)
        else:
            self._import(options)

    def _export(self, options: dict[str, Any]) -> None:
        unused = next((name for name in self.own_options if options[name] is not None), None)
        if unused is not None:
            raise Invalid(f"export takes no --{unused}. Name the store by its id: {typed_command('flux_files list')}.")
        (store, folder), who = options["arguments"], self.who(options)
        total = stores.get_store(who, store=store)["files"]
        with self.progress("Exporting", total) as advance:
            answer = export_tree(who, store=store, folder=Path(folder).expanduser(), advance=advance)
        self.answer(answer)
        if not self.as_json:
            self.line(
                f"Exported {answer['files']} files, {answer['versions']} versions and {answer['messages']} messages of "
                f"{answer['key']} to {answer['folder']}"
            )
            for path in answer["without_facts"][:_SHOWN]:
                self.notes.print(Text(f"{path}: the path is too long for its facts and versions", "yellow"))

    def _import(self, options: dict[str, Any]) -> None:
        if options["store"] is None:
            raise Invalid(
                f"The store to import into is missing: {typed_command('flux_files import FOLDER --store KEY')}.",
                field="store",
            )
        folder, who = Path(options["arguments"][0]).expanduser(), self.who(options)
        with self.progress("Checking", None) as advance:
            found = read_tree(folder, advance)
        where = {name: options[name] for name in ("org", "project", "domain")}
        request = checked(calls.CreateStore, {"key": options["store"], **where})
        with self.progress("Importing", len(found.files)) as advance:
            answer = import_tree(
                who,
                request=request,
                found=found,
                provenance=options["provenance"],
                advance=advance,
                reason=options["reason"],
            )
        self.answer(answer)
        if not self.as_json:
            self.line(
                f"Imported {answer['files']} files, {answer['versions']} earlier versions and {answer['messages']} "
                f"messages into {answer['key']}; {answer['unchanged']} files were there already"
            )
            for name in answer["ignored"][:_SHOWN]:
                self.notes.print(Text(f"{name}: not imported, it belongs to no file or finished write", "yellow"))
