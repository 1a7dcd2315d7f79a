"""One-time links for people who cannot sign in yet, or no longer."""

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
MAX_WRONG = 10  # wrong codes and passwords after which the link ends
CLOSED = "This link has been used or has expired. Ask whoever sent it for a new one."


def issue(secret: str, purpose: Enrolment.Purpose, *, user: User | None = None) -> None:
    """Create a link, inside a write. It replaces earlier ones of the same kind."""
    moment = clock.now()
    # Unlock links and other links of a person do not replace each other.
    unlocking = Q(purpose=Enrolment.Purpose.UNLOCK)
    same = unlocking if purpose == Enrolment.Purpose.UNLOCK else ~unlocking
    Enrolment.objects.filter(same, used_at=None, user=user).delete()
    Enrolment.objects.create(
        digest=digest(secret), purpose=purpose, user=user, created_at=moment, expires_at=moment + VALID[purpose]
    )


@verb("people.issue_enrolment", needs="instance.manage", secret=True)
def issue_enrolment(call: RunningCall) -> Change:
    """Create a one-time link for the first administrator."""
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
    """The open link with that secret. The error is the same for used, expired, blocked and unknown links."""
    link = still_open().select_related("user").filter(digest=digest(secret)).first()
    if link is None or (link.purpose == Enrolment.Purpose.FIRST and roles.has_administrator()):
        raise NotFound(CLOSED)
    return link


def link_principal(link: Enrolment) -> Principal:
    """Principal of a one-time link, which may only enrol, and only while the link is open."""
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
    """Whether this is an open unlock link of that person."""
    return still_open().filter(pk=link, purpose=Enrolment.Purpose.UNLOCK, user__username=username).exists()
