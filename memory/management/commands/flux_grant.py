"""flux_grant: list, give and revoke grants of capabilities to agents, and answer their requests."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

from django.core.management.base import CommandParser
from rich.text import Text

from accounts import effective_capabilities, grants
from accounts.models import Grant, GrantRequest
from accounts.principals import find_space, shell
from fluxcore import clock
from fluxcore.command_names import typed_command
from fluxcore.errors import Invalid, NotFound
from fluxsite.setup import FIRST_SPACE
from memory.management.base import FluxCommand

MAX_HOURS = 24 * 36_500
SHORT = 8  # characters of an id in a table
_BEGINNING = re.compile(r"[0-9a-f]{4,8}")


class Command(FluxCommand):
    help = "Capabilities granted to agents: list, give, revoke; list, accept and decline requests of agents."

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "action", nargs="?", default="list", choices=["list", "give", "revoke", "requests", "accept", "decline"]
        )
        parser.add_argument("what", nargs="?", help="give: the agent; otherwise the id, or its first characters")
        parser.add_argument(
            "capability", nargs="?", help="give: the capability, for example metrics.read or memory.write:notes/*"
        )
        parser.add_argument("--space", default=None, help=f"the agent's space (give: default {FIRST_SPACE})")
        end = parser.add_mutually_exclusive_group()
        end.add_argument(
            "--hours", type=float, help="give, accept: expires after so many hours (default: never, until revoked)"
        )
        end.add_argument("--days", type=float, help="give, accept: expires after so many days")
        end.add_argument("--until", help="give, accept: expires at this time, for example 2030-01-31T18:00:00Z")
        parser.add_argument(
            "--all", action="store_true", help="list, requests: include ended grants and answered requests"
        )
        parser.add_argument(
            "--reason", default="", help="reason, recorded in the audit log; accept, decline: the agent sees it"
        )

    def run(self, options: dict[str, Any]) -> None:
        getattr(self, f"_{options['action']}")(options)

    def _say(self, value: Any, words: str) -> None:
        """Print a result without markup: a capability may contain square brackets."""
        self.answer(value)
        if not self.as_json:
            self.console.print(Text(words))

    def _list(self, options: dict[str, Any]) -> None:
        found = Grant.objects.all() if options["all"] else effective_capabilities.open_grants()
        found = found.select_related("agent__space").order_by("id")
        if options["space"]:
            found = found.filter(agent__space=find_space(options["space"]))
        rows = [grants.describe(row) for row in found]
        if self.as_json:
            self.answer({"grants": rows})
            return
        self.table(
            ("id", "space", "agent", "capability", "by", "until"),
            [
                (row["id"][:SHORT], row["space"], row["agent"], row["capability"], row["granted_by"], _state(row))
                for row in rows
            ],
            empty=f"No active grants. Give one: {typed_command('flux_grant give AGENT CAPABILITY --hours 8')}",
        )

    def _give(self, options: dict[str, Any]) -> None:
        if options["what"] is None or options["capability"] is None:
            raise Invalid(
                f"The agent or the capability is missing: {typed_command('flux_grant give AGENT CAPABILITY')}.",
                field="what",
            )
        grant = grants.give(
            shell(),
            space=options["space"] or FIRST_SPACE,
            agent=options["what"],
            capability=options["capability"],
            expires_at=_end(options),
            reason=options["reason"],
        )
        self._say(grant, _given(grant, grant["id"]))

    def _revoke(self, options: dict[str, Any]) -> None:
        ended = grants.revoke(shell(), grant=_named(options, Grant), reason=options["reason"])
        self._say(ended, f"Revoked from {ended['space']}/{ended['agent']}: {ended['capability']}.")

    def _requests(self, options: dict[str, Any]) -> None:
        found = GrantRequest.objects.select_related("agent__space", "grant").order_by("id")
        if not options["all"]:
            found = found.filter(state=GrantRequest.RequestState.WAITING)
        if options["space"]:
            found = found.filter(agent__space=find_space(options["space"]))
        rows = [grants.describe_request(row) for row in found]
        if self.as_json:
            self.answer({"requests": rows})
            return
        self.table(
            ("id", "space", "agent", "requested capability", "why", "since", ""),
            [
                (
                    row["id"][:SHORT],
                    row["space"],
                    row["agent"],
                    row["capability"],
                    row["reason"],
                    row["asked_at"][:16],
                    "" if row["state"] == "waiting" else row["state"],
                )
                for row in rows
            ],
            empty="No open requests.",
        )
        if any(row["state"] == "waiting" for row in rows):
            accept, decline = (
                typed_command("flux_grant accept ID --hours 8"),
                typed_command("flux_grant decline ID --reason WHY"),
            )
            self.console.print(f"[dim]Next: {accept}, or {decline}[/]")

    def _accept(self, options: dict[str, Any]) -> None:
        done = grants.accept(
            shell(), request=_named(options, GrantRequest), expires_at=_end(options), reason=options["reason"]
        )
        self._say(done, _given(done, done["grant"]))

    def _decline(self, options: dict[str, Any]) -> None:
        done = grants.decline(shell(), request=_named(options, GrantRequest), reason=options["reason"])
        self._say(done, f"Declined: {done['space']}/{done['agent']} does not get {done['capability']}.")


def _named(options: dict[str, Any], kind: type[Grant] | type[GrantRequest]) -> str:
    """Full id from a given id or its unique beginning."""
    where = "list" if kind is Grant else "requests"
    given = options["what"]
    if given is None:
        raise Invalid(f"The id is missing; {typed_command(f'flux_grant {where}')} shows it.", field="what")
    if not _BEGINNING.fullmatch(given):
        return str(given)
    found = [str(one) for one in kind.objects.filter(uuid__startswith=given).values_list("uuid", flat=True)[:2]]
    if len(found) > 1:
        raise Invalid(
            f"Several ids begin with {given}. {typed_command(f'flux_grant {where} --json')} shows them in full.",
            field="what",
        )
    if not found:
        raise NotFound(f"No id begins with {given}. `{typed_command(f'flux_grant {where}')}` shows what there is.")
    return found[0]


def _state(row: dict[str, Any]) -> str:
    if row["revoked_at"]:
        return f"revoked {row['revoked_at'][:16]}"
    return row["expires_at"][:16] if row["expires_at"] else "revoked"


def _end(options: dict[str, Any]) -> str | None:
    if options["until"] is not None:
        return str(options["until"])
    if options["hours"] is None and options["days"] is None:
        return None
    field = "hours" if options["hours"] is not None else "days"
    hours = options["hours"] if field == "hours" else options["days"] * 24
    if not 0 < hours <= MAX_HOURS:
        raise Invalid(f"--{field} must be more than 0 and at most a hundred years.", field=field)
    return clock.rfc3339(clock.now() + timedelta(hours=hours))


def _given(grant_record: dict[str, Any], grant: str) -> str:
    until = f"until {grant_record['expires_at'][:19]}Z" if grant_record["expires_at"] else "until it is revoked"
    who = f"{grant_record['space']}/{grant_record['agent']}"
    revoke = typed_command(f"flux_grant revoke {grant[:SHORT]}")
    return f"{who} may {grant_record['capability']} {until}. Revoke it: {revoke}"
