"""An agent's exact memory from the shell."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from fluxcore.command_names import typed_command
from fluxcore.errors import Invalid
from fluxcore.writes.preconditions import Precondition
from memory.management.exact import KeyCommand, value_of, version_of

ACTIONS = ["read", "write", "cas", "delete", "list", "touch", "incr", "append", "patch", "history", "restore", "purge"]


class Command(KeyCommand):
    help = "Exact memory of an agent: read, write, cas, delete, list, and more."

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("action", nargs="?", default="list", choices=ACTIONS)
        parser.add_argument("agent", nargs="?", help="whose memory")
        parser.add_argument(
            "arguments",
            nargs="*",
            metavar="KEY ...",
            help="write KEY JSON, cas KEY VERSION JSON, incr KEY BY, append or patch KEY JSON, restore KEY VERSION",
        )
        self.shared(parser)

    def run(self, options: dict[str, Any]) -> None:
        if options["agent"] is None:
            raise Invalid(f"Say whose memory: {typed_command('flux_kv list AGENT')}.", field="agent")
        getattr(self, f"_{options['action']}")(options, f"agents/{options['agent']}")

    def _read(self, options: dict[str, Any], where: str) -> None:
        self.read(options, where, *self.wanted(options, "KEY"))

    def _write(self, options: dict[str, Any], where: str) -> None:
        key, text = self.wanted(options, "KEY", "JSON")
        self.change(options, "set", where, key, value=value_of(text))

    def _cas(self, options: dict[str, Any], where: str) -> None:
        key, version, text = self.wanted(options, "KEY", "VERSION", "JSON")
        expected = Precondition(expected_version=version_of(version))
        self.change(options, "set", where, key, value=value_of(text), precondition=expected)

    def _delete(self, options: dict[str, Any], where: str) -> None:
        self.delete(options, where, *self.wanted(options, "KEY"))

    def _purge(self, options: dict[str, Any], where: str) -> None:
        self.purge(options, where, *self.wanted(options, "KEY"))

    def _list(self, options: dict[str, Any], where: str) -> None:
        self.wanted(options)
        self.list(options, where)

    def _touch(self, options: dict[str, Any], where: str) -> None:
        self.change(options, "touch", where, *self.wanted(options, "KEY"))

    def _incr(self, options: dict[str, Any], where: str) -> None:
        key, by = self.wanted(options, "KEY", "BY")
        self.change(options, "incr", where, key, by=value_of(by))

    def _append(self, options: dict[str, Any], where: str) -> None:
        key, text = self.wanted(options, "KEY", "JSON")
        self.change(options, "append", where, key, value=value_of(text))

    def _patch(self, options: dict[str, Any], where: str) -> None:
        key, text = self.wanted(options, "KEY", "JSON")
        self.change(options, "patch", where, key, patch=value_of(text))

    def _history(self, options: dict[str, Any], where: str) -> None:
        self.history(options, where, *self.wanted(options, "KEY"))

    def _restore(self, options: dict[str, Any], where: str) -> None:
        key, version = self.wanted(options, "KEY", "VERSION")
        self.change(options, "restore", where, key, version=version_of(version))
