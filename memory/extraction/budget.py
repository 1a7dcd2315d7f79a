"""Daily model budget of a space, and the share of it that one agent may use.

Counted in the database before a call is made, so never exceeded. All of it runs inside writes of the space, which
take turns.
"""

from __future__ import annotations

from datetime import date
from math import ceil

from django.db.models import F

from accounts.models import Agent
from fluxcore import clock, config
from memory.extraction.models import AgentSpend, ModelSpend

_AGENT = "agent:"


def reserve_call(space: int, tokens: int, who: str = "") -> date | None:
    """Reserve a call at its highest cost, inside a write; returns its day, or None if the budget does not allow it."""
    settings, day = config.current(), clock.now().date()
    if not fits_share(space, tokens, who):
        return None
    ModelSpend.objects.get_or_create(space_id=space, day=day)
    left = ModelSpend.objects.filter(
        space=space, day=day, calls__lt=settings.LLM_CALLS_PER_DAY, tokens__lte=settings.LLM_TOKENS_PER_DAY - tokens
    )
    if not left.update(calls=F("calls") + 1, tokens=F("tokens") + tokens):
        return None
    if who.startswith(_AGENT):
        AgentSpend.objects.get_or_create(space_id=space, day=day, who=who)
        own = AgentSpend.objects.filter(space=space, day=day, who=who)
        own.update(calls=F("calls") + 1, tokens=F("tokens") + tokens)
    return day


def settle_call(space: int, day: date, *, taken: int, spent: int | None, failed: bool = False, who: str = "") -> None:
    """Correct a reservation to the real cost; without one from the server the reserved cost is kept."""
    more = (spent - taken) if spent is not None else 0
    ModelSpend.objects.filter(space=space, day=day).update(tokens=F("tokens") + more, failed=F("failed") + int(failed))
    if more:
        AgentSpend.objects.filter(space=space, day=day, who=who).update(tokens=F("tokens") + more)


def share(space: int) -> tuple[int, int]:
    """Calls and tokens that one agent may use per day: all if the space has no other agent."""
    settings = config.current()
    several = Agent.objects.filter(space=space, active=True).count() > 1
    part = settings.LLM_AGENT_SHARE if several else 1.0
    return ceil(settings.LLM_CALLS_PER_DAY * part), ceil(settings.LLM_TOKENS_PER_DAY * part)


def fits_share(space: int, tokens: int, who: str) -> bool:
    """Whether a call is within the share of its caller. People and the shell may use the budget of the space."""
    if not who.startswith(_AGENT):
        return True
    calls, most = share(space)
    own = AgentSpend.objects.filter(space=space, day=clock.now().date(), who=who).first()
    return (own.calls if own else 0) < calls and (own.tokens if own else 0) + tokens <= most


def spent(space: int | None = None) -> list[ModelSpend]:
    """Model use of today, by space."""
    found = ModelSpend.objects.filter(day=clock.now().date())
    return list(found.order_by("space") if space is None else found.filter(space=space))


def spent_by_agents(space: int | None = None) -> list[AgentSpend]:
    """Model use of today, by agent."""
    found = AgentSpend.objects.filter(day=clock.now().date()).order_by("space", "who")
    return list(found if space is None else found.filter(space=space))


def is_spent(one: ModelSpend) -> bool:
    """Whether the rest of today's budget allows no call at all."""
    settings = config.current()
    return one.calls >= settings.LLM_CALLS_PER_DAY or one.tokens >= settings.LLM_TOKENS_PER_DAY


def share_is_spent(one: AgentSpend) -> bool:
    calls, tokens = share(one.space_id)
    return one.calls >= calls or one.tokens >= tokens
