"""The interactive menu of `flux admin`: a person signs in with password and code, then looks after one space."""

from __future__ import annotations

import getpass
import json
import time
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING

from django.conf import settings

from accounts import audit, own_account, people, roles
from accounts.authorise import authorise
from accounts.models import Space, User
from accounts.principals import Principal
from accounts.signin import credentials
from accounts.visitor import FRESH_FOR
from fluxcore import files
from fluxcore.command_names import typed_command
from fluxcore.errors import FluxError, Forbidden, Invalid
from fluxsite.run import running_state
from memory.grains.models import Grain

if TYPE_CHECKING:
    from memory.management.base import FluxCommand

SOURCE = "shell"  # where sign-ins of this menu come from, in the audit chain
_UNDO = {
    Grain.Status.QUARANTINED: "release",
    Grain.Status.PENDING_DELETION: "undelete",
    Grain.Status.ARCHIVED: "restore",
    Grain.Status.DORMANT: "restore",
}
_CHOICES = (
    ("search", "Search memories"),
    ("purge", "Purge a memory permanently"),
    ("restore", "Restore a memory"),
    ("export", "Export a memory to a file"),
    ("audit", "Show the audit log"),
    ("password", "Change my password"),
    ("dashboard", "Open the dashboard"),
)


class AdminMenu:
    def __init__(self, command: FluxCommand) -> None:
        self.command = command
        self.user = self._sign_in()
        self.space = self._choose_space()

    def run(self) -> None:
        """Run the menu until the person leaves; errors are shown and the menu continues."""
        while True:
            self._say("")
            for number, (_, label) in enumerate(_CHOICES, start=1):
                self._say(f"  {number}  {label}")
            self._say("  0  Quit")
            given = self._ask(f"{self.space.name}> ")
            if given in ("0", "q", "quit", "exit"):
                return
            if not (given.isdecimal() and 1 <= int(given) <= len(_CHOICES)):
                self._warn(f"Type a number from 0 to {len(_CHOICES)}.")
                continue
            try:
                getattr(self, f"_{_CHOICES[int(given) - 1][0]}")()
            except FluxError as refusal:
                self._warn(f"{refusal.code}: {refusal.message}")

    # Signing in

    def _sign_in(self) -> User:
        usual = User.objects.filter(is_superuser=True, is_active=True).values_list("username", flat=True)[:2]
        default = usual[0] if len(usual) == 1 else ""
        username = self._ask(f"User name{f' [{default}]' if default else ''}: ") or default
        user = credentials.check_password(username, getpass.getpass("Password: "), source=SOURCE)
        self._check_code(user)
        return user

    def _check_code(self, user: User) -> None:
        credentials.check_code(user, self._ask("Code from your authenticator app: "), source=SOURCE)
        self._code_given = time.monotonic()

    def _choose_space(self) -> Space:
        spaces = list(Space.objects.filter(pk__in=roles.roles_of(self.user)).order_by("name"))
        if not spaces:
            raise Forbidden("You have no role in any space. An administrator can give you one.")
        if len(spaces) == 1:
            return spaces[0]
        names = [space.name for space in spaces]
        given = self._ask(f"Space ({', '.join(names)}) [{names[0]}]: ") or names[0]
        if given not in names:
            raise Invalid(f"Choose one of {', '.join(names)}.", field="space")
        return spaces[names.index(given)]

    def _principal(self) -> Principal:
        """Principal of the person; account and role are read again for each step."""
        self.user = User.objects.get(pk=self.user.pk)
        role = roles.roles_of(self.user).get(self.space.pk, "") if self.user.is_active else ""
        fresh = time.monotonic() - self._code_given < FRESH_FOR.total_seconds()
        return roles.person_principal(self.user, fresh=fresh, space=self.space, role=role)

    def _fresh_principal(self) -> Principal:
        if not self._principal().fresh:
            self._check_code(self.user)
        return self._principal()

    # What the menu offers

    def _search(self) -> None:
        from memory.embedding import active_encoder
        from memory.recall import recall

        query = self._ask("Search for: ")
        active_encoder.load_encoder()  # in the foreground: only this person waits for it
        statuses = [status for status in Grain.Status.values if status != Grain.Status.PENDING_DELETION]
        found = recall.recall(self._principal(), query=query, k=10, statuses=statuses)["grains"]
        self.command.table(
            ("memory", "status", "text"),
            [(one["id"], one["status"], _shortened(one["content"])) for one in found],
            empty="No memories found.",
        )

    def _purge(self) -> None:
        from memory.grains.lifecycle import purge, scrub

        row = self._memory()
        reason = self._ask("Why: ")
        if self._ask("This permanently removes the memory. Type its id again to continue: ") != str(row.uuid):
            self._warn("The ids differ. Nothing was purged.")
            return
        purge.purge(self._fresh_principal(), grain=str(row.uuid), reason=reason)
        scrub.scrub_now()
        self._say("Purged. Earlier backups still contain it.")

    def _restore(self) -> None:
        from memory.grains.lifecycle import verbs

        row = self._memory()
        step = _UNDO.get(Grain.Status(row.status))
        if step is None:
            self._say("The memory is already active.")
            return
        getattr(verbs, step)(self._principal(), grain=str(row.uuid), reason=self._ask("Why: "))
        self._say("Restored. It is active again.")

    def _export(self) -> None:
        from memory.grains import dossier

        row = self._memory()
        found = dossier.load_dossier(self._principal(), row.uuid).shape()
        path = Path(self._ask(f"File [{row.uuid}.json]: ") or f"{row.uuid}.json").expanduser()
        try:
            made = files.create_file(path, json.dumps(found, ensure_ascii=False, indent=2))
        except OSError as error:
            raise Invalid(f"{path} cannot be written: {error.strerror}.", field="file") from None
        if not made:
            raise Invalid(f"{path} exists already. Name another file.", field="file")
        self._say(f"Written to {path}.")

    def _audit(self) -> None:
        who = self._principal()
        authorise(who, "audit.read", action="audit.tail")
        self.command.table(
            ("at", "actor", "action", "object", "outcome"),
            [
                (row["at"][:19], row["actor"], row["action"], row["object"], row["outcome"])
                for row in audit.tail(chain=who.chain, actor=None, limit=20)
            ],
            empty="No audit entries yet.",
        )

    def _password(self) -> None:
        password = getpass.getpass("New password (at least 12 characters): ")
        people.check_password(self.user.get_username(), password)
        if getpass.getpass("Repeat the password: ") != password:
            raise Invalid("The two passwords differ. The password was not changed.", field="password")
        own_account.change_password(self._fresh_principal(), password=password)
        self._say("Password changed. All your sessions have ended.")

    def _dashboard(self) -> None:
        state = running_state.read_state(settings.HOME)
        if state is None:
            self._warn(f"The instance is not running. Start it first: {typed_command('flux_start')}.")
            return
        address = f"{state['urls']['people']}/"
        self._say(address)
        webbrowser.open(address)

    # The terminal

    def _memory(self) -> Grain:
        from memory.grains.lookup import find_grain

        row = find_grain(self._principal(), self._ask("Id of the memory: "))
        authorise(self._principal(), "grains.read", action="grains.show")
        self._say(f"{row.status}: {_shortened(row.text)}")
        return row

    def _ask(self, prompt: str) -> str:
        return input(prompt).strip()

    def _say(self, text: str) -> None:
        self.command.console.print(text, markup=False)

    def _warn(self, text: str) -> None:
        self.command.notes.print(text, style="yellow", markup=False)


def _shortened(text: str, most: int = 60) -> str:
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


def start_menu(command: FluxCommand) -> None:
    """Sign in and show the menu; the end of the input leaves it."""
    try:
        AdminMenu(command).run()
    except (EOFError, KeyboardInterrupt):
        command.console.print("")
