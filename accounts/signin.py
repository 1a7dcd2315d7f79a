"""Signing in: a password, then a code.

Whatever was looked at is on the chain, what was not is counted by its source. Nothing tells who has an account.
"""

from __future__ import annotations

from accounts import audit, factors, guesses, links, refusals
from accounts.capabilities import parsed
from accounts.hashing import tried
from accounts.models import Enrolment, User
from accounts.principals import INSTANCE_CHAIN, Principal
from fluxcore import booth
from fluxcore.command_names import typed
from fluxcore.errors import Busy, NameLocked, RateLimited, SignInRefused

_WRONG = "The user name or the password is wrong."
_WRONG_CODE = "That code does not match. Enter the one your app shows now."
_USED_CODE = "That code has been used. Wait for the next one: your app shows it within 30 seconds."


def check_password(username: str, password: str, *, source: str, link: int | None = None) -> User:
    """The first step. Whoever comes with an unlock link has guesses of their own while others use up the name's."""
    username = User.normalize_username(username)
    key = guesses.link_key(link) if link and links.unlocks(link, username) else guesses.password_key(username)
    wait = booth.write(lambda: guesses.take(key, guesses.PASSWORD))
    if wait:
        refusals.note(source)
        raise _locked(wait, guesses.PASSWORD)
    user = User.objects.filter(username=username).first()
    usable = user is not None and user.is_active and user.has_usable_password()
    try:
        right = tried(password, user.password if user is not None and usable else None, source=source, name=username)
    except Busy:
        booth.write(lambda: guesses.give_back(key))  # nobody has looked at it
        raise
    except RateLimited:
        _refused(source, user, "password")
        raise
    if user is None or not right:
        _refused(source, user, "password")
        raise SignInRefused(_WRONG)
    booth.write(lambda: guesses.give_back(key))
    return user


def check_code(user: User, code: str, *, source: str, action: str = "sign_in", link: int | None = None) -> str:
    """The second step, and the fresh code of a step-up: spends the code or refuses. Answers which factor it was."""
    code = factors.tidy(code)
    if not factors.looks_like_a_code(code):
        # A slip of the finger is no guess.
        raise SignInRefused("A code has six digits, a backup code 16 letters and digits.", field="code")
    # Whoever comes with an unlock link has codes of their own to try, too.
    own = link if link is not None and links.unlocks(link, user.get_username()) else None
    key = guesses.link_code_key(own) if own is not None else guesses.code_key(user.pk)
    who = known(user)

    def change() -> tuple[str, float]:
        wait = guesses.take(key, guesses.CODE)
        if wait:
            return "locked", wait
        result = factors.spend(user, code)
        if result != "wrong":
            # Only this one: what others guessed at the name goes on counting against them. A code that was
            # right once teaches nobody anything either.
            guesses.give_back(key)
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
        refusals.note(source)  # without end to be had, so counted and not chained
    if result == "locked":
        raise _locked(wait, guesses.CODE)
    if result not in ("totp", "backup"):
        raise SignInRefused(_USED_CODE if result == "used" else _WRONG_CODE, field="code")
    return result


def known(user: User) -> Principal:
    """A person on the instance's chain, whatever they may do elsewhere."""
    return Principal(
        kind="user", name=user.get_username(), user=user.pk, space=None, chain=INSTANCE_CHAIN,
        capabilities=parsed(()), ceiling="user_stated",
    )  # fmt: skip


def _locked(wait: float, rule: guesses.Rule) -> NameLocked:
    minutes = max(1, round(wait / 60))
    return NameLocked(
        f"Too many wrong guesses ({rule.count} in a row, or {rule.per_day} in a day): "
        f"nothing is looked at for {minutes} more minute{'s' if minutes > 1 else ''}. "
        f"Whoever runs this machine can lift that: {typed('flux_admin unlock NAME')}.",
        retry_after=wait,
        limit=rule.count,
        per_day=rule.per_day,
    )


def _refused(source: str, user: User | None, why: str) -> None:
    """A failed sign-in of somebody we know is a link, others are counted by source. Neither keeps a caller waiting."""
    if user is None:
        refusals.note(source)
        return
    who = known(user)
    booth.post(
        lambda: audit.record(
            who, "sign_in", f"user:{user.get_username()}", outcome="refused", details={"why": why, "source": source}
        )
    )
