"""flux_token: list, mint and revoke tokens of agents; a new token is shown once."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.core.management.base import CommandParser

from accounts import origins, tokens
from accounts.models import Token
from accounts.principals import shell
from fluxcore import clock
from fluxcore.command_names import typed_command
from fluxcore.errors import Invalid
from fluxsite.setup import FIRST_SPACE
from memory.management.base import FluxCommand
from memory.management.tables import format_minute

MAX_DAYS = 36_500


class Command(FluxCommand):
    help = "Tokens: list, mint for an agent, revoke by prefix."

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("action", nargs="?", default="list", choices=["list", "mint", "revoke"])
        parser.add_argument("what", nargs="?", help="mint: the agent; revoke: the token's prefix")
        parser.add_argument("--space", default=None, help=f"the agent's space (default {FIRST_SPACE})")
        parser.add_argument(
            "--ceiling",
            choices=origins.CEILINGS,
            help="mint: maximum provenance of what is stored with it (default user_stated: the program may pass on "
            "what a person said as their own words; ai_stated for an agent below trusted or with a parent)",
        )
        parser.add_argument(
            "--no-user-words",
            dest="ceiling",
            action="store_const",
            const=origins.DEFAULT,
            help="mint: the program may not pass on what a person said as their own words (as --ceiling ai_stated)",
        )
        parser.add_argument(
            "--days", type=float, help="mint: expires after so many days (default: never, until revoked)"
        )
        parser.add_argument("--note", default="", help="mint: purpose of the token")
        parser.add_argument("--reason", default="", help="reason, recorded in the audit log")

    def run(self, options: dict[str, Any]) -> None:
        if options["action"] != "list" and options["what"] is None:
            raise Invalid("The agent (mint) or the prefix of the token (revoke) is missing.", field="what")
        getattr(self, f"_{options['action']}")(options)

    def _list(self, options: dict[str, Any]) -> None:
        found = Token.objects.select_related("agent__space").order_by("id")
        if options["space"]:
            found = found.filter(agent__space__name=options["space"])
        rows = [tokens.describe(token) for token in found]
        if self.as_json:
            self.answer({"tokens": rows})
            return
        moments = ("created_at", "expires_at", "revoked_at", "last_used_at")
        self.table(
            ("prefix", "space", "agent", "maximum provenance", "created", "expires", "revoked", "last used", "note"),
            [
                [
                    row["prefix"],
                    row["space"],
                    row["agent"],
                    row["ceiling"],
                    *(format_minute(row[name]) for name in moments),
                    row["note"],
                ]
                for row in rows
            ],
            empty=f"No tokens yet. Mint one: {typed_command('flux_token mint AGENT')}",
        )

    def _mint(self, options: dict[str, Any]) -> None:
        days = options["days"]
        if days is not None and not 0 < days <= MAX_DAYS:
            raise Invalid(f"--days must be more than 0 and at most {MAX_DAYS}.", field="days")
        expiry = clock.rfc3339(clock.now() + timedelta(days=days)) if days is not None else None
        minted = tokens.mint(
            shell(),
            space=options["space"] or FIRST_SPACE,
            agent=options["what"],
            ceiling=options["ceiling"],
            expires_at=expiry,
            note=options["note"],
            reason=options["reason"],
        )
        self.answer(minted, says=minted["token"])
        if not self.as_json:
            # To standard error, so that TOKEN=$(flux token mint ...) gets the token alone.
            self.notes.print(f"[dim]Shown only once. Maximum provenance: {minted['ceiling']}.[/]")

    def _revoke(self, options: dict[str, Any]) -> None:
        ended = tokens.revoke(shell(), prefix=options["what"], reason=options["reason"])
        self.answer(ended, says=f"Revoked {ended['prefix']} of {ended['space']}/{ended['agent']}.")
