"""Make an instance: data home, keys, configuration, database and, if wanted, its administrator."""

from __future__ import annotations

import base64
import binascii
import getpass
import sys
from pathlib import Path
from typing import Any

import segno
from django.conf import settings
from django.core.management.base import CommandParser

from accounts import people
from accounts.principals import shell
from fluxcore.errors import Conflict, Invalid
from fluxsite import running, setup
from fluxsite.home import make_home, private_file
from memory.management.base import FluxCommand

MODES = ("caller_extracts", "flux_extracts")


class Command(FluxCommand):
    help = "Make an instance. Every question has a flag; --no-input asks nothing."
    needs_instance = False
    needs_tables = False

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--mode", choices=MODES, help="who finds the features of a text (default caller_extracts)")
        parser.add_argument("--admin", help="user name of an administrator to make")
        parser.add_argument("--password-file", type=Path, help="file with the administrator's password")
        parser.add_argument("--totp", action="store_true", default=None, help="set up a second factor now")
        parser.add_argument("--no-totp", action="store_false", dest="totp", help="leave the second factor for later")
        parser.add_argument("--totp-key-file", type=Path, help="file with the second factor's key in base32")
        parser.add_argument("--totp-code", help="the first code, to prove that the key works")
        parser.add_argument("--token-file", type=Path, help="make the first agent and write its token here")
        parser.add_argument("--no-input", action="store_true", help="never ask; what has no flag takes its default")

    def run(self, options: dict[str, Any]) -> None:
        self.refuse_bad_configuration()
        self.asks = sys.stdin.isatty() and not options["no_input"]
        if options["token_file"] and not options["token_file"].absolute().parent.is_dir():
            raise Invalid(f"There is no folder for {options['token_file']}.", field="token_file")
        home = settings.HOME
        new = not home.initialised
        mode = options["mode"] or (self._ask_mode() if new and self.asks else settings.FLUX.OPERATING_MODE)
        if not new and mode != settings.FLUX.OPERATING_MODE:
            raise Conflict(f"The instance exists; change OPERATING_MODE in {home.config} instead.")
        with running.one_at_a_time(home):
            make_home(home, mode=mode)
            upgrade = setup.bring_up_to_date(home)
        self.say_upgrade(upgrade.backup)
        administrator = self._administrator(options)
        token = setup.first_token() if options["token_file"] else None
        if token is not None:
            private_file(options["token_file"], token + "\n")
        self.answer(
            {
                "name": home.name, "home": str(home.path), "new": new, "mode": mode, "administrator": administrator,
                "migrations_applied": len(upgrade.applied), "token_written": bool(token),
                "backup": str(upgrade.backup) if upgrade.backup else None,
            },
            says=f"[bold green]{'Made' if new else 'Checked'}[/] the instance {home.name} in {home.path}.\n"
            f"Next: manage.py flux_start --name {home.name}",
        )  # fmt: skip

    def _ask_mode(self) -> str:
        answer = input(f"Operating mode, {' or '.join(MODES)} [caller_extracts]: ").strip() or "caller_extracts"
        if answer not in MODES:
            raise Invalid(f"The mode is one of {', '.join(MODES)}.", field="mode")
        return answer

    def _administrator(self, options: dict[str, Any]) -> dict[str, Any] | None:
        username = options["admin"]
        if username is None and self.asks and not setup.has_administrator():
            username = input("Administrator's user name (empty: enrol later with the link of flux_start): ").strip()
        if not username:
            return None
        people.check_username(username)
        password = self._password(username, options["password_file"])
        wants = options["totp"]
        if wants is None:
            wants = options["totp_key_file"] is not None or (
                self.asks and input("Set up a second factor now? [Y/n]: ").strip().lower() in ("", "y", "yes")
            )
        key = self._second_factor(username, options) if wants else None
        made = people.create_administrator(
            shell(), username=username, password=password, totp_key=key.hex() if key else None, reason="flux_init"
        )
        return dict(made)

    def _password(self, username: str, file: Path | None) -> str:
        if file is not None:
            try:
                password = file.read_text(encoding="utf-8").rstrip("\r\n")
            except (OSError, UnicodeDecodeError):
                raise Invalid(f"The password file {file} cannot be read.", field="password_file") from None
            people.check_password(username, password)
            return password
        if not self.asks:
            raise Invalid("An administrator needs a password: --password-file FILE.", field="password_file")
        while True:
            password = getpass.getpass("Password (at least 12 characters): ")
            try:
                people.check_password(username, password)
            except Invalid as error:
                self.notes.print(f"[red]{error.message}[/]")
                continue
            if getpass.getpass("Once more: ") == password:
                return password
            self.notes.print("[red]The two differ.[/]")

    def _second_factor(self, username: str, options: dict[str, Any]) -> bytes:
        """A key the administrator's app provably holds: the first code is checked before anything is stored."""
        file = options["totp_key_file"]
        key = _read_key(file) if file is not None else people.new_totp_key()
        code = options["totp_code"]
        if code is None:
            if not self.asks:
                raise Invalid(
                    "A second factor needs --totp-key-file and --totp-code, or a terminal.", field="totp_code"
                )
            self.console.print("Scan this with your authenticator app:")
            segno.make(people.totp_uri(key, username)).terminal(compact=True)
            self.console.print(f"or type the key: {base64.b32encode(key).decode()}")
        for _ in range(5):
            given = code if code is not None else input("First code: ").strip()
            if people.totp_matches(key, given):
                return key
            if code is not None:
                break
            self.notes.print("[red]That code does not match; try the newest one.[/]")
        raise Invalid("The first code does not match the key.", field="totp_code")


def _read_key(file: Path) -> bytes:
    try:
        key = base64.b32decode(file.read_text(encoding="ascii").strip().replace(" ", ""), casefold=True)
    except (OSError, UnicodeDecodeError, binascii.Error):
        raise Invalid(f"{file} does not hold a base32 key.", field="totp_key_file") from None
    if len(key) < 16:
        raise Invalid("The key needs at least 128 bits.", field="totp_key_file")
    return key
