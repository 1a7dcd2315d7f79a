"""Activity of agents in a space, from sums by the hour and counts of the minute, never from texts or queries.

A few statements, whatever the number of agents and the length of their history.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import Count, F, Max, Q

from accounts import effective_capabilities
from accounts.models import Agent
from accounts.principals import Principal
from accounts.verbs import selector
from fluxcore import clock, config
from fluxcore.writes import limits
from fluxcore.writes.limit_windows import LimitUse
from memory.extraction import budget
from memory.extraction import mode as model
from memory.grains import store
from memory.health import usage
from memory.health.event_sums import hour_of
from memory.health.models import HourlySum

HOURS = 24
MOST = 100  # agents on one page, the most recently active ones
NOTHING_USED = LimitUse(0, 0)
_COUNTED = ("stores", "stated", "answered", "judged")


@dataclass(frozen=True)
class LimitShare:
    """Used share of a limit, of a rate or a quota."""

    what: str
    used: int
    limit: int
    in_bytes: bool = False

    @property
    def used_says(self) -> str:
        return usage.format_bytes(self.used) if self.in_bytes else f"{self.used:,}"

    @property
    def limit_says(self) -> str:
        return usage.format_bytes(self.limit) if self.in_bytes else f"{self.limit:,}"

    @property
    def percent(self) -> int:
        return min(100, round(100 * self.used / max(self.limit, 1)))


@dataclass(frozen=True)
class AgentActivity:
    """Recent activity of one agent."""

    number: int
    uuid: UUID
    name: str
    trust: str
    active: bool
    parent: str | None
    capabilities: tuple[str, ...]  # its own and granted, cut to its trust; a parent may cut them further
    tokens: int  # number of valid tokens
    last_seen: datetime | None
    totals: dict[str, int]  # sums of the last day
    hours: tuple[tuple[int, int], ...]  # stores and answers, the oldest hour first
    shares: tuple[LimitShare, ...]  # used shares of rate limits
    quotas: tuple[LimitShare, ...]  # used shares of storage quotas and the daily model budget


@selector("agents.activity", needs="accounts.read")
def activity(principal: Principal) -> list[AgentActivity]:
    """Agents of the space, most recently active first."""
    now = clock.now()
    usable = Q(tokens__revoked_at=None) & (Q(tokens__expires_at=None) | Q(tokens__expires_at__gt=now))
    agents = list(
        Agent.objects.filter(space=principal.space)
        .select_related("parent")
        .annotate(last=Max("tokens__last_used_at"), usable=Count("tokens", filter=usable & Q(tokens__pk__isnull=False)))
        .order_by(F("last").desc(nulls_last=True), "name")[:MOST]
    )
    granted: dict[int, list[str]] = defaultdict(list)
    for agent, capability in (
        effective_capabilities.open_grants(now).filter(agent__in=agents).values_list("agent", "capability")
    ):
        granted[agent].append(capability)
    sums, last = _sums(principal.space or 0, hour_of(now.timestamp()))
    used = limits.read_use([f"{what}:{agent.pk}" for agent in agents for what in ("grains", "votes")])
    space = principal.space or 0
    stored, budgeted = usage.quota_use(space), budget.share(space) if model.on() else None
    return [
        _caller(
            agent,
            granted[agent.pk],
            sums.get(f"agent:{agent.name}", {}),
            last,
            used,
            quota_shares(stored.get((space, agent.name), usage.QuotaUse()), budgeted),
        )
        for agent in agents
    ]


def quota_shares(own: usage.QuotaUse, budgeted: tuple[int, int] | None) -> tuple[LimitShare, ...]:
    """Used share of each quota of an agent; `budgeted` are its model calls and tokens of a day, if a model is used."""
    settings = config.current()
    found = [
        LimitShare("memories", own.grains, settings.MAX_GRAINS_PER_AGENT),
        LimitShare("size of memories", own.grain_bytes, settings.MAX_BYTES_PER_AGENT, in_bytes=True),
        LimitShare("keys with history", own.key_bytes, settings.MAX_KV_BYTES, in_bytes=True),
        LimitShare("boards", own.boards, settings.MAX_BOARDS_PER_AGENT),
    ]
    if budgeted is not None:
        found += [
            LimitShare("model calls today", own.model_calls, budgeted[0]),
            LimitShare("model tokens today", own.model_tokens, budgeted[1]),
        ]
    return tuple(found)


def _sums(space: int, hour: int) -> tuple[dict[str, dict[tuple[str, int], float]], int]:
    """Sums of each caller in each of the last hours, the current one included."""
    found: dict[str, dict[tuple[str, int], float]] = defaultdict(dict)
    rows = HourlySum.objects.filter(space=space, hour__gt=hour - HOURS, name__in=_COUNTED).exclude(who="")
    for who, name, at, value in rows.values_list("who", "name", "hour", "value"):
        found[who][name, at] = value
    return found, hour


def _caller(
    agent: Agent,
    granted: list[str],
    sums: dict[tuple[str, int], float],
    hour: int,
    used: dict[str, LimitUse],
    quotas: tuple[LimitShare, ...],
) -> AgentActivity:
    settings, grains = config.current(), used.get(f"grains:{agent.pk}", NOTHING_USED)
    totals = {name: int(sum(value for (one, _), value in sums.items() if one == name)) for name in _COUNTED}
    held = effective_capabilities.combine_layers(
        effective_capabilities.layers(agent.capabilities, granted, agent.trust), ()
    )
    return AgentActivity(
        number=agent.pk,
        uuid=agent.uuid,
        name=agent.name,
        trust=agent.trust,
        active=agent.active,
        parent=agent.parent.name if agent.parent else None,
        capabilities=held.texts,
        tokens=agent.usable,  # type: ignore[attr-defined]  # annotated
        last_seen=agent.last,  # type: ignore[attr-defined]  # annotated
        totals=totals,
        hours=tuple(
            (int(sums.get(("stores", at), 0)), int(sums.get(("answered", at), 0)))
            for at in range(hour - HOURS + 1, hour + 1)
        ),
        shares=(
            LimitShare("memories", grains.total, store.agent_limit()),
            LimitShare("busiest caller", grains.busiest, settings.MAX_GRAINS_PER_MINUTE),
            LimitShare("feedback", used.get(f"votes:{agent.pk}", NOTHING_USED).total, settings.MAX_VOTES_PER_MINUTE),
        ),
        quotas=quotas,
    )
