"""flux_files: stores of files: create, list and delete them, read and change their files, export and import them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser
from rich.text import Text

from accounts.calls import checked
from flux.calls import files as file_calls
from flux.calls import stores as calls
from fluxcore.command_names import typed_command
from fluxcore.errors import Invalid
from fluxcore.visible_text import visible
from memory.artifacts import files, reading, stores
from memory.artifacts.contents import NewContent
from memory.artifacts.tree_export import export_tree
from memory.artifacts.tree_folder import read_tree
from memory.artifacts.tree_import import import_tree
from memory.management import file_transfer
from memory.management.calls import CallCommand

_SHOWN = 20  # ignored names printed; --json lists all


class Command(CallCommand):
    help = "Stores of files with versions: create, list, read, write, put, get, history, export, import, and more."
    group = "files"
    own = {"export": "STORE FOLDER", "import": "FOLDER", "put": "STORE PATH FILE", "get": "STORE PATH [FILE]"}
    own_options = {
        "import": ("org", "project", "domain", "provenance"),
        "put": ("expected_sha", "content_type", "actor", "provenance", "create"),
        "get": ("version",),
    }

    def arguments(self, parser: CommandParser) -> None:
        super().arguments(parser)
        parser.add_argument("--store", metavar="KEY", help="import: the store, created if it does not exist")

    def run(self, options: dict[str, Any]) -> None:
        if options["store"] is not None and options["action"] != "import":
            raise Invalid(f"{options['action']} takes no --store.", field="store")
        super().run(options)

    def run_own(self, action: str, options: dict[str, Any]) -> None:
        {"export": self._export, "import": self._import, "put": self._put, "get": self._get}[action](options)

    def _put(self, options: dict[str, Any]) -> None:
        """Write the bytes of a local file, or of standard input, to a file of a store."""
        store, path, source = options["arguments"]
        given = {name: options[name] for name in self.own_options["put"] if options[name] is not None}
        # The fields that `write` has are checked as there; the text is not what is written.
        request = checked(file_calls.WriteFile, {"store": store, "path": path, "text": "", **given})
        given |= {name: getattr(request, name) for name in given}
        with file_transfer.local_body(source) as body:
            answer = files.put_file(
                self.who(options),
                store=store,
                path=path,
                content=NewContent.of_body(body),
                **given,
                reason=options["reason"],
            )
        self.show("put", file_calls.WriteFile, answer, {"store": store, "path": path})

    def _get(self, options: dict[str, Any]) -> None:
        """Write the bytes of a file to a local file, or to standard output."""
        store, path, *to = options["arguments"]
        if self.as_json and to == [file_transfer.STANDARD]:
            raise Invalid("With --json there is one document on standard output: name a file.", field="json")
        request = checked(file_calls.ReadFile, {"store": store, "path": path, "version": options["version"]})
        opened = reading.open_file(self.who(options), store=store, path=path, version=request.version)
        chunks = file_transfer.stored_parts(opened)
        if to == [file_transfer.STANDARD]:
            file_transfer.to_standard_output(self.stdout, chunks)
            return
        written = file_transfer.to_file(chunks, to[0] if to else None, path.rpartition("/")[2])
        self.answer({"path": path, "version": opened.version, "sha": opened.sha, "bytes": opened.size, "file": written})
        if not self.as_json:
            self.line(visible(f"Wrote {opened.size:,} bytes of version {opened.version} to {written}"))

    def _export(self, options: dict[str, Any]) -> None:
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
