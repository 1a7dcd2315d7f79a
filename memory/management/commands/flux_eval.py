"""flux_eval: measure the effect of learning by replaying a space's judged questions with and without it."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser
from rich.text import Text

from accounts.models import Space
from accounts.principals import find_space, shell
from memory.management.base import FluxCommand

_WAYS = {
    "without": "without feedback",
    "others": "with feedback on other questions",
    "own": "with feedback on the same question too",
}


class Command(FluxCommand):
    help = "Replay questions that have feedback, with and without learning, to measure the effect of feedback."

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--space", help="only this space (default: all)")
        parser.add_argument(
            "--sample", type=int, default=200, help="number of questions with feedback to replay, newest first"
        )

    def run(self, options: dict[str, Any]) -> None:
        from memory.health import replay

        spaces = [find_space(options["space"])] if options["space"] else list(Space.objects.order_by("name"))
        found: dict[str, Any] = {}
        for space in spaces:
            count = len(replay.judged_question_ids(space.pk, max(1, options["sample"])))
            with self.progress(f"Replaying questions of {space.name}", count) as step:
                found[space.name] = replay.replay_now(shell(space), sample=options["sample"], step=step)
        if self.as_json:
            self.answer({"spaces": found})
            return
        for name, one in found.items():
            self._print(name, one)
        if not found:
            self.console.print("[dim]No spaces yet.[/]")

    def _print(self, name: str, found: dict[str, Any]) -> None:
        if not found["questions"]:
            self.console.print(Text.assemble((name, "bold"), "  no feedback yet (send it with POST /feedback)"))
            return
        gain = found["gain"]
        self.console.print(
            Text.assemble(
                (name, "bold"),
                f"  {found['questions']} questions with feedback  ",
                (f"learning gain {gain:+.3f} nDCG", "green" if gain >= 0 else "red"),
            )
        )
        baseline = found["without"]
        self.table(
            ("asked", "useful in first 5", "nDCG@10", "gain"),
            [
                (
                    says,
                    f"{found[way]['hit_rate']:.3f}",
                    f"{found[way]['ndcg']:.3f}",
                    "" if way == "without" else f"{found[way]['ndcg'] - baseline['ndcg']:+.3f}",
                )
                for way, says in _WAYS.items()
            ],
            empty="",
        )
