"""Selector `agents.me`: an agent's own identity and rights."""

from __future__ import annotations

from typing import Any

from accounts import effective_capabilities
from accounts.models import Agent, Token
from accounts.principals import Principal
from accounts.verbs import selector
from fluxcore import clock
from fluxcore.errors import Unauthenticated


@selector("agents.me", needs="self.read")
def me(principal: Principal) -> dict[str, Any]:
    """The calling agent with its trust level, token, effective capabilities and grants."""
    if principal.agent is None:
        raise Unauthenticated  # only for agents; people and the shell have other pages for this
    token = None
    if principal.token is not None:
        token = Token.objects.select_related("agent__space", "agent__parent").get(pk=principal.token)
    agent = token.agent if token else Agent.objects.select_related("space", "parent").get(pk=principal.agent)
    granted = effective_capabilities.open_grants().filter(agent=agent).order_by("id")
    return {
        "agent": agent.name,
        "space": agent.space.name,
        "trust": str(agent.trust),
        "parent": agent.parent.name if agent.parent is not None else None,
        "token": _shown(token) if token is not None else None,
        "capabilities": list(principal.capabilities.texts),
        "grants": [
            {
                "id": str(grant.uuid),
                "capability": grant.capability,
                "granted_at": clock.rfc3339(grant.granted_at),
                "expires_at": clock.rfc3339(grant.expires_at),
            }
            for grant in granted
        ],
    }


def _shown(token: Token) -> dict[str, Any]:
    return {
        "prefix": f"flux_{token.prefix}",
        "ceiling": token.ceiling,
        "expires_at": clock.rfc3339(token.expires_at),
    }
