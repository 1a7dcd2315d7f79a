"""flux_recall: recall memories for a question, with an explanation of the scores."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser
from rich.text import Text

from accounts import origins
from accounts.adminsite.formatting import shorten
from accounts.principals import find_space, shell
from fluxcore.command_names import typed_command
from fluxcore.errors import Invalid
from memory.embedding import active_encoder
from memory.engine.kinds import KINDS
from memory.grains.models import Grain
from memory.management.base import FluxCommand
from memory.recall import recall

_WIDTH = 12


class Command(FluxCommand):
    help = "Recall the memories that answer a question, best first."

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("question", nargs="?", help="the question, in any words")
        parser.add_argument("--space", default="main", help="space to recall from (default main)")
        parser.add_argument("--k", type=int, help="maximum number of memories (default 5)")
        parser.add_argument("--min-score", type=float, help="minimum score, 0 to 1")
        parser.add_argument("--as-of", help="only memories valid at this time, for example 2026-11-16T04:30:00Z")
        parser.add_argument("--tag", action="append", help="only memories with this tag; repeated: with all of them")
        parser.add_argument("--session", action="append", help="only memories of this session; may be repeated")
        parser.add_argument("--since", help="only memories said since this time")
        parser.add_argument("--until", help="only memories said before this time")
        parser.add_argument("--origin-floor", choices=origins.AUTHORITY, help="minimum provenance")
        parser.add_argument(
            "--status",
            action="append",
            choices=Grain.Status.values,
            help="only memories with this status; may be repeated",
        )
        parser.add_argument(
            "--kind", action="append", choices=KINDS, help="only memories, passages, ...; may be repeated"
        )
        parser.add_argument("--explain", action="store_true", help="show why each memory was returned")

    def run(self, options: dict[str, Any]) -> None:
        if options["question"] is None:
            raise Invalid(f"The question is missing: {typed_command('flux_recall QUESTION')}.", field="question")
        given = {
            "query": options["question"],
            "k": options["k"],
            "min_score": options["min_score"],
            "as_of": options["as_of"],
            "tags": options["tag"],
            "sessions": options["session"],
            "since": options["since"],
            "until": options["until"],
            "origin_floor": options["origin_floor"],
            "statuses": options["status"],
            "kinds": options["kind"],
            "explain": options["explain"],
        }
        who = shell(find_space(options["space"]))
        active_encoder.load_encoder()  # loaded here at once; a server loads its encoder in the background
        answer = recall.recall(who, **given)
        if self.as_json:
            self.answer(answer)
        else:
            self._print(answer)

    def _print(self, answer: dict[str, Any]) -> None:
        why = {one["grain_id"]: one for one in answer.get("explanation", {}).get("grains", ())}
        if not answer["grains"]:
            self.console.print("[dim]No memories found.[/]")
        for place, grain in enumerate(answer["grains"], start=1):
            context = ", ".join(
                part for part in (grain["speaker"], (grain["time"] or "")[:10], grain["origin"], _cited(grain)) if part
            )
            self.console.print(
                Text.assemble(
                    f"{place:>2} ",
                    _bar(grain["score"]),
                    f" {grain['score']:.2f}  ",
                    shorten(grain["content"], 200),
                    (f"  {context}", "dim"),
                )
            )
            if grain["id"] in why:
                self._explain(why[grain["id"]])
        sure = answer["confidence"]
        self.console.print(
            Text.assemble(
                "confidence ",
                (f"{sure:.0%}", _colour(sure)),
                f", search mode {answer['rung']}, trace {answer['trace_id']}",
            )
        )

    def _explain(self, why: dict[str, Any]) -> None:
        self.console.print(Text(f"   {why['says']}", "italic"))
        most = max((abs(part["part"]) for part in why["parts"]), default=1.0) or 1.0
        for part in why["parts"]:
            self.console.print(
                Text.assemble("   ", _bar(part["part"] / most), f" {part['part']:+.2f}  {part['called']}")
            )


def _cited(grain: dict[str, Any]) -> str:
    """Where a result is from, if it is a passage, a message or a value."""
    found = grain.get("citation")
    if found is None:
        return ""
    if "place" in found:
        return f"{found['place']} {found['key']} (version {found['version']})"
    if "path" not in found:
        return f"{found['reference']} message {found['message']}"
    return (
        f"{found['reference']}/{found['path']}:{found['first_line']}-{found['last_line']} (version {found['version']})"
    )


def _bar(share: float) -> Text:
    """A bar of the given share; negative shares are red."""
    full = round(min(abs(share), 1.0) * _WIDTH)
    return Text.assemble(("█" * full, "red" if share < 0 else _colour(share)), ("░" * (_WIDTH - full), "dim"))


def _colour(share: float) -> str:
    return "green" if share >= 0.66 else "yellow" if share >= 0.33 else "cyan"
