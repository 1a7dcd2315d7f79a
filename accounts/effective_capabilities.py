"""Effective capabilities of an agent: its own and its active grants, limited by its trust level and its parent.

They are computed for every request, so that a revoked or expired grant, a lower trust level and fewer capabilities of
the parent take effect with the next request in every process. Only parsed sets are cached, by value.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from django.db import connection
from django.db.models import Q, QuerySet

from accounts import trust
from accounts.capabilities import Capabilities, parsed
from accounts.models import Agent, Grant
from fluxcore import clock
from fluxcore.errors import AboveParent
from fluxcore.raw_sql import adapt_moment

MAX_ANCESTORS = 4
Layers = tuple[tuple[str, ...], ...]

# SQL join of the active grants of agent `a` at a given time.
OPEN_GRANTS = (
    f"LEFT JOIN {Grant._meta.db_table} g ON g.agent_id = a.id AND g.revoked_at IS NULL "
    "AND (g.expires_at IS NULL OR g.expires_at > %s)"
)
_ANCESTOR = (
    "SELECT a.capabilities, a.trust, a.active, a.parent_id, g.capability "  # noqa: S608
    f"FROM {Agent._meta.db_table} a {OPEN_GRANTS} WHERE a.id = %s"
)


def layers(capabilities: Any, granted: Iterable[str | None], level: str) -> Layers:
    """Layers of one agent: its capabilities with its grants, and those its trust level allows."""
    texts: list[str] = json.loads(capabilities) if isinstance(capabilities, str) else capabilities
    return (*texts, *(text for text in granted if text is not None)), trust.LAYERS[level]


def ancestor_layers(parent: int | None, now: datetime) -> Layers | None:
    """Layers of all ancestors, one statement each; None if one is suspended or there are too many."""
    found: Layers = ()
    for _ in range(MAX_ANCESTORS):
        if parent is None:
            return found
        with connection.cursor() as cursor:
            cursor.execute(_ANCESTOR, [adapt_moment(now), parent])
            rows = cursor.fetchall()
        if not rows or not rows[0][2]:
            return None
        capabilities, level, _, parent, _ = rows[0]
        found += layers(capabilities, [row[4] for row in rows], level)
    return found if parent is None else None


def combine_layers(own: Layers, over: Layers) -> Capabilities:
    return parsed(own[0], own[1:] + over)


def capabilities_of(agent: Agent) -> Capabilities:
    """The effective capabilities of an agent now; none if it or an ancestor is suspended."""
    return capabilities_with(agent, agent.capabilities) if agent.active else parsed(())


def capabilities_with(agent: Agent, capabilities: list[str]) -> Capabilities:
    """What the effective capabilities would be if these were its own; none if an ancestor is suspended."""
    now = clock.now()
    over = ancestor_layers(agent.parent_id, now)
    if over is None:
        return parsed(())
    granted = open_grants(now).filter(agent=agent).values_list("capability", flat=True)
    return combine_layers(layers(capabilities, granted, agent.trust), over)


def open_grants(now: datetime | None = None) -> QuerySet[Grant]:
    """Active grants: neither revoked nor expired."""
    return Grant.objects.filter(Q(expires_at=None) | Q(expires_at__gt=now or clock.now()), revoked_at=None)


def count_ancestors(agent: Agent) -> int:
    """Number of ancestors of an agent."""
    count = 0
    while agent.parent is not None and count <= MAX_ANCESTORS:
        agent, count = agent.parent, count + 1
    return count


def check(level: str, parent: Agent | None, capabilities: list[str]) -> None:
    """Refuse capabilities above the trust level, or that the parent lacks."""
    trust.check(level, capabilities)
    if parent is not None:
        held = capabilities_of(parent)
        for capability in capabilities:
            if not held.covers(capability):
                raise AboveParent(
                    f"capability escalation denied: its parent {parent.name} does not have {capability}.",
                    capability=capability,
                    parent=parent.name,
                )
