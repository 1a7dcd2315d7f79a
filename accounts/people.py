"""Verbs on people: create, invite, roles, suspend, reset, unlock, end sessions."""

from __future__ import annotations

import secrets
from typing import Any

from django.contrib.auth.hashers import make_password
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction

from accounts import lookalikes
from accounts.models import Enrolment, Membership, Session, User
from accounts.principals import INSTANCE_CHAIN, find_space
from accounts.signin import lockout, second_factors, sessions
from accounts.signin.links import issue
from accounts.signin.passwords import MAX_PASSWORD, hash_password
from accounts.verbs import Change, RunningCall, verb
from fluxcore import clock
from fluxcore.command_names import typed_command
from fluxcore.errors import Conflict, Forbidden, Invalid, NotFound
from fluxcore.writes import write_locks

MAX_USERNAME = 64


def check_password(username: str, password: str) -> None:
    if len(password) > MAX_PASSWORD:
        raise Invalid(f"The password is too long: at most {MAX_PASSWORD} characters.", field="password")
    try:
        validate_password(password, User(username=username))
    except ValidationError as error:
        raise Invalid(" ".join(error.messages), field="password") from None


def check_username(username: str) -> None:
    if not (
        1 <= len(username) <= MAX_USERNAME
        and all(character.isalnum() or character in "@.+-_" for character in username)
        and not lookalikes.INVISIBLE & set(username)
    ):
        raise Invalid("A user name must have 1 to 64 letters, digits or @.+-_", field="username")


def find(username: str) -> User:
    user = User.objects.filter(username=User.normalize_username(username)).first()
    if user is None:
        raise NotFound(
            f"There is no person named {username[:64]!r}. `{typed_command('flux_admin list')}` lists all people."
        )
    return user


def checked_hash(username: str, password: str) -> str:
    """Check user name and password and hash the password, which is slow, before the write."""
    check_username(username)
    check_password(username, password)
    return hash_password(password)


def save_person(username: str, password_hash: str, *, administrator: bool) -> User:
    """Create a user inside a write. A name that looks like another user's is refused."""
    # An invitation runs under the lock of its space, but user names are unique over all spaces.
    write_locks.take_locks({write_locks.INSTANCE})
    twin = lookalikes.find_lookalike(username, User.objects.values_list("username", flat=True))
    if twin is not None and twin != username:
        raise Conflict(
            f"{lookalikes.spell_out(username)} looks like {lookalikes.spell_out(twin)}, who already has an account. "
            "Choose a name that cannot be mistaken for it.",
            field="username",
        )
    try:
        with transaction.atomic():
            # Everybody may open the admin; their roles decide what they see there.
            return User.objects.create(
                username=username, password=password_hash, is_staff=True, is_superuser=administrator
            )
    except IntegrityError:
        raise Conflict(f"There is already a person named {username!r}.", field="username") from None


@verb("people.create_administrator", needs="instance.manage", secret=True)
def create_administrator(
    call: RunningCall, *, username: str, password: str, totp_key: str | None = None, spent_step: int = -1
) -> Change:
    """Create an administrator. Without a second factor the account cannot sign in yet."""
    username = User.normalize_username(username)
    password_hash = checked_hash(username, password)
    if totp_key is not None:
        second_factors.check_key(bytes.fromhex(totp_key))

    def change() -> dict[str, Any]:
        user = save_person(username, password_hash, administrator=True)
        if totp_key is not None:
            second_factors.install(user.pk, bytes.fromhex(totp_key), spent=spent_step)
        call.record(f"user:{username}", second_factor=totp_key is not None, administrator=True)
        return {"username": username, "second_factor": totp_key is not None}

    return change


@verb("people.invite", needs="people.manage", secret=True)
def invite(call: RunningCall, *, username: str, administrator: bool = False, space: str = "", role: str = "") -> Change:
    """Create an account and a one-time link for choosing its password and second factor."""
    username = User.normalize_username(username)
    check_username(username)
    if administrator and call.principal.space is not None:
        raise Forbidden("Only an administrator can create administrators.")
    if not administrator and not (space and role):
        raise Invalid("The space or the role is missing. Give both.", field="space")
    member_space = find_space(space, call.principal) if space else None
    _check_role(role, needed=member_space is not None)
    secret = secrets.token_urlsafe(24)

    def change() -> dict[str, Any]:
        user = save_person(username, make_password(None), administrator=administrator)
        if member_space is not None:
            Membership.objects.create(user=user, space=member_space, role=role, created_at=clock.now())
        issue(secret, Enrolment.Purpose.ACCOUNT, user=user)
        chain = member_space.uuid.hex if member_space is not None else INSTANCE_CHAIN
        call.record(f"user:{username}", chain=chain, administrator=administrator, space=space, role=role)
        return {"username": username, "secret": secret}

    return change


