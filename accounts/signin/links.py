"""One-time links: what lets somebody in who cannot sign in yet, or not any more."""

from __future__ import annotations

import secrets
from datetime import timedelta
from typing import Any

from django.db.models import Q, QuerySet

from accounts import roles
from accounts.capabilities import parsed
from accounts.models import Enrolment, User
from accounts.principals import INSTANCE_CHAIN, Principal
from accounts.tokens import digest
from accounts.verbs import Change, RunningCall, verb
from fluxcore import clock
from fluxcore.errors import NotFound

VALID = {
    Enrolment.Purpose.FIRST: timedelta(hours=24),
    Enrolment.Purpose.ACCOUNT: timedelta(hours=72),
    Enrolment.Purpose.FACTOR: timedelta(hours=24),
    Enrolment.Purpose.UNLOCK: timedelta(minutes=15),
}
MAX_WRONG = 10  # codes and passwords; then the link ends, and whoever mistypes this often asks for a new one
CLOSED = "This link has been used or has expired. Ask whoever sent it for a new one."


def issue(secret: str, purpose: Enrolment.Purpose, *, user: User | None = None) -> None:
    """A new link, inside a write; an earlier one that it takes the place of ends."""
    moment = clock.now()
    # Unlocking a name leaves an invitation or a new second factor as it is, and the other way round.
    unlocking = Q(purpose=Enrolment.Purpose.UNLOCK)
    same = unlocking if purpose == Enrolment.Purpose.UNLOCK else ~unlocking
    Enrolment.objects.filter(same, used_at=None, user=user).delete()
    Enrolment.objects.create(
        digest=digest(secret), purpose=purpose, user=user, created_at=moment, expires_at=moment + VALID[purpose]
    )


@verb("people.issue_enrolment", needs="instance.manage", secret=True)
def issue_enrolment(call: RunningCall) -> Change:
    """A new one-time link for the first administrator."""
    secret = secrets.token_urlsafe(24)

    def change() -> dict[str, Any]:
        issue(secret, Enrolment.Purpose.FIRST)
        call.record("enrolment")
        return {"secret": secret}

    return change


def still_open() -> QuerySet[Enrolment]:
    return Enrolment.objects.filter(used_at=None, expires_at__gt=clock.now(), wrong_codes__lt=MAX_WRONG).filter(
        Q(user=None) | Q(user__is_active=True)
    )


def find(secret: str) -> Enrolment:
    """The open link of that secret. One answer for links that are used, expired, worn out or never existed."""
    link = still_open().select_related("user").filter(digest=digest(secret)).first()
    if link is None or (link.purpose == Enrolment.Purpose.FIRST and roles.has_administrator()):
        raise NotFound(CLOSED)
    return link


def link_principal(link: Enrolment) -> Principal:
    """Who comes with a one-time link: nobody yet, allowed one thing, and only while the link is open."""
    return Principal(
        kind="enrolment",
        name=str(link.pk),
        space=None,
        chain=INSTANCE_CHAIN,
        capabilities=parsed(()),
        ceiling="external_source",
        enrolment=link.pk,
    )


def is_unlock_link(link: int, username: str) -> bool:
    """Whether an unlock link is this person's and still open."""
    return still_open().filter(pk=link, purpose=Enrolment.Purpose.UNLOCK, user__username=username).exists()
