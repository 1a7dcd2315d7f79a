"""Who stores and asks in a space: from sums by the hour and counts of the minute, never from what was stored or asked.

A few statements whatever the number of agents and the length of their past.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import Count, F, Max, Q

from accounts import holdings
from accounts.models import Agent
from accounts.principals import Principal
from accounts.verbs import selector
from fluxcore import clock, config, limits
from memory.grains import store
from memory.health.models import Tally
from memory.health.sheet import hour_of

HOURS = 24
MOST = 100  # agents on one page, those that called last
NOTHING = limits.Used(0, 0)
_COUNTED = ("stores", "stated", "answered", "judged")


@dataclass(frozen=True)
class Share:
    """How much of a limit the last minute has used."""

    what: str
    used: int
    limit: int

    @property
    def percent(self) -> int:
        return min(100, round(100 * self.used / self.limit))


@dataclass(frozen=True)
class Caller:
    """One agent, as what it did of late shows it."""

    number: int
    uuid: UUID
    name: str
    trust: str
    active: bool
    parent: str | None
    capabilities: tuple[str, ...]  # its own and granted, cut to its trust; a parent may cut them further
    tokens: int  # that work
    last_seen: datetime | None
    totals: dict[str, int]  # of the last day
    hours: tuple[tuple[int, int], ...]  # stores and answers, the oldest hour first
    shares: tuple[Share, ...]


@selector("agents.activity", needs="accounts.read")
def activity(principal: Principal) -> list[Caller]:
    """The agents of the space, those that called last first."""
    now = clock.now()
    usable = Q(tokens__revoked_at=None) & (Q(tokens__expires_at=None) | Q(tokens__expires_at__gt=now))
    agents = list(
        Agent.objects.filter(space=principal.space).select_related("parent")
        .annotate(last=Max("tokens__last_used_at"), usable=Count("tokens", filter=usable & Q(tokens__pk__isnull=False)))
        .order_by(F("last").desc(nulls_last=True), "name")[:MOST]
    )  # fmt: skip
    granted: dict[int, list[str]] = defaultdict(list)
    for agent, capability in holdings.open_grants(now).filter(agent__in=agents).values_list("agent", "capability"):
        granted[agent].append(capability)
    sums, last = _sums(principal.space or 0, hour_of(now.timestamp()))
    used = limits.used([f"{what}:{agent.pk}" for agent in agents for what in ("grains", "votes")])
    return [_caller(agent, granted[agent.pk], sums.get(f"agent:{agent.name}", {}), last, used) for agent in agents]


def _sums(space: int, hour: int) -> tuple[dict[str, dict[tuple[str, int], float]], int]:
    """What each caller did in each of the last hours, and the hour that is not over yet."""
    found: dict[str, dict[tuple[str, int], float]] = defaultdict(dict)
    rows = Tally.objects.filter(space=space, hour__gt=hour - HOURS, name__in=_COUNTED).exclude(who="")
    for who, name, at, value in rows.values_list("who", "name", "hour", "value"):
        found[who][name, at] = value
    return found, hour


def _caller(
    agent: Agent, granted: list[str], sums: dict[tuple[str, int], float], hour: int, used: dict[str, limits.Used]
) -> Caller:
    settings, grains = config.current(), used.get(f"grains:{agent.pk}", NOTHING)
    totals = {name: int(sum(value for (one, _), value in sums.items() if one == name)) for name in _COUNTED}
    held = holdings.together(holdings.layers(agent.capabilities, granted, agent.trust), ())
    return Caller(
        number=agent.pk, uuid=agent.uuid, name=agent.name, trust=agent.trust, active=agent.active,
        parent=agent.parent.name if agent.parent else None, capabilities=held.texts,
        tokens=agent.usable, last_seen=agent.last, totals=totals,  # type: ignore[attr-defined]  # annotated
        hours=tuple(
            (int(sums.get(("stores", at), 0)), int(sums.get(("answered", at), 0)))
            for at in range(hour - HOURS + 1, hour + 1)
        ),
        shares=(
            Share("grains", grains.total, store.agent_limit()),
            Share("busiest caller", grains.busiest, settings.MAX_GRAINS_PER_MINUTE),
            Share("votes", used.get(f"votes:{agent.pk}", NOTHING).total, settings.MAX_VOTES_PER_MINUTE),
        ),
    )  # fmt: skip
