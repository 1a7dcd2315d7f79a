"""What a space may spend on the model in a day: counted in the database before a call is made, so never exceeded."""

from __future__ import annotations

from datetime import date

from django.db.models import F

from fluxcore import clock, config
from memory.extraction.models import Spend


def take(space: int, tokens: int) -> date | None:
    """Count a call and the most it may cost, inside a write; the day it counts for, None if it does not fit."""
    settings, day = config.current(), clock.now().date()
    Spend.objects.get_or_create(space_id=space, day=day)
    left = Spend.objects.filter(
        space=space, day=day, calls__lt=settings.LLM_CALLS_PER_DAY, tokens__lte=settings.LLM_TOKENS_PER_DAY - tokens
    )
    return day if left.update(calls=F("calls") + 1, tokens=F("tokens") + tokens) else None


def settle(space: int, day: date, *, taken: int, spent: int | None, failed: bool = False) -> None:
    """What it did cost, where the server said so; what it could have cost stands otherwise."""
    more = (spent - taken) if spent is not None else 0
    Spend.objects.filter(space=space, day=day).update(tokens=F("tokens") + more, failed=F("failed") + int(failed))


def spent(space: int | None = None) -> list[Spend]:
    """What was spent today, by space."""
    found = Spend.objects.filter(day=clock.now().date())
    return list(found.order_by("space") if space is None else found.filter(space=space))


def is_spent(one: Spend) -> bool:
    """Whether not even a small call is left of the day."""
    settings = config.current()
    return one.calls >= settings.LLM_CALLS_PER_DAY or one.tokens >= settings.LLM_TOKENS_PER_DAY