@verb("people.set_role", needs="people.manage")
def set_role(call: RunningCall, *, username: str, space: str, role: str) -> Change:
    """Set the role of a person in a space; an empty role removes them from it."""
    user, member_space = find(username), find_space(space, call.principal)
    _check_role(role, needed=False)
    if user.is_superuser and role:
        raise Conflict(
            f"{user.username} is an administrator and already has all rights in every space.", field="username"
        )

    def change() -> dict[str, Any]:
        membership = Membership.objects.filter(user=user, space=member_space)
        old_role = membership.values_list("role", flat=True).first() or ""
        if role:
            Membership.objects.update_or_create(
                user=user,
                space=member_space,
                defaults={"role": role},
                create_defaults={"role": role, "created_at": clock.now()},
            )
        else:
            membership.delete()
        call.record(f"user:{user.username}", chain=member_space.uuid.hex, before=old_role, after=role)
        return {"username": user.username, "space": member_space.name, "role": role}

    return change


def _check_role(role: str, *, needed: bool) -> None:
    if (role or needed) and role not in Membership.Role.values:
        raise Invalid(f"Unknown role. Allowed: {', '.join(Membership.Role.values)}.", field="role")


@verb("people.switch", needs="instance.manage")
def switch(call: RunningCall, *, username: str, active: bool) -> Change:
    """Suspend or reactivate a person. Their sessions end at once."""
    user = find(username)

    def change() -> dict[str, Any]:
        _keep_an_administrator(user, losing=not active)
        User.objects.filter(pk=user.pk).update(is_active=active)
        ended = sessions.end_sessions(user=user.pk)  # also when reactivated: one may have been opened meanwhile
        call.record(f"user:{user.username}", chain=INSTANCE_CHAIN, active=active, sessions=ended)
        return {"username": user.username, "active": active}

    return change


def _keep_an_administrator(user: User, *, losing: bool) -> None:
    others = User.objects.filter(is_superuser=True, is_active=True).exclude(pk=user.pk)
    if losing and user.is_superuser and not others.exists():
        raise Conflict("This is the only administrator. Create another one first.")


@verb("people.reset", needs="instance.manage", secret=True)
def reset(call: RunningCall, *, username: str, password: bool = False) -> Change:
    """Remove a person's second factor, optionally the password, and create a one-time link for new ones."""
    user = find(username)
    secret = secrets.token_urlsafe(24)
    purpose = Enrolment.Purpose.ACCOUNT if password or not user.has_usable_password() else Enrolment.Purpose.FACTOR

    def change() -> dict[str, Any]:
        second_factors.remove(user.pk)
        if password:
            User.objects.filter(pk=user.pk).update(password=make_password(None))
        ended = sessions.end_sessions(user=user.pk)
        issue(secret, purpose, user=user)
        call.record(f"user:{user.username}", chain=INSTANCE_CHAIN, password=password, sessions=ended)
        return {"username": user.username, "secret": secret}

    return change


@verb("people.unlock", needs="instance.manage", secret=True)
def unlock(call: RunningCall, *, username: str) -> Change:
    """Unlock a user name and create an unlock link, whose attempts are counted separately."""
    user = find(username)
    secret = secrets.token_urlsafe(24)

    def change() -> dict[str, Any]:
        lockout.clear_guesses(lockout.password_key(user.username), lockout.code_key(user.pk))
        issue(secret, Enrolment.Purpose.UNLOCK, user=user)
        call.record(f"user:{user.username}", chain=INSTANCE_CHAIN)
        return {"username": user.username, "secret": secret}

    return change


@verb("people.end_sessions", needs="instance.manage")
def end_sessions(call: RunningCall, *, username: str, session: str = "") -> Change:
    """End all sessions of a person, or one named by its digest."""
    user = find(username)

    def change() -> dict[str, Any]:
        if session:
            ended, _ = Session.objects.filter(user=user, session_key=session).delete()
            if not ended:
                raise NotFound("That session has ended already.")
        else:
            ended = sessions.end_sessions(user=user.pk)
        call.record(f"user:{user.username}", chain=INSTANCE_CHAIN, sessions=ended)
        return {"username": user.username, "ended": ended}

    return change
