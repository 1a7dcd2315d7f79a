"""flux_extract: store a text unchanged and have the local model extract its statements."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from accounts.origins import CLAIMABLE
from accounts.principals import find_space, shell
from fluxcore.errors import Invalid
from memory.extraction import extract
from memory.management.base import FluxCommand


class Command(FluxCommand):
    help = "Store a text and let the local model extract its single facts as memories (mode flux_extracts)."

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("text", nargs="?", help="the text or the message of a conversation")
        parser.add_argument("--again", action="store_true", help="try texts again for which the model failed")
        parser.add_argument("--space", default="main", help="space to store it in (default main)")
        parser.add_argument("--session", help="the conversation or series it belongs to")
        parser.add_argument("--speaker", help="who said it")
        parser.add_argument("--time", help="when it was said, for example 2026-11-16T04:30:00Z")
        parser.add_argument(
            "--provenance",
            default="user_stated",
            choices=CLAIMABLE,
            help="provenance of the text (default user_stated)",
        )
        parser.add_argument("--reason", default="", help="reason, recorded in the audit log")

    def run(self, options: dict[str, Any]) -> None:
        if (options["text"] is None) != options["again"]:
            raise Invalid(
                "The text is missing. Give a text, or --again to retry texts for which the model failed.", field="text"
            )
        who = shell(find_space(options["space"]))
        if options["again"]:
            found = extract.retry_given_up(who, reason=options["reason"])
            self.answer(found, says=f"{found['waiting']} texts are queued for the model again.")
            return
        fields = ("session", "speaker", "time", "provenance")
        given = {name: options[name] for name in fields if options[name] is not None}
        answer = extract.extract(who, content=options["text"], **given, reason=options["reason"])
        model = {
            "off": "stored without extraction, because the mode is caller_extracts",
            "done": "the model has processed it",
        }
        after = model.get(answer["extraction"], "it is queued for the model")
        self.answer(answer, says=f"{answer['status'].capitalize()}: {answer['grain_id']}; {after}.")
