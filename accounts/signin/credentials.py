"""Credential checks of sign-in: a password, then a code.

Checked attempts of existing users are audit entries, other attempts are counted by source. Answers do not show which
accounts exist.
"""

from __future__ import annotations

from accounts import anonymous_refusals, audit
from accounts.capabilities import parsed
from accounts.models import Enrolment, User
from accounts.principals import INSTANCE_CHAIN, Principal
from accounts.signin import links, lockout, second_factors
from accounts.signin.passwords import check_attempt
from fluxcore.errors import Busy, RateLimited, SignInRefused
from fluxcore.writes import booth, limit_messages

_WRONG = "The user name or the password is wrong."
_WRONG_CODE = "That code does not match. Enter the one your app shows now."
_USED_CODE = "That code has been used. Wait for the next one: your app shows it within 30 seconds."


def check_password(username: str, password: str, *, source: str, link: int | None = None) -> User:
    """Check the password, the first step of sign-in. Attempts with an unlock link are counted separately."""
    username = User.normalize_username(username)
    key = lockout.link_key(link) if link and links.is_unlock_link(link, username) else lockout.password_key(username)
    wait = booth.write(lambda: lockout.count_guess(key, lockout.PASSWORD))
    if wait:
        anonymous_refusals.count_refusal(source)
        raise limit_messages.name_locked(limit=lockout.PASSWORD.count, per_day=lockout.PASSWORD.per_day, wait=wait)
    user = User.objects.filter(username=username).first()
    usable = user is not None and user.is_active and user.has_usable_password()
    try:
        right = check_attempt(
            password, user.password if user is not None and usable else None, source=source, name=username
        )
    except Busy:
        booth.write(lambda: lockout.uncount_guess(key))  # the password was not checked
        raise
    except RateLimited:
        _refused(source, user, "password")
        raise
    if user is None or not right:
        _refused(source, user, "password")
        raise SignInRefused(_WRONG)
    booth.write(lambda: lockout.uncount_guess(key))
    return user


def check_code(user: User, code: str, *, source: str, action: str = "sign_in", link: int | None = None) -> str:
    """Check and use up a code, at sign-in or for a step-up; returns the factor ("totp" or "backup")."""
    code = second_factors.normalise_code(code)
    if not second_factors.looks_like_a_code(code):
        # Input that cannot be a code is not counted as an attempt.
        raise SignInRefused(
            "This is not a code. A code has six digits, a backup code has 16 letters and digits.", field="code"
        )
    # Attempts with an unlock link are counted separately.
    own = link if link is not None and links.is_unlock_link(link, user.get_username()) else None
    key = lockout.link_code_key(own) if own is not None else lockout.code_key(user.pk)
    who = instance_principal(user)

    def change() -> tuple[str, float]:
        wait = lockout.count_guess(key, lockout.CODE)
        if wait:
            return "locked", wait
        result = second_factors.spend_code(user, code)
        if result != "wrong":
            # Uncount only this attempt: wrong ones by others still count. A used code is not a guess either, because
            # it was right once.
            lockout.uncount_guess(key)
        if result in ("totp", "backup"):
            if own is not None:
                Enrolment.objects.filter(pk=own).delete()
            audit.record(who, action, f"user:{user.get_username()}", details={"factor": result, "source": source})
        elif result == "wrong":
            audit.record(
                who, action, f"user:{user.get_username()}", outcome="refused", details={"why": result, "source": source}
            )
        return result, 0

    result, wait = booth.write(change)
    if result in ("locked", "used"):
        anonymous_refusals.count_refusal(
            source
        )  # their number is not limited, so that they are counted and not audit entries
    if result == "locked":
        raise limit_messages.name_locked(limit=lockout.CODE.count, per_day=lockout.CODE.per_day, wait=wait)
    if result not in ("totp", "backup"):
        raise SignInRefused(_USED_CODE if result == "used" else _WRONG_CODE, field="code")
    return result


def instance_principal(user: User) -> Principal:
    """Principal of a person for entries on the instance's chain, without a role."""
    return Principal(
        kind="user",
        name=user.get_username(),
        user=user.pk,
        space=None,
        chain=INSTANCE_CHAIN,
        capabilities=parsed(()),
        ceiling="user_stated",
    )


def _refused(source: str, user: User | None, why: str) -> None:
    """Record a failed sign-in without waiting: as an audit entry of the user, or counted by source if unknown."""
    if user is None:
        anonymous_refusals.count_refusal(source)
        return
    who = instance_principal(user)
    booth.post(
        lambda: audit.record(
            who, "sign_in", f"user:{user.get_username()}", outcome="refused", details={"why": why, "source": source}
        )
    )
