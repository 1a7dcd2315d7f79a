"""Retention: which dated copies (snapshots, bundles, versions) may be deleted. Pure functions without clock and files.

Copies expire by number and age, unless they are kept by a calendar tier, by protection, or as the newest or newest
verified copy.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime, timedelta
from typing import Protocol, TypeVar

from fluxcore.errors import Invalid


class DatedCopy(Protocol):
    """A copy with a date, as retention needs it."""

    @property
    def at(self) -> datetime: ...

    @property
    def protected(self) -> bool:
        """Whether it is pinned or otherwise excluded from deletion."""
        ...

    @property
    def verified(self) -> bool:
        """Whether it is known to be complete and undamaged."""
        ...


Copy = TypeVar("Copy", bound=DatedCopy)


@dataclass(frozen=True)
class RetentionPolicy:
    """Rules for expiry; 0 means no such rule. Without any rule nothing expires."""

    keep_count: int = 0  # of more copies than this, the oldest expire
    max_age_days: float = 0.0  # older copies expire
    # Numbers of hours, days, ISO weeks and so on (UTC) whose newest copy is kept, counting only those that have one.
    hourly: int = 0
    daily: int = 0
    weekly: int = 0
    monthly: int = 0
    yearly: int = 0

    def __post_init__(self) -> None:
        for item in fields(self):
            value = getattr(self, item.name)
            if not 0 <= value < float("inf"):
                raise Invalid(f"{item.name} must be a number of at least 0.", field=item.name)


_TIERS = {"hourly": "%Y-%m-%d %H", "daily": "%Y-%m-%d", "weekly": "%G-%V", "monthly": "%Y-%m", "yearly": "%Y"}


def expired(copies: Iterable[Copy], policy: RetentionPolicy, now: datetime) -> list[Copy]:
    """The copies that may be deleted, oldest first. Never the newest one, nor the newest that is verified."""
    newest_first = sorted(copies, key=lambda copy: copy.at, reverse=True)
    kept = _kept_by_tiers(newest_first, policy)
    kept.update(position for position, copy in enumerate(newest_first) if copy.protected)
    kept.update(_newest(newest_first))
    found = [
        copy
        for position, copy in enumerate(newest_first)
        if position not in kept and _is_expired(position, copy.at, policy, now)
    ]
    return found[::-1]


def _is_expired(position: int, at: datetime, policy: RetentionPolicy, now: datetime) -> bool:
    too_many = bool(policy.keep_count) and position >= policy.keep_count
    too_old = bool(policy.max_age_days) and now - at > timedelta(days=policy.max_age_days)
    return too_many or too_old


def _newest(newest_first: Sequence[DatedCopy]) -> set[int]:
    """Positions of the newest copy and of the newest verified one."""
    verified = [position for position, copy in enumerate(newest_first) if copy.verified]
    return {0, *verified[:1]}


def _kept_by_tiers(newest_first: Sequence[DatedCopy], policy: RetentionPolicy) -> set[int]:
    kept: set[int] = set()
    for tier, calendar in _TIERS.items():
        newest: dict[str, int] = {}
        for position, copy in enumerate(newest_first):
            newest.setdefault(copy.at.astimezone(UTC).strftime(calendar), position)
        kept.update(list(newest.values())[: getattr(policy, tier)])
    return kept
