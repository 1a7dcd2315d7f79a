"""Administrators: a password and a second factor, made in the shell or through a one-time link."""

from __future__ import annotations

import secrets
from datetime import timedelta
from typing import Any

from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django_otp.oath import TOTP
from django_otp.plugins.otp_totp.models import TOTPDevice

from accounts.models import Enrolment, User
from accounts.tokens import digest
from accounts.verbs import Act, Change, verb
from fluxcore import clock
from fluxcore.errors import Conflict, Invalid, NotFound

LINK_VALID = timedelta(hours=24)


def new_totp_key() -> bytes:
    return secrets.token_bytes(20)


def totp_matches(key: bytes, code: str) -> bool:
    """The first-code check: proves that the authenticator app holds the key before we rely on it."""
    return code.isdecimal() and len(code) == 6 and bool(TOTP(key).verify(int(code), tolerance=1))


def totp_uri(key: bytes, username: str) -> str:
    return str(TOTPDevice(user=User(username=username), key=key.hex()).config_url)


def check_password(username: str, password: str) -> None:
    try:
        validate_password(password, User(username=username))
    except ValidationError as error:
        raise Invalid(" ".join(error.messages), field="password") from None


def check_username(username: str) -> None:
    if not (1 <= len(username) <= 64 and all(character.isalnum() or character in "@.+-_" for character in username)):
        raise Invalid("A user name has 1-64 letters, digits or @.+-_", field="username")


@verb("people.create_administrator", needs="accounts.manage")
def create_administrator(act: Act, *, username: str, password: str, totp_key: str | None = None) -> Change:
    """A person who runs the instance. Without a second factor the account cannot use the admin yet."""
    check_username(username)
    check_password(username, password)

    def change() -> dict[str, Any]:
        try:
            with transaction.atomic():
                user = User.objects.create_superuser(username=username, password=password)
        except IntegrityError:
            raise Conflict(f"There is already a person named {username!r}.") from None
        if totp_key is not None:
            TOTPDevice.objects.create(user=user, name="authenticator", key=totp_key, confirmed=True)
        act.record(f"user:{username}", second_factor=totp_key is not None)
        return {"username": username, "second_factor": totp_key is not None}

    return change


@verb("people.issue_enrolment", needs="accounts.manage")
def issue_enrolment(act: Act) -> Change:
    """A new one-time link for the first administrator; earlier unused ones end."""
    secret = secrets.token_urlsafe(24)

    def change() -> dict[str, Any]:
        moment = clock.now()
        Enrolment.objects.filter(used_at=None).delete()
        Enrolment.objects.create(digest=digest(secret), created_at=moment, expires_at=moment + LINK_VALID)
        act.record("enrolment")
        return {"secret": secret}

    return change


def open_enrolment(secret: str) -> Enrolment:
    """The enrolment behind a link, while it can be used: once, in time, and only for the first administrator."""
    found = Enrolment.objects.filter(digest=digest(secret), used_at=None, expires_at__gt=clock.now()).first()
    if found is None or User.objects.filter(is_superuser=True).exists():
        raise NotFound("This link has been used or has expired. `flux_start` prints a new one.")
    return found


@verb("people.enrol", needs="accounts.manage")
def enrol(act: Act, *, secret: str, username: str, password: str, totp_key: str, code: str) -> Change:
    """Use a one-time link: the person, the second factor and the end of the link are one commit."""
    check_username(username)
    check_password(username, password)
    if not totp_matches(bytes.fromhex(totp_key), code):
        raise Invalid("That code does not match. Scan the picture again and enter the newest code.", field="code")

    def change() -> dict[str, Any]:
        link = open_enrolment(secret)
        if not Enrolment.objects.filter(pk=link.pk, used_at=None).update(used_at=clock.now()):
            raise NotFound("This link has been used.")
        user = User.objects.create_superuser(username=username, password=password)
        TOTPDevice.objects.create(user=user, name="authenticator", key=totp_key, confirmed=True)
        act.record(f"user:{username}", second_factor=True)
        return {"username": username}

    return change
