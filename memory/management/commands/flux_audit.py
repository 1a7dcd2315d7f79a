"""Read, verify and export the audit chains."""

from __future__ import annotations

import json
import sys
from typing import Any

from django.core.management.base import CommandParser
from rich.text import Text

from accounts import audit
from accounts.models import AuditEntry, Space
from accounts.principals import INSTANCE_CHAIN, find_space
from memory.management.base import FluxCommand

EXIT_BROKEN = 1


class Command(FluxCommand):
    help = "The audit chains: tail, verify, export."

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("action", choices=["tail", "verify", "export"])
        parser.add_argument("--space", help="only this space's chain ('instance' for the instance's own)")
        parser.add_argument("--actor", help="tail: only this actor, for example agent:assistant")
        parser.add_argument("--limit", type=int, default=20, help="tail: how many (default 20)")

    def run(self, options: dict[str, Any]) -> None:
        chain = self._chain(options["space"])
        getattr(self, options["action"])(chain, options)

    def _chain(self, space: str | None) -> str | None:
        if space is None or space == INSTANCE_CHAIN:
            return space
        return find_space(space).uuid.hex

    def tail(self, chain: str | None, options: dict[str, Any]) -> None:
        found = audit.tail(chain=chain, actor=options["actor"], limit=max(1, min(options["limit"], 10_000)))
        if self.as_json:
            self.answer({"entries": found})
            return
        self.table(
            ("at", "actor", "action", "object", "outcome", "reason"),
            [
                (row["at"][:19], row["actor"], row["action"], row["object"], row["outcome"], row["reason"])
                for row in found
            ],
            empty="Nothing has been recorded yet.",
        )

    def verify(self, chain: str | None, options: dict[str, Any]) -> None:
        wanted = [chain] if chain else audit.chains()
        with self.progress("Verifying", AuditEntry.objects.filter(chain__in=wanted).count()) as advance:
            verdicts = [audit.verify(name, on_progress=advance) for name in wanted]
        names = {space.uuid.hex: space.name for space in Space.objects.all()}
        if self.as_json:
            self.answer(
                {
                    "sound": all(verdict.sound for verdict in verdicts),
                    "chains": [
                        {"chain": verdict.chain, "space": names.get(verdict.chain), "entries": verdict.entries,
                         "head": verdict.head, "broken_at": verdict.broken_at, "problem": verdict.problem}
                        for verdict in verdicts
                    ],
                }
            )  # fmt: skip
        else:
            self.table(
                ("chain", "entries", "head", "verdict"),
                [
                    (names.get(verdict.chain, verdict.chain), verdict.entries, verdict.head[:16],
                     Text("sound", "green") if verdict.sound
                     else Text(f"entry {verdict.broken_at}: {verdict.problem}", "bold red"))
                    for verdict in verdicts
                ],
                empty="Nothing has been recorded yet.",
            )  # fmt: skip
        if not all(verdict.sound for verdict in verdicts):
            sys.exit(EXIT_BROKEN)

    def export(self, chain: str | None, options: dict[str, Any]) -> None:
        """One JSON object a line, in the order of the chain."""
        for name in [chain] if chain else audit.chains():
            for entry in audit.export(name):
                self.stdout.write(json.dumps(entry, ensure_ascii=False))
