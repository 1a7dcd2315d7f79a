"""Types of answers about the calling agent and its grant requests."""

from __future__ import annotations

from typing import TypedDict


class TokenFacts(TypedDict):
    prefix: str
    ceiling: str
    expires_at: str | None


class GrantFacts(TypedDict):
    id: str
    capability: str
    granted_at: str
    expires_at: str | None


class Me(TypedDict):
    agent: str
    space: str
    trust: str
    parent: str | None
    token: TokenFacts | None
    capabilities: list[str]
    grants: list[GrantFacts]


class AskedGrant(TypedDict):
    id: str
    agent: str
    space: str
    capability: str
    reason: str
    state: str
    asked_at: str
    answered_at: str | None
    answer: str
    grant: str | None
    expires_at: str | None


class AskedGrants(TypedDict):
    requests: list[AskedGrant]
    count: int
