"""flux_grain: show one memory, change its status or decay class, or purge it."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser
from rich.text import Text

from accounts.principals import shell
from fluxcore.command_names import typed_command
from fluxcore.errors import Invalid
from memory.management.base import FluxCommand

_DONE = {
    "archive": "Archived: it is recalled only after active memories, and becomes active again when it is used.",
    "restore": "Restored: it is active again.",
    "quarantine": "Quarantined: excluded from recall unless quarantined memories are requested.",
    "release": "Released.",
    "delete": "Marked for deletion. To undo this before it is purged: {undelete}",
    "undelete": "Deletion undone.",
    "promote": "Promoted to core.",
    "demote": "Demoted to a working memory.",
}


class Command(FluxCommand):
    help = "One memory: show, archive, restore, quarantine, release, promote, demote, delete, undelete or purge it."

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("action", nargs="?", default="show", choices=["show", *_DONE, "purge"])
        parser.add_argument("grain", nargs="?", help="id of the memory")
        parser.add_argument(
            "--reason", default="", help="reason, recorded in the audit log and the history of the memory"
        )
        parser.add_argument("--confirm", metavar="ID", help="purge: the id of the memory again, to skip the question")

    def run(self, options: dict[str, Any]) -> None:
        if options["grain"] is None:
            raise Invalid(
                f"The id of the memory is missing: {typed_command('flux_grain ' + options['action'] + ' ID')}.",
                field="grain",
            )
        if options["action"] == "show":
            self._show(options["grain"])
        elif options["action"] == "purge":
            self._purge(options)
        else:
            self._move(options)

    def _show(self, grain: str) -> None:
        from memory.grains import dossier
        from memory.grains.lifecycle.grain_history import format_numbers
        from memory.grains.lifecycle.rules import reason_text
        from memory.grains.lookup import find_grain

        row = find_grain(shell(), grain)
        found = dossier.load_dossier(shell(row.space), row.uuid)
        if self.as_json:
            self.answer(found.shape())
            return
        self.console.print(Text(row.text))
        own = found.particulars
        links = len(found.ties.inward) + len(found.ties.outward)
        self.table(
            ("", ""),
            [
                ("space", row.space.name),
                ("status", own["status"]),
                ("decay class", own["decay_class"]),
                ("provenance", own["origin"]),
                ("pinned", "yes" if own["pinned"] else "no"),
                ("links", links),
                ("recorded", own["recorded_at"]),
                ("writer", own["writer"]),
                *([("source", own["citation"]["address"])] if "citation" in own else ()),
            ],
            empty="",
        )
        self.table(
            ("time", "from", "to", "cause", "by", "numbers"),
            [
                (
                    step.shape()["at"][:19],
                    step.before,
                    step.after,
                    step.reason or reason_text(step.why),
                    step.actor,
                    format_numbers(step.numbers),
                )
                for step in found.steps
            ],
            empty="No changes since it was stored.",
        )

    def _move(self, options: dict[str, Any]) -> None:
        from memory.grains.lifecycle import verbs

        answer = getattr(verbs, options["action"])(shell(), grain=options["grain"], reason=options["reason"])
        undelete = typed_command(f"flux_grain undelete {answer['grain_id']}")
        says = (
            _DONE[options["action"]].format(undelete=undelete)
            if answer["changed"]
            else "Nothing changed: it already has this state."
        )
        self.answer(answer, says=says)

    def _purge(self, options: dict[str, Any]) -> None:
        from memory.grains.lifecycle import purge, scrub
        from memory.grains.lookup import find_grain

        row = find_grain(shell(), options["grain"])
        self.confirm(options["confirm"], str(row.uuid), what="This permanently removes the memory.")
        answer = purge.purge(shell(), grain=str(row.uuid), reason=options["reason"])
        scrub.scrub_now()
        says = f"Purged. Earlier backups still contain it: {typed_command('flux_backup list')}."
        self.answer(answer, says=says)
