"""flux_learning: list feedback and its effects, explain one, withdraw feedback."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser
from rich.text import Text

from accounts.principals import find_space, shell
from fluxcore.command_names import typed_command
from fluxcore.errors import Invalid
from memory.management.base import FluxCommand

_LONGEST = 40
_STEPS = 4  # changed weights printed per space


class Command(FluxCommand):
    help = "Feedback and what was learned from it: list, explain one, withdraw (undo) by trace, memory, caller or time."

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("action", nargs="?", default="list", choices=["list", "explain", "undo"])
        parser.add_argument("--space", help="only this space (default: all)")
        parser.add_argument("--trace", help="only feedback on this recall")
        parser.add_argument("--grain", help="only feedback on this memory")
        parser.add_argument("--caller", help="only feedback of this caller, for example agent:helper")
        parser.add_argument("--since", help="only feedback since this time, for example 2030-01-31T18:00:00Z")
        parser.add_argument("--until", help="only feedback before this time")
        parser.add_argument("--limit", type=int, default=50, help="list: maximum number of rows")
        parser.add_argument("--reason", default="", help="undo: reason, recorded in the audit log")

    def run(self, options: dict[str, Any]) -> None:
        operator = shell(find_space(options["space"])) if options["space"] else shell()
        bounds = {name: options[name] for name in ("trace", "grain", "caller", "since", "until")}
        getattr(self, f"_{options['action']}")(operator, bounds, options)

    def _list(self, operator: Any, bounds: dict[str, Any], options: dict[str, Any]) -> None:
        from memory.learning import ledger

        found = ledger.list_votes(operator, limit=options["limit"], **bounds)
        own, joined = ledger.list_weights(operator), ledger.list_shortcuts(operator, limit=options["limit"])
        if self.as_json:
            self.answer({**found, "weights": own, "shortcuts": joined})
            return
        self.table(
            ("date", "caller", "feedback", "question", "memory", "trace"),
            [
                (
                    one["at"][:10],
                    one["caller"],
                    _said(one),
                    _short(one["query"]),
                    _short(one["content"]),
                    one["trace_id"][:8],
                )
                for one in found["votes"]
            ],
            empty="No feedback yet. Agents send it with POST /feedback.",
        )
        if found["more"]:
            self.console.print("There are more: use --limit, or filters like --since.")
        if found["votes"]:
            self.console.print("[dim]Full ids: --json[/]")
        if joined:
            self._shortcuts(joined)
        if own:
            self.table(
                ("space", "learned from", "nDCG on held-out questions", "largest changes"),
                [
                    (
                        one["space"],
                        f"{one['questions']} questions",
                        f"{100 * one['ndcg_before']:.1f} → {100 * one['ndcg_after']:.1f}",
                        ", ".join(f"{name} {step:+.2f}" for name, step in list(one["steps"].items())[:_STEPS]),
                    )
                    for one in own
                ],
                empty="",
            )

    def _explain(self, operator: Any, bounds: dict[str, Any], options: dict[str, Any]) -> None:
        from memory.learning import ledger

        if not bounds["trace"] or not bounds["grain"]:
            raise Invalid(
                f"The trace or the memory is missing: {typed_command('flux_learning explain --trace ID --grain ID')}.",
                field="trace",
            )
        found = ledger.explain_vote(operator, trace=bounds["trace"], grain=bounds["grain"])
        if self.as_json:
            self.answer(found)
            return
        self.console.print(Text(f"{found['caller']} asked: {found['query']}"))
        self.console.print(Text(f"Feedback on “{_short(found['content'], 100)}”: {_said(found)}."))
        self.table(
            ("link", "weight without feedback", "weight now", "change by this feedback"),
            [
                (
                    one["from_entry"] or f"memory {one['from_grain']}",
                    one["weight_without_votes"],
                    one["weight"],
                    f"{one['part']:+.3f}",
                )
                for one in found["links"]
            ],
            empty="No link was changed: the rating is stored with the question.",
        )
        if found["shortcuts"]:
            self._shortcuts(found["shortcuts"])

    def _shortcuts(self, found: list[dict[str, Any]]) -> None:
        self.table(
            ("linked by a shortcut", "and", "useful together", "weight"),
            [(*map(_short, one["contents"]), f"{one['together']} times", one["weight"]) for one in found],
            empty="",
        )

    def _undo(self, operator: Any, bounds: dict[str, Any], options: dict[str, Any]) -> None:
        from memory.learning import ledger

        undone = 0
        while True:
            found = ledger.undo_votes(operator, reason=options["reason"], **bounds)
            undone += found["undone"]
            if not found["more"]:
                break
        self.answer({"undone": undone})
        if not self.as_json:
            what = "rating was" if undone == 1 else "ratings were"
            self.console.print(f"{undone} {what} withdrawn. The worker removes their effect shortly.")


def _said(one: dict[str, Any]) -> str:
    rating = "missing" if one["missed"] else "useful" if one["useful"] else "not useful"
    return f"{rating}, withdrawn" if one["undone_at"] else rating


def _short(text: str, longest: int = _LONGEST) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= longest else f"{flat[: longest - 1]}…"
