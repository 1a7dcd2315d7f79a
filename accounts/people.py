"""Administrators: a password and a second factor, made in the shell or through a one-time link."""

from __future__ import annotations

import secrets
from datetime import timedelta
from typing import Any

from django.contrib.auth.hashers import make_password
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.db.models import F, QuerySet
from django_otp.oath import TOTP
from django_otp.plugins.otp_totp.models import TOTPDevice

from accounts import audit
from accounts.capabilities import parsed
from accounts.models import Enrolment, User
from accounts.principals import INSTANCE_CHAIN, Principal
from accounts.tokens import digest
from accounts.verbs import Act, Change, verb
from fluxcore import booth, clock
from fluxcore.errors import Conflict, Invalid, NotFound

LINK_VALID = timedelta(hours=24)
MAX_WRONG_CODES = 10  # then the link ends; whoever mistypes this often starts again with a new one
MAX_PASSWORD = 1024
_CLOSED = "This link has been used or has expired. `flux_start` prints a new one."


def new_totp_key() -> bytes:
    return secrets.token_bytes(20)


def totp_matches(key: bytes, code: str) -> bool:
    """The first-code check: proves that the authenticator app holds the key before we rely on it."""
    return totp_step(key, code) is not None


def totp_step(key: bytes, code: str) -> int | None:
    """The time step a code belongs to, if it is one of now: a step before, this one, or the next."""
    clock_of_key = TOTP(key)
    if code.isdecimal() and len(code) == 6 and clock_of_key.verify(int(code), tolerance=1):
        return int(clock_of_key.t())
    return None


def totp_uri(key: bytes, username: str) -> str:
    return str(TOTPDevice(user=User(username=username), key=key.hex()).config_url)


def check_password(username: str, password: str) -> None:
    if len(password) > MAX_PASSWORD:
        raise Invalid(f"A password has at most {MAX_PASSWORD} characters.", field="password")
    try:
        validate_password(password, User(username=username))
    except ValidationError as error:
        raise Invalid(" ".join(error.messages), field="password") from None


def check_username(username: str) -> None:
    if not (1 <= len(username) <= 64 and all(character.isalnum() or character in "@.+-_" for character in username)):
        raise Invalid("A user name has 1-64 letters, digits or @.+-_", field="username")


def has_administrator() -> bool:
    return User.objects.filter(is_superuser=True, is_active=True).exists()


def _checked_hash(username: str, password: str) -> str:
    """The slow hash, made before the write that others wait for."""
    check_username(username)
    check_password(username, password)
    return make_password(password)


def _save_administrator(username: str, password_hash: str, totp_key: str | None, *, last_step: int = -1) -> None:
    try:
        with transaction.atomic():
            user = User.objects.create(username=username, password=password_hash, is_staff=True, is_superuser=True)
    except IntegrityError:
        raise Conflict(f"There is already a person named {username!r}.", field="username") from None
    if totp_key is not None:
        TOTPDevice.objects.create(user=user, name="authenticator", key=totp_key, confirmed=True, last_t=last_step)


@verb("people.create_administrator", needs="accounts.manage", secret=True)
def create_administrator(act: Act, *, username: str, password: str, totp_key: str | None = None) -> Change:
    """A person who runs the instance. Without a second factor the account cannot use the admin yet."""
    username = User.normalize_username(username)
    password_hash = _checked_hash(username, password)

    def change() -> dict[str, Any]:
        _save_administrator(username, password_hash, totp_key)
        act.record(f"user:{username}", second_factor=totp_key is not None)
        return {"username": username, "second_factor": totp_key is not None}

    return change


@verb("people.issue_enrolment", needs="accounts.manage", secret=True)
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


def _open_links() -> QuerySet[Enrolment]:
    return Enrolment.objects.filter(used_at=None, expires_at__gt=clock.now(), wrong_codes__lt=MAX_WRONG_CODES)


def holder(secret: str) -> Principal:
    """Who comes with a one-time link: nobody yet, allowed one thing, and only while the link is open."""
    link = _open_links().filter(digest=digest(secret)).first()
    if link is None or has_administrator():
        raise NotFound(_CLOSED)
    return Principal(
        kind="enrolment", name=str(link.pk), space=None, chain=INSTANCE_CHAIN, capabilities=parsed(()),
        ceiling="external_source", enrolment=link.pk,
    )  # fmt: skip


@verb("people.enrol", needs="people.enrol", secret=True)
def enrol(act: Act, *, username: str, password: str, totp_key: str, code: str) -> Change:
    """Use the caller's one-time link: the person, the second factor and the end of the link are one commit."""
    link = act.principal.enrolment
    if link is None:
        raise NotFound(_CLOSED)
    username = User.normalize_username(username)
    password_hash = _checked_hash(username, password)
    step = totp_step(bytes.fromhex(totp_key), code)
    if step is None:
        _count_wrong_code(act, link)
        raise Invalid("That code does not match. Enter the one your app shows now.", field="code")

    def change() -> dict[str, Any]:
        # The conditions once more, under the write's lock: two people with one link make one administrator.
        used = _open_links().filter(pk=link).update(used_at=clock.now())
        if not used or has_administrator():
            raise NotFound(_CLOSED)
        # The code is spent: it does not also sign in.
        _save_administrator(username, password_hash, totp_key, last_step=step)
        act.record(f"user:{username}", second_factor=True)
        return {"username": username}

    return change


def _count_wrong_code(act: Act, link: int) -> None:
    """In a write of its own, so that the count stays when the attempt is refused."""

    def change() -> int:
        if not _open_links().filter(pk=link).update(wrong_codes=F("wrong_codes") + 1):
            raise NotFound(_CLOSED)
        count = Enrolment.objects.values_list("wrong_codes", flat=True).get(pk=link)
        audit.record(act.principal, act.verb, "enrolment", outcome="refused", details={"wrong_codes": count})
        return count

    if booth.write(change) >= MAX_WRONG_CODES:
        raise NotFound(_CLOSED)
