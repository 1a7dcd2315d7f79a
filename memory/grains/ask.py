"""What a caller asks of its memory, checked: the words, how many answers, and within which bounds."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from accounts import origins
from fluxcore import clock, config
from fluxcore.errors import Invalid
from memory.grains import items, texts
from memory.grains.models import Grain

_STATUSES = tuple(Grain.Status.values)
MAX_K = 100
MAX_VALUES = 50  # tags, sessions or statuses one question may name
FIELDS = (
    "query", "k", "min_score", "as_of", "tags", "sessions", "since", "until", "origin_floor", "statuses", "explain",
)  # fmt: skip


@dataclass(frozen=True)
class Ask:
    """A question that may be put. Empty bounds bound nothing."""

    query: str
    k: int
    min_score: float = 0.0
    as_of: datetime | None = None  # None: now
    tags: tuple[str, ...] = ()  # all of them
    sessions: tuple[str, ...] = ()  # any of them
    since: datetime | None = None
    until: datetime | None = None
    origin_floor: str | None = None  # nothing of less authority
    statuses: tuple[str, ...] = ()  # none named: active ones, then those that have faded
    explain: bool = False

    def bounds(self) -> dict[str, Any]:
        """What was asked for beyond the words, for the trace."""
        said = {
            "as_of": clock.rfc3339(self.as_of),
            "since": clock.rfc3339(self.since),
            "until": clock.rfc3339(self.until),
            "tags": list(self.tags),
            "sessions": list(self.sessions),
            "origin_floor": self.origin_floor,
            "statuses": list(self.statuses),
            "min_score": self.min_score,
        }
        return {name: value for name, value in said.items() if value}


def checked(given: dict[str, Any]) -> Ask:
    """The question, or a refusal that names the field."""
    since, until = _moment(given, "since"), _moment(given, "until")
    if since is not None and until is not None and since >= until:
        raise Invalid("since must lie before until.", field="since")
    return Ask(
        query=texts.check_text(given.get("query"), name="query"),
        k=_whole(given, "k", default=config.current().TOP_K, low=1, high=MAX_K),
        min_score=_share(given, "min_score"),
        as_of=_moment(given, "as_of"),
        tags=_names(given, "tags", items.MAX_TAG),
        sessions=_names(given, "sessions", items.MAX_NAME),
        since=since,
        until=until,
        origin_floor=_one_of(given, "origin_floor", origins.AUTHORITY),
        statuses=_some_of(given, "statuses", _STATUSES),
        explain=_yes_or_no(given, "explain"),
    )


def _whole(given: dict[str, Any], name: str, *, default: int, low: int, high: int) -> int:
    value = given.get(name)
    if value is None:
        return default
    if type(value) is not int or not low <= value <= high:
        raise Invalid(f"{name} is a whole number from {low} to {high}.", field=name)
    return value


def _share(given: dict[str, Any], name: str) -> float:
    value = given.get(name)
    if value is None:
        return 0.0
    if type(value) not in (int, float) or not 0 <= value <= 1:
        raise Invalid(f"{name} is a number from 0 to 1.", field=name)
    return float(value)


def _yes_or_no(given: dict[str, Any], name: str) -> bool:
    value = given.get(name, False)
    if value is None:
        return False
    if not isinstance(value, bool):
        raise Invalid(f"{name} is true or false.", field=name)
    return value


def _moment(given: dict[str, Any], name: str) -> datetime | None:
    return None if given.get(name) is None else items.moment(given[name], name=name)


def _names(given: dict[str, Any], name: str, longest: int) -> tuple[str, ...]:
    value = given.get(name)
    if value is None:
        return ()
    if not isinstance(value, list) or len(value) > MAX_VALUES:
        raise Invalid(f"{name} is a list of at most {MAX_VALUES} texts.", field=name)
    return tuple(items.visible(one, name=name, longest=longest) for one in value)


def _one_of(given: dict[str, Any], name: str, allowed: tuple[str, ...]) -> str | None:
    value = given.get(name)
    if value is not None and value not in allowed:
        raise Invalid(f"{name} must be one of {', '.join(allowed)}.", field=name)
    return value


def _some_of(given: dict[str, Any], name: str, allowed: tuple[str, ...]) -> tuple[str, ...]:
    value = given.get(name)
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(one, str) and one in allowed for one in value):
        raise Invalid(f"{name} is a list of {', '.join(allowed)}.", field=name)
    return tuple(dict.fromkeys(value))
