"""Which dated copies (snapshots, bundles, versions) may be deleted. A pure function: it reads no clock and no files.

Count and age say what goes; the calendar tiers, protection and the two last resorts say what stays all the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime, timedelta
from typing import Protocol, TypeVar

from fluxcore.errors import Invalid


class DatedCopy(Protocol):
    """A copy that retention looks at."""

    @property
    def at(self) -> datetime: ...

    @property
    def protected(self) -> bool:
        """Pinned, or held back from deletion."""
        ...

    @property
    def verified(self) -> bool:
        """Known to be whole."""
        ...


Copy = TypeVar("Copy", bound=DatedCopy)


@dataclass(frozen=True)
class RetentionPolicy:
    """Of each number 0 means: no such rule. Without any rule nothing expires."""

    keep_count: int = 0  # more copies than this: the oldest go
    max_age_days: float = 0.0  # older copies go
    # The newest copy of each of the last so many hours (days, ISO weeks, ...) that have one stays. Calendar of UTC.
    hourly: int = 0
    daily: int = 0
    weekly: int = 0
    monthly: int = 0
    yearly: int = 0

    def __post_init__(self) -> None:
        for item in fields(self):
            value = getattr(self, item.name)
            if not 0 <= value < float("inf"):
                raise Invalid(f"{item.name} must be a number from 0 on.", field=item.name)


_TIERS = {"hourly": "%Y-%m-%d %H", "daily": "%Y-%m-%d", "weekly": "%G-%V", "monthly": "%Y-%m", "yearly": "%Y"}


def expired(copies: Iterable[Copy], policy: RetentionPolicy, now: datetime) -> list[Copy]:
    """The copies that may be deleted, oldest first. Never the newest one, nor the newest that is verified."""
    newest_first = sorted(copies, key=lambda copy: copy.at, reverse=True)
    stays = _kept_by_tiers(newest_first, policy)
    stays.update(position for position, copy in enumerate(newest_first) if copy.protected)
    stays.update(_first(newest_first))
    found = [
        copy
        for position, copy in enumerate(newest_first)
        if position not in stays and _goes(position, copy.at, policy, now)
    ]
    return found[::-1]


def _goes(position: int, at: datetime, policy: RetentionPolicy, now: datetime) -> bool:
    too_many = bool(policy.keep_count) and position >= policy.keep_count
    too_old = bool(policy.max_age_days) and now - at > timedelta(days=policy.max_age_days)
    return too_many or too_old


def _first(newest_first: Sequence[DatedCopy]) -> set[int]:
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
