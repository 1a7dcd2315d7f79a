"""Terminal prompts for a new person: password and second factor, checked with a code of the app."""

from __future__ import annotations

import base64
import binascii
import getpass
from pathlib import Path
from typing import TYPE_CHECKING

import segno

from accounts import people
from accounts.signin import second_factors
from fluxcore.errors import Invalid

if TYPE_CHECKING:
    from memory.management.base import FluxCommand


def ask_password(command: FluxCommand, username: str, file: Path | None, *, asks: bool) -> str:
    if file is not None:
        try:
            found = file.read_text(encoding="utf-8").rstrip("\r\n")
        except (OSError, UnicodeDecodeError):
            raise Invalid(f"The password file {file} cannot be read.", field="password_file") from None
        people.check_password(username, found)
        return found
    if not asks:
        raise Invalid("The password of the administrator is missing: add --password-file FILE.", field="password_file")
    while True:
        found = getpass.getpass("Password (at least 12 characters): ")
        try:
            people.check_password(username, found)
        except Invalid as error:
            command.notes.print(f"[red]{error.message}[/]")
            continue
        if getpass.getpass("Repeat the password: ") == found:
            return found
        command.notes.print("[red]The two passwords differ.[/]")


def ask_second_factor(
    command: FluxCommand, username: str, file: Path | None, code: str | None, *, asks: bool
) -> tuple[bytes, int]:
    """Ask for the second factor; returns its key and the time step of its first code, which is used up."""
    key = _read_key(file) if file is not None else second_factors.new_key()
    if code is None:
        if not asks:
            raise Invalid(
                "The second factor cannot be set up without a terminal. Give --totp-key-file and --totp-code.",
                field="totp_code",
            )
        command.console.print("Scan this with your authenticator app:")
        segno.make(second_factors.otp_uri(key, username)).terminal(compact=True)
        command.console.print(f"or type the key: {base64.b32encode(key).decode()}")
    for _ in range(5):
        step = second_factors.step_of(
            key, second_factors.normalise_code(code if code is not None else input("First code: "))
        )
        if step is not None:
            return key, step
        if code is not None:
            break
        command.notes.print("[red]That code does not match; try the newest one.[/]")
    raise Invalid("The first code does not match the key.", field="totp_code")


def _read_key(file: Path) -> bytes:
    try:
        key = base64.b32decode(file.read_text(encoding="ascii").strip().replace(" ", ""), casefold=True)
    except (OSError, UnicodeDecodeError, binascii.Error):
        raise Invalid(f"{file} does not contain a base32 key.", field="totp_key_file") from None
    second_factors.check_key(key)
    return key
