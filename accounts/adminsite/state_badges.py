"""Badges for the current state of tokens, grants and grant requests."""

from __future__ import annotations

from datetime import timedelta

from django.utils.safestring import SafeString

from accounts.adminsite.formatting import BadgeStyle, badge
from accounts.models import Grant, GrantRequest, Token
from fluxcore import clock

ENDING_SOON = timedelta(days=7)


def token_state(row: Token) -> SafeString:
    moment = clock.now()
    if row.revoked_at is not None:
        return badge("revoked", "bad")
    if row.expires_at is not None and row.expires_at <= moment:
        return badge("expired")
    if row.expires_at is not None and row.expires_at - moment <= ENDING_SOON:
        return badge("expires soon", "warn")
    return badge("active", "good")


def grant_state(row: Grant) -> SafeString:
    if row.revoked_at is not None:
        return badge("revoked", "bad")
    if row.expires_at is not None and row.expires_at <= clock.now():
        return badge("expired")
    return badge("active", "good")


def request_state(row: GrantRequest) -> SafeString:
    moods: dict[str, BadgeStyle] = {"waiting": "warn", "accepted": "good", "declined": "bad"}
    return badge(row.state, moods[row.state])
