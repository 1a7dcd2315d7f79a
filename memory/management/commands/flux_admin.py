"""flux_admin: list, create, invite, unlock, suspend and reactivate people; without an action, the menu."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser
from rich.text import Text

from accounts import lookalikes, people
from accounts.models import Authenticator, Membership, User
from accounts.principals import shell
from accounts.signin import links, lockout
from fluxcore import clock
from fluxcore.command_names import typed_command
from fluxcore.errors import Conflict, Invalid
from fluxsite import setup
from fluxsite.run import running_state
from memory.management import menu, person_prompts
from memory.management.base import FluxCommand

ACTIONS = ["list", "create", "invite", "role", "reset", "unlock", "link", "stop", "resume"]


class Command(FluxCommand):
    help = (
        "People: list, create an administrator, invite, set a role, reset a second factor, unlock, suspend (stop) and "
        "reactivate (resume)."
    )

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "action", nargs="?", choices=ACTIONS, help="default at a terminal: a menu, after signing in"
        )
        parser.add_argument("username", nargs="?", help="the person's user name")
        parser.add_argument("--password-file", type=Path, help="create: file with the password")
        parser.add_argument("--totp-key-file", type=Path, help="create: file with the base32 key of the second factor")
        parser.add_argument("--totp-code", help="create: the first code, to check the key")
        parser.add_argument(
            "--no-totp", action="store_true", help="create: set up the second factor later, with a one-time link"
        )
        parser.add_argument(
            "--administrator", action="store_true", help="invite: as administrator of the whole instance"
        )
        parser.add_argument("--space", default="", help="invite, role: the space")
        parser.add_argument(
            "--role", default="", help=f"invite, role: {', '.join(Membership.Role.values)}; empty removes the role"
        )
        parser.add_argument("--password", action="store_true", help="reset: reset the password too")
        parser.add_argument("--reason", default="", help="reason, recorded in the audit log")

    def run(self, options: dict[str, Any]) -> None:
        if options["action"] is None and sys.stdin.isatty() and not self.as_json:
            menu.start_menu(self)
            return
        options["action"] = options["action"] or "list"
        if options["action"] not in ("list", "link") and not options["username"]:
            raise Invalid(
                f"The user name is missing: {typed_command('flux_admin ' + options['action'] + ' NAME')}.",
                field="username",
            )
        getattr(self, f"_{options['action']}")(options)

    def _list(self, options: dict[str, Any]) -> None:
        rows = [_describe(user) for user in User.objects.order_by("username")]
        if self.as_json:
            self.answer({"people": rows})
            return
        alike = lookalikes.find_lookalikes(row["username"] for row in rows)
        self.table(
            ("person", "roles", "second factor", "state", "last sign-in"),
            [
                (
                    _named(row["username"], alike),
                    ", ".join(row["roles"]),
                    "yes" if row["second_factor"] else Text("none", "yellow"),
                    Text("locked", "bold red") if row["locked"] else "active" if row["active"] else "stopped",
                    (row["last_sign_in"] or "never")[:19],
                )
                for row in rows
            ],
            empty=f"No people yet. Create an administrator: {typed_command('flux_admin create NAME')}",
        )

    def _create(self, options: dict[str, Any]) -> None:
        username = options["username"]
        asks = sys.stdin.isatty()
        people.check_username(User.normalize_username(username))
        password = person_prompts.ask_password(self, username, options["password_file"], asks=asks)
        key, step = None, -1
        if not options["no_totp"]:
            key, step = person_prompts.ask_second_factor(
                self, username, options["totp_key_file"], options["totp_code"], asks=asks
            )
        person = people.create_administrator(
            shell(),
            username=username,
            password=password,
            totp_key=key.hex() if key else None,
            spent_step=step,
            reason=options["reason"],
        )
        next_step = (
            "Sign in with its next code." if key else f"Next: {typed_command('flux_admin reset ' + person['username'])}"
        )
        self.answer(person, says=f"Created the administrator {person['username']}. {next_step}")

    def _invite(self, options: dict[str, Any]) -> None:
        invitation = people.invite(
            shell(),
            username=options["username"],
            administrator=options["administrator"],
            space=options["space"],
            role=options["role"],
            reason=options["reason"],
        )
        self._hand_over(invitation, "works once, 72 hours")

    def _role(self, options: dict[str, Any]) -> None:
        if not options["space"]:
            raise Invalid("The space is missing: add --space NAME.", field="space")
        membership = people.set_role(
            shell(),
            username=options["username"],
            space=options["space"],
            role=options["role"],
            reason=options["reason"],
        )
        has = f"has the role {membership['role']}" if membership["role"] else "has no role"
        self.answer(membership, says=f"{membership['username']} now {has} in {membership['space']}.")

    def _reset(self, options: dict[str, Any]) -> None:
        link = people.reset(
            shell(), username=options["username"], password=options["password"], reason=options["reason"]
        )
        self._hand_over(link, "works once")

    def _unlock(self, options: dict[str, Any]) -> None:
        link = people.unlock(shell(), username=options["username"], reason=options["reason"])
        self._hand_over(link, "works for 15 minutes, even if others keep trying this name")

    def _link(self, options: dict[str, Any]) -> None:
        if setup.has_administrator():
            raise Conflict(
                "There is already an administrator. Invite another one: "
                f"{typed_command('flux_admin invite NAME --administrator')}"
            )
        self._hand_over(dict(links.issue_enrolment(shell(), reason=options["reason"])), "works once, 24 hours")

    def _stop(self, options: dict[str, Any]) -> None:
        self._switch(options, active=False)

    def _resume(self, options: dict[str, Any]) -> None:
        self._switch(options, active=True)

    def _switch(self, options: dict[str, Any], *, active: bool) -> None:
        changed = people.switch(shell(), username=options["username"], active=active, reason=options["reason"])
        says = (
            "is reactivated and can sign in again."
            if active
            else "is suspended: signed out everywhere and cannot sign in."
        )
        self.answer(changed, says=f"{changed['username']} {says}")

    def _hand_over(self, issued: dict[str, Any], lasts: str) -> None:
        """Print a one-time link, whose secret is stored nowhere."""
        path = f"/enrol/{issued.pop('secret')}"
        address = (running_state.read_state(settings.HOME) or {}).get("urls", {}).get("people")
        link = f"{address}{path}" if address else path
        self.answer(
            {**issued, "link": link},
            says=f"{link}\n[dim]Shown only once; it {lasts}. Send it to the person over a channel you trust.[/]",
        )
        if not address and not self.as_json:
            self.notes.print(
                "[yellow]The instance is not running, so the link has no address: put it before the link.[/]"
            )


def _named(username: str, alike: dict[str, list[str]]) -> Text:
    if username not in alike:
        return Text(username)
    return Text.assemble(username, (f"  looks like {', '.join(alike[username])}", "yellow"))


def _describe(user: User) -> dict[str, Any]:
    memberships = Membership.objects.filter(user=user).select_related("space")
    roles = ["administrator"] if user.is_superuser else []
    return {
        "username": user.username,
        "roles": roles + [f"{found.role} of {found.space.name}" for found in memberships],
        "second_factor": Authenticator.objects.filter(user=user).exists(),
        "active": user.is_active,
        "locked": lockout.is_locked(lockout.password_key(user.username), lockout.PASSWORD)
        or lockout.is_locked(lockout.code_key(user.pk), lockout.CODE),
        "last_sign_in": clock.rfc3339(user.last_login),
    }
