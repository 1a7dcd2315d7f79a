"""Validated request of a recall: query, number of results, and filters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from accounts import origins
from fluxcore import clock, config
from fluxcore.errors import Invalid
from memory.engine.kinds import KINDS, MADE_KINDS, MEMORY
from memory.grains import grain_input, texts
from memory.grains.models import Grain
from memory.grains.sizes import MAX_K as MAX_K
from memory.grains.sizes import MAX_VALUES as MAX_VALUES
from memory.grains.sizes import QUERY_BYTES as QUERY_BYTES

_STATUSES = tuple(Grain.Status.values)
FIELDS = (
    "query",
    "k",
    "min_score",
    "as_of",
    "tags",
    "sessions",
    "since",
    "until",
    "origin_floor",
    "statuses",
    "kinds",
    "explain",
)


@dataclass(frozen=True)
class RecallRequest:
    """A validated recall; empty filters do not restrict it."""

    query: str
    k: int
    min_score: float = 0.0
    as_of: datetime | None = None  # None: now
    tags: tuple[str, ...] = ()  # all of them
    sessions: tuple[str, ...] = ()  # any of them
    since: datetime | None = None
    until: datetime | None = None
    origin_floor: str | None = None  # lowest authority that is returned
    statuses: tuple[str, ...] = ()  # empty: active grains, then dormant and archived ones
    kinds: tuple[str, ...] = ()  # empty: all; with statuses, which only memories have, memories
    explain: bool = False
    truncated: bool = False  # the query was longer than QUERY_BYTES and was cut

    @property
    def with_memories(self) -> bool:
        return not self.kinds or MEMORY in self.kinds

    @property
    def made_kinds(self) -> tuple[str, ...]:
        """The kinds of made grains that are asked for. Statuses are of memories: whoever names some means these."""
        usual = () if self.statuses else MADE_KINDS
        return tuple(kind for kind in self.kinds if kind != MEMORY) if self.kinds else usual

    def bounds(self) -> dict[str, Any]:
        """The filters, for the trace."""
        filters = {
            "as_of": clock.rfc3339(self.as_of),
            "since": clock.rfc3339(self.since),
            "until": clock.rfc3339(self.until),
            "tags": list(self.tags),
            "sessions": list(self.sessions),
            "origin_floor": self.origin_floor,
            "statuses": list(self.statuses),
            "kinds": list(self.kinds),
            "min_score": self.min_score,
        }
        return {name: value for name, value in filters.items() if value}


def check_request(given: dict[str, Any]) -> RecallRequest:
    """Validate the arguments of a recall; None means not given. Raises Invalid with the name of the field."""
    checked = {
        name: _CHECKS[name](value, name) for name, value in given.items() if value is not None and name in _CHECKS
    }
    since, until = checked.get("since"), checked.get("until")
    if since is not None and until is not None and since >= until:
        raise Invalid("since must be before until.", field="since")
    checked.setdefault("k", config.current().TOP_K)
    query = _query(given.get("query"))
    return RecallRequest(query, truncated=query != given.get("query"), **checked)


def _query(given: Any) -> str:
    """The first QUERY_BYTES of a query of any length, validated; the rest is not read."""
    first = texts.check_readable(given[:QUERY_BYTES] if isinstance(given, str) else given, name="query")
    used = first.encode()[:QUERY_BYTES].decode(errors="ignore")  # a partly cut character is dropped
    return texts.check_readable(used, name="query" if used == given else f"The first {QUERY_BYTES} bytes of query")


def _whole(value: Any, name: str) -> int:
    if type(value) is not int or not 1 <= value <= MAX_K:
        raise Invalid(f"{name} must be a whole number from 1 to {MAX_K}.", field=name)
    return value


def _share(value: Any, name: str) -> float:
    if type(value) not in (int, float) or not 0 <= value <= 1:
        raise Invalid(f"{name} must be a number from 0 to 1.", field=name)
    return float(value)


def _yes_or_no(value: Any, name: str) -> bool:
    if not isinstance(value, bool):
        raise Invalid(f"{name} must be true or false.", field=name)
    return value


def _moment(value: Any, name: str) -> datetime:
    return grain_input.parse_time(value, name=name)


def _names(value: Any, name: str, *, longest: int) -> tuple[str, ...]:
    if not isinstance(value, list) or len(value) > MAX_VALUES:
        raise Invalid(f"{name} must be a list of at most {MAX_VALUES} texts.", field=name)
    return tuple(grain_input.check_visible_name(one, name=name, longest=longest) for one in value)


def _one_of(value: Any, name: str, *, allowed: tuple[str, ...]) -> Any:
    if value not in allowed:
        raise Invalid(f"{name} must be one of {', '.join(allowed)}.", field=name)
    return value


def _some_of(value: Any, name: str, *, allowed: tuple[str, ...]) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(one, str) and one in allowed for one in value):
        raise Invalid(f"{name} must be a list of {', '.join(allowed)}.", field=name)
    return tuple(dict.fromkeys(value))


_CHECKS: dict[str, Callable[[Any, str], Any]] = {
    "k": _whole,
    "min_score": _share,
    "as_of": _moment,
    "tags": partial(_names, longest=grain_input.MAX_TAG),
    "sessions": partial(_names, longest=grain_input.MAX_NAME),
    "since": _moment,
    "until": _moment,
    "origin_floor": partial(_one_of, allowed=origins.AUTHORITY),
    "statuses": partial(_some_of, allowed=_STATUSES),
    "kinds": partial(_some_of, allowed=KINDS),
    "explain": _yes_or_no,
}
