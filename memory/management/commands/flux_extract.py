"""Hand a text over to be kept as it stands and looked at by the local model."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from accounts.origins import CLAIMABLE
from accounts.principals import find_space, shell
from fluxcore.errors import Invalid
from memory.extraction import extract
from memory.management.base import FluxCommand


class Command(FluxCommand):
    help = "Remember a text and have the local model find its single statements (mode flux_extracts)."

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("text", nargs="?", help="the text or the turn of a conversation")
        parser.add_argument("--again", action="store_true", help="try texts anew that the model was given up on")
        parser.add_argument("--space", default="main", help="where to remember it (default main)")
        parser.add_argument("--session", help="the conversation or series it belongs to")
        parser.add_argument("--speaker", help="who said it")
        parser.add_argument("--time", help="when it was said, for example 2026-11-16T04:30:00Z")
        parser.add_argument(
            "--provenance", default="user_stated", choices=CLAIMABLE, help="who stands behind it (default user_stated)"
        )
        parser.add_argument("--reason", default="", help="why, for the audit chain")

    def run(self, options: dict[str, Any]) -> None:
        if (options["text"] is None) != options["again"]:
            raise Invalid("Give a text, or --again for those that were given up.", field="text")
        who = shell(find_space(options["space"]))
        if options["again"]:
            found = extract.retry_given_up(who, reason=options["reason"])
            self.answer(found, says=f"{found['waiting']} texts wait for the model again.")
            return
        fields = ("session", "speaker", "time", "provenance")
        said = {name: options[name] for name in fields if options[name] is not None}
        answer = extract.extract(who, content=options["text"], **said, reason=options["reason"])
        model = {"off": "the mode is caller_extracts, no model looks at it", "done": "the model has looked at it"}
        after = model.get(answer["extraction"], "it waits for the model")
        self.answer(answer, says=f"{answer['status'].capitalize()}: {answer['grain_id']}; {after}.")
