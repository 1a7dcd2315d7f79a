"""Enrolment with a one-time link: choosing a password and a second factor, confirmed by its first code."""

from __future__ import annotations

from typing import Any

from django.db.models import F

from accounts import audit, people, roles
from accounts.models import Enrolment, User
from accounts.signin import links, lockout, second_factors
from accounts.signin.passwords import matches
from accounts.verbs import Change, RunningCall, verb
from fluxcore import clock
from fluxcore.errors import Invalid, NotFound
from fluxcore.writes import booth


@verb("people.enrol", needs="people.enrol", secret=True)
def enrol(call: RunningCall, *, username: str, password: str, totp_key: str, code: str) -> Change:
    """Use the caller's link: account, second factor and the end of the link are written in one commit."""
    link = links.still_open().select_related("user").filter(pk=call.principal.enrolment or 0).first()
    if link is None:
        raise NotFound(links.CLOSED)
    person, key = link.user, bytes.fromhex(totp_key)
    username = person.username if person is not None else User.normalize_username(username)
    keeps_password = link.purpose == Enrolment.Purpose.FACTOR
    if keeps_password:
        # Counted before the check, as at sign-in, so that concurrent attempts cannot exceed the limit.
        key_of_link = lockout.link_key(link.pk)
        if booth.write(lambda: lockout.count_guess(key_of_link, lockout.PASSWORD)):
            raise NotFound(links.CLOSED)
        if person is None or not matches(password, person.password):
            _count_wrong(call, link)
            raise Invalid("That is not the password of this account.", field="password")
        booth.write(lambda: lockout.uncount_guess(key_of_link))
        password_hash = person.password
    else:
        password_hash = people.checked_hash(username, password)
    step = second_factors.step_of(key, code)
    if step is None:
        _count_wrong(call, link)
        raise Invalid("That code does not match. Enter the one your app shows now.", field="code")

    def change() -> dict[str, Any]:
        # Checked again under the write lock, so that two people with one link create one account.
        if not links.still_open().filter(pk=link.pk).update(used_at=clock.now()):
            raise NotFound(links.CLOSED)
        if person is None:
            if roles.has_administrator():
                raise NotFound(links.CLOSED)
            user = people.save_person(username, password_hash, administrator=True)
        else:
            user = person
            if not keeps_password:
                User.objects.filter(pk=user.pk).update(password=password_hash)
        # The code is used up and cannot also be used to sign in.
        second_factors.install(user.pk, key, spent=step)
        codes = second_factors.new_backup_codes(user.pk)
        call.record(f"user:{username}", purpose=link.purpose, second_factor=True)
        return {"username": username, "user": user.pk, "backup_codes": codes}

    return change


def _count_wrong(call: RunningCall, link: Enrolment) -> None:
    """Count a wrong password or code in a separate write, which is kept when the attempt is refused."""

    def change() -> int:
        if not links.still_open().filter(pk=link.pk).update(wrong_codes=F("wrong_codes") + 1):
            raise NotFound(links.CLOSED)
        count = Enrolment.objects.values_list("wrong_codes", flat=True).get(pk=link.pk)
        audit.record(call.principal, call.verb, "enrolment", outcome="refused", details={"wrong_codes": count})
        return count

    if booth.write(change) >= links.MAX_WRONG:
        raise NotFound(links.CLOSED)
