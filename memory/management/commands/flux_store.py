"""flux_store: store one memory, or one per line of standard input."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from typing import Any

from django.core.management.base import CommandParser
from rich.text import Text

from accounts.origins import CLAIMABLE
from accounts.principals import Principal, find_space, shell
from fluxcore import config
from fluxcore.command_names import typed_command
from fluxcore.errors import Invalid
from memory.grains import store
from memory.grains.lifecycle import removals
from memory.management.base import FluxCommand


class Command(FluxCommand):
    help = "Store a memory, or with - every line of standard input as a memory of its own."

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("text", nargs="?", help="text of the memory; - reads lines from standard input")
        parser.add_argument("--space", default="main", help="space to store it in (default main)")
        parser.add_argument("--session", help="the conversation or series it belongs to")
        parser.add_argument("--speaker", help="who said it")
        parser.add_argument("--time", help="when it was said, for example 2026-11-16T04:30:00Z")
        parser.add_argument("--tag", action="append", help="tag to filter recalls by; may be repeated")
        parser.add_argument("--valid-from", help="time from which it is true")
        parser.add_argument("--valid-to", help="time until which it is true")
        parser.add_argument(
            "--provenance",
            default="user_stated",
            choices=CLAIMABLE,
            help="provenance of the memory (default user_stated)",
        )
        parser.add_argument("--reason", default="", help="reason, recorded in the audit log")

    def run(self, options: dict[str, Any]) -> None:
        if options["text"] is None:
            raise Invalid(
                f"The text is missing: {typed_command('flux_store TEXT')}, or - for the lines of standard input.",
                field="text",
            )
        who = shell(find_space(options["space"]))
        fields = {
            "session": options["session"],
            "speaker": options["speaker"],
            "time": options["time"],
            "tags": options["tag"],
            "valid_from": options["valid_from"],
            "valid_to": options["valid_to"],
            "provenance": options["provenance"],
        }
        fields = {name: value for name, value in fields.items() if value is not None}
        if options["text"] == "-":
            self._lines(who, fields, options["reason"])
            return
        answer = store.store(who, content=options["text"], **fields, reason=options["reason"])
        says = f"{answer['status'].replace('_', ' ').capitalize()}: {answer['grain_id']}"
        self.answer(answer, says="\n".join([says, *([answer["reason"]] if "reason" in answer else [])]))

    def _lines(self, who: Principal, fields: dict[str, Any], reason: str) -> None:
        """Store each line on its own: a refused line does not affect the others."""
        counts: Counter[str] = Counter()
        refused: list[dict[str, Any]] = []
        numbered = ((place, text) for place, text in enumerate(_given(), start=1) if text.strip())
        with self.progress("Storing", None) as advance:
            while some := list(islice(numbered, config.current().MAX_GRAINS_PER_CALL)):
                texts = [{"content": text, **fields} for _, text in some]
                answer = store.store_batch(who, items=texts, reason=reason)
                for (place, _), result in zip(some, answer["results"], strict=True):
                    counts[result["status"]] += 1
                    if result["error"] is not None:
                        refused.append({"line": place, **result["error"]})
                advance(len(some))
        names = ["stored", "corroborated", *(name for name in removals.REMOVED if counts[name]), "refused"]
        found = {name: counts[name] for name in names}
        self.answer(
            {**found, "errors": refused},
            says=", ".join(f"{count} {what.replace('_', ' ')}" for what, count in found.items()),
        )
        if refused:
            if not self.as_json:
                for one in refused:
                    self.notes.print(Text(f"line {one['line']}: {one['message']}", "yellow"))
            sys.exit(Invalid.exit_status)


def _given() -> Iterator[str]:
    """Lines of standard input. Invalid UTF-8 becomes lone surrogates, which the store refuses by line."""
    for line in sys.stdin.buffer:
        yield line.decode(errors="surrogateescape").rstrip("\r\n")
