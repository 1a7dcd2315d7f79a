"""One grain from the shell: everything about it, and everything that can become of it."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser
from rich.text import Text

from accounts.principals import shell
from fluxcore.command_names import typed_command
from fluxcore.errors import Invalid
from memory.management.base import FluxCommand

_DONE = {
    "archive": "Archived: it answers only where others leave room, and comes back by use.",
    "restore": "It is active again.",
    "quarantine": "Quarantined: no answer holds it that does not ask for it.",
    "release": "Released.",
    "delete": "Marked for deletion. To bring it back before it is purged: {undelete}",
    "undelete": "The mark is taken back.",
    "promote": "It is core now.",
    "demote": "It is a working grain now.",
}


class Command(FluxCommand):
    help = "One grain: show it, archive, restore, quarantine, release, promote, demote, delete, undelete, purge it."

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("action", nargs="?", default="show", choices=["show", *_DONE, "purge"])
        parser.add_argument("grain", nargs="?", help="id of a grain")
        parser.add_argument("--reason", default="", help="why, for the audit chain and the grain's history")
        parser.add_argument("--confirm", metavar="ID", help="purge: the id of the grain once more")

    def run(self, options: dict[str, Any]) -> None:
        if options["grain"] is None:
            raise Invalid(f"Name the grain: {typed_command('flux_grain ' + options['action'] + ' ID')}.", field="grain")
        if options["action"] == "show":
            self._show(options["grain"])
        elif options["action"] == "purge":
            self._purge(options)
        else:
            self._move(options)

    def _show(self, grain: str) -> None:
        from memory.grains import dossier
        from memory.grains.lifecycle.grain_history import format_numbers
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
                ("origin", own["origin"]),
                ("pinned", "yes" if own["pinned"] else "no"),
                ("links", links),
                ("recorded", own["recorded_at"]),
                ("writer", own["writer"]),
            ],
            empty="",
        )
        self.table(
            ("when", "from", "to", "why", "by", "numbers"),
            [
                (
                    step.shape()["at"][:19],
                    step.before,
                    step.after,
                    step.reason or step.why,
                    step.actor,
                    format_numbers(step.numbers),
                )
                for step in found.steps
            ],
            empty="It has always been as it is.",
        )

    def _move(self, options: dict[str, Any]) -> None:
        from memory.grains.lifecycle import verbs

        answer = getattr(verbs, options["action"])(shell(), grain=options["grain"], reason=options["reason"])
        undelete = typed_command(f"flux_grain undelete {answer['grain_id']}")
        says = _DONE[options["action"]].format(undelete=undelete) if answer["changed"] else "It was so already."
        self.answer(answer, says=says)

    def _purge(self, options: dict[str, Any]) -> None:
        from memory.grains.lifecycle import purge, scrub
        from memory.grains.lookup import find_grain

        row = find_grain(shell(), options["grain"])
        self.confirm(options["confirm"], str(row.uuid), what="This removes the grain for good.")
        answer = purge.purge(shell(), grain=str(row.uuid), reason=options["reason"])
        scrub.scrub_now()
        says = f"Purged. Backups made before still hold it: {typed_command('flux_backup list')}."
        self.answer(answer, says=says)
