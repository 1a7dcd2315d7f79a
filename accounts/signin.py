"""Signing in: a password, then a code. Every result is on the chain, and nothing tells who has an account."""

from __future__ import annotations

import threading
from functools import lru_cache

from django.contrib.auth.hashers import check_password as matches
from django.contrib.auth.hashers import make_password

from accounts import audit, factors, guesses, links, refusals
from accounts.capabilities import parsed
from accounts.models import Enrolment, User
from accounts.people import MAX_PASSWORD
from accounts.principals import INSTANCE_CHAIN, Principal
from fluxcore import booth
from fluxcore.errors import Busy, NameLocked, SignInRefused

# Argon2 takes 100 MiB for each password it looks at: this many at once, the others wait.
_hashing = threading.BoundedSemaphore(2)
_WAIT_SECONDS = 20.0
_WRONG = "The user name or the password is wrong."
_WRONG_CODE = "That code does not match. Enter the one your app shows now."
_USED_CODE = "That code has been used. Wait for the next one: your app shows it within 30 seconds."


@lru_cache(maxsize=1)
def _nobody() -> str:
    """The hash looked at for names nobody has, as slow as any other."""
    return make_password("nobody has this password")


def check_password(username: str, password: str, *, source: str, link: int | None = None) -> User:
    """The first step. Whoever comes with an unlock link has guesses of their own while others use up the name's."""
    nobody = _nobody()
    username = User.normalize_username(username)
    key = guesses.link_key(link) if link and links.unlocks(link, username) else guesses.password_key(username)
    wait = booth.write(lambda: guesses.take(key, guesses.PASSWORD))
    if wait:
        _refused(source, None, "locked")
        raise _locked(wait)
    user = User.objects.filter(username=username).first()
    usable = user is not None and user.is_active and user.has_usable_password()
    right = _matches(password, user.password if user is not None and usable else nobody)
    if user is None or not usable or not right:
        _refused(source, user, "password")
        raise SignInRefused(_WRONG)
    booth.write(lambda: guesses.give_back(key))
    return user


def _matches(password: str, password_hash: str) -> bool:
    if not _hashing.acquire(timeout=_WAIT_SECONDS):
        raise Busy("Too many people sign in at this moment. Try again in a minute.", retry_after=30)
    try:
        return len(password) <= MAX_PASSWORD and matches(password, password_hash)
    finally:
        _hashing.release()


def check_code(user: User, code: str, *, source: str, action: str = "sign_in", link: int | None = None) -> str:
    """The second step, and the fresh code of a step-up: spends the code or refuses. Answers which factor it was."""
    code = factors.tidy(code)
    if not factors.looks_like_a_code(code):
        # A slip of the finger is no guess.
        raise SignInRefused("A code has six digits, a backup code 16 letters and digits.", field="code")
    key = guesses.code_key(user.pk)
    who = known(user)

    def change() -> tuple[str, float]:
        wait = guesses.take(key, guesses.CODE)
        if wait:
            return "locked", wait
        result = factors.spend(user, code)
        if result == "used":
            guesses.give_back(key)  # it was right once: nobody learns anything from it
        if result in ("totp", "backup"):
            guesses.clear(key, guesses.password_key(user.get_username()))
            if link is not None:
                Enrolment.objects.filter(pk=link, user=user).delete()
            audit.record(who, action, f"user:{user.get_username()}", details={"factor": result, "source": source})
        else:
            audit.record(
                who, action, f"user:{user.get_username()}", outcome="refused", details={"why": result, "source": source}
            )
        return result, 0

    result, wait = booth.write(change)
    if result == "locked":
        _refused(source, None, "locked")
        raise _locked(wait)
    if result not in ("totp", "backup"):
        raise SignInRefused(_USED_CODE if result == "used" else _WRONG_CODE, field="code")
    return result


def known(user: User) -> Principal:
    """A person on the instance's chain, whatever they may do elsewhere."""
    return Principal(
        kind="user", name=user.get_username(), user=user.pk, space=None, chain=INSTANCE_CHAIN,
        capabilities=parsed(()), ceiling="user_stated",
    )  # fmt: skip


def _locked(wait: float) -> NameLocked:
    minutes = max(1, round(wait / 60))
    return NameLocked(
        f"Too many wrong guesses: nothing is looked at for {minutes} more minute{'s' if minutes > 1 else ''}. "
        "Whoever runs this machine can lift that: flux_admin unlock.",
        retry_after=wait,
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
