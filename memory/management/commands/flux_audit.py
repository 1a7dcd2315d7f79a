"""flux_audit: show, verify and export the audit chains, sign checkpoints, rotate the key."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser
from rich.text import Text

from accounts import audit
from accounts.audit import checkpoints
from accounts.audit.checkpoints import VerificationReport
from accounts.models import Space
from accounts.principals import INSTANCE_CHAIN, find_space, shell
from fluxcore.command_names import typed_command
from memory.management.base import FluxCommand
from memory.management.tables import format_minute, short_id

EXIT_BROKEN = 1


class Command(FluxCommand):
    help = "The audit chains: tail, verify, export, checkpoint, rotate-key."

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("action", choices=["tail", "verify", "export", "checkpoint", "rotate-key"])
        parser.add_argument("--space", help="only this space's chain ('instance' for the instance's own)")
        parser.add_argument("--actor", help="tail: only this actor, for example agent:assistant")
        parser.add_argument("--limit", type=int, default=20, help="tail: how many (default 20)")
        parser.add_argument(
            "--checkpoints",
            type=Path,
            action="append",
            default=[],
            metavar="FILE",
            help="verify: also against a copy of checkpoints.jsonl kept elsewhere",
        )
        parser.add_argument(
            "--public-key",
            type=Path,
            metavar="FILE",
            help="verify: use these public keys instead of those in the data home",
        )
        parser.add_argument("--reason", default="", help="rotate-key: reason, recorded in the audit log")

    def run(self, options: dict[str, Any]) -> None:
        chain = self._chain(options["space"])
        getattr(self, options["action"].replace("-", "_"))(chain, options)

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
                (
                    format_minute(row["at"]),
                    row["actor"],
                    row["action"],
                    short_id(row["object"]),
                    row["outcome"],
                    row["reason"],
                )
                for row in found
            ],
            empty="No audit entries yet.",
        )

    def verify(self, chain: str | None, options: dict[str, Any]) -> None:
        heads = audit.heads()
        total = sum(head.seq for name, head in heads.items() if chain in (None, name))
        with self.progress("Verifying", total) as advance:
            report = checkpoints.verify_chains(
                chain=chain, kept=options["checkpoints"], public_keys=options["public_key"], on_progress=advance
            )
        names = {space.uuid.hex: space.name for space in Space.objects.all()}
        if self.as_json:
            self.answer(_described(report, names))
        else:
            self._print(report, names)
        if not report.sound:
            sys.exit(EXIT_BROKEN)

    def _print(self, report: VerificationReport, names: dict[str, str]) -> None:
        self.table(
            ("chain", "entries", "head", "checkpoint", "verdict"),
            [
                (
                    names.get(verdict.chain, verdict.chain),
                    verdict.entries,
                    verdict.head[:16],
                    report.checkpoints.get(verdict.chain, ("none",))[0],
                    Text("sound", "green")
                    if verdict.sound
                    else Text(f"entry {verdict.broken_at}: {verdict.problem}", "bold red"),
                )
                for verdict in report.chains
            ],
            empty="No audit entries yet.",
        )
        for place in report.places:
            if place.problem:
                self.console.print(Text(f"{place.path} {place.problem}", "bold red"))
        for one in report.replaced:
            had = ", ".join(f"{names.get(chain, chain)} {count}" for chain, count in one.entries.items())
            self.console.print(
                Text(
                    f"{one.at[:19]} flux_{'backup restore' if one.kind == 'restore' else one.kind} replaced the "
                    f"chains; known before: {had or 'nothing'}",
                    "yellow",
                )
            )
        if not report.checkpoints:
            says = (
                "No checkpoint yet, so entries removed from the end would go unnoticed.\n"
                f"Create one: {typed_command('flux_audit checkpoint')}"
            )
            self.console.print(Text(says, "yellow"))

    def export(self, chain: str | None, options: dict[str, Any]) -> None:
        """Export entries as JSON lines, in the order of the chain."""
        for name in [chain] if chain else audit.chains():
            for entry in audit.export(name):
                self.stdout.write(json.dumps(entry, ensure_ascii=False))

    def checkpoint(self, chain: str | None, options: dict[str, Any]) -> None:
        """Sign a checkpoint of the present heads of the chains."""
        with self.notes.status("Verifying new entries ..."):
            signed = checkpoints.make_checkpoint()
        self.answer(
            {
                "chains": {name: {"entries": count, "head": head} for name, (count, head) in signed.heads.items()},
                "broken": [
                    {"chain": one.chain, "broken_at": one.broken_at, "problem": one.problem} for one in signed.broken
                ],
                "outside": signed.outside,
            },
            says=f"Signed {len(signed.heads)} chain(s) with new entries.",
        )
        if not self.as_json:
            for one in signed.broken:
                self.console.print(Text(f"{one.chain} entry {one.broken_at}: {one.problem}. Not signed.", "bold red"))
            if signed.outside:
                self.console.print(
                    Text(f"The copy outside the data home was not written: {signed.outside}", "bold red")
                )
        if signed.broken or signed.outside:
            sys.exit(EXIT_BROKEN)

    def rotate_key(self, chain: str | None, options: dict[str, Any]) -> None:
        """Create a new signing key for all later checkpoints."""
        found = checkpoints.rotate_key(shell(), reason=options["reason"])
        self.answer(found, says=f"Active key: {found['key']}")
        if found["outside"]:
            if not self.as_json:
                self.console.print(
                    Text(f"The copy outside the data home was not written: {found['outside']}", "bold red")
                )
            sys.exit(EXIT_BROKEN)


def _described(report: VerificationReport, names: dict[str, str]) -> dict[str, Any]:
    def newest(chain: str) -> dict[str, Any] | None:
        found = report.checkpoints.get(chain)
        return {"entries": found[0], "at": found[1]} if found else None

    return {
        "sound": report.sound,
        "chains": [
            {
                "chain": verdict.chain,
                "space": names.get(verdict.chain),
                "entries": verdict.entries,
                "head": verdict.head,
                "broken_at": verdict.broken_at,
                "problem": verdict.problem,
                "checkpoint": newest(verdict.chain),
            }
            for verdict in report.chains
        ],
        "checkpoints": [
            {"file": str(place.path), "lines": len(place.log.lines), "newest": place.newest, "problem": place.problem}
            for place in report.places
        ],
        "replaced": [{"at": one.at, "kind": one.kind, "entries": one.entries} for one in report.replaced],
    }
