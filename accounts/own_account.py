"""Verbs of people on their own account: password, second factor, sessions."""

from __future__ import annotations

import re
from typing import Any

from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError

from accounts.models import Session, User
from accounts.principals import INSTANCE_CHAIN
from accounts.signin import second_factors, sessions
from accounts.signin.passwords import hash_password
from accounts.verbs import Change, RunningCall, verb
from fluxcore.errors import Invalid, NotFound

_DIGEST = re.compile(r"[0-9a-f]{64}")


def _me(call: RunningCall) -> User:
    user = User.objects.filter(pk=call.principal.user or 0, is_active=True).first()
    if user is None:
        raise NotFound("This is only for a person who has signed in.")
    return user


@verb("own.sign_out", needs="own.sessions")
def sign_out(call: RunningCall) -> Change:
    """End all own sessions, on every device."""
    me = _me(call)

    def change() -> dict[str, Any]:
        ended = sessions.end_sessions(user=me.pk)
        call.record(f"user:{me.username}", chain=INSTANCE_CHAIN, sessions=ended)
        return {"ended": ended}

    return change


@verb("own.end_session", needs="own.sessions")
def end_session(call: RunningCall, *, session: str) -> Change:
    """End one own session, named by its digest."""
    me = _me(call)
    if not _DIGEST.fullmatch(session):
        raise NotFound("That session has ended already.")

    def change() -> dict[str, Any]:
        ended, _ = Session.objects.filter(user=me, session_key=session).delete()
        if not ended:
            raise NotFound("That session has ended already.")
        call.record(f"user:{me.username}", chain=INSTANCE_CHAIN, session=session[:12])
        return {"ended": ended}

    return change


@verb("own.change_password", needs="own.secrets", secret=True)
def change_password(call: RunningCall, *, password: str) -> Change:
    """Set a new password and end all sessions, also the current one."""
    me = _me(call)
    try:
        validate_password(password, me)
    except ValidationError as error:
        raise Invalid(" ".join(error.messages), field="password") from None
    password_hash = hash_password(password)

    def change() -> dict[str, Any]:
        User.objects.filter(pk=me.pk).update(password=password_hash)
        ended = sessions.end_sessions(user=me.pk)
        call.record(f"user:{me.username}", chain=INSTANCE_CHAIN, sessions=ended)
        return {"ended": ended}

    return change


@verb("own.new_backup_codes", needs="own.secrets", secret=True)
def new_backup_codes(call: RunningCall) -> Change:
    me = _me(call)

    def change() -> dict[str, Any]:
        codes = second_factors.new_backup_codes(me.pk)
        call.record(f"user:{me.username}", chain=INSTANCE_CHAIN, codes=len(codes))
        return {"backup_codes": codes}

    return change


@verb("own.replace_authenticator", needs="own.secrets", secret=True)
def replace_authenticator(call: RunningCall, *, totp_key: str, code: str) -> Change:
    """Replace the authenticator app. A code of the new one must prove that it works."""
    me, key = _me(call), bytes.fromhex(totp_key)
    step = second_factors.step_of(key, code)
    if step is None:
        raise Invalid("That code does not match. Enter the one the new app shows now.", field="code")

    def change() -> dict[str, Any]:
        second_factors.install(me.pk, key, spent=step)
        ended = sessions.end_sessions(user=me.pk)
        call.record(f"user:{me.username}", chain=INSTANCE_CHAIN, sessions=ended)
        return {"username": me.username}

    return change
