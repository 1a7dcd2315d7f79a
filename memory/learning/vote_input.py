"""Validated input of feedback on an answer."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fluxcore.errors import Invalid

FIELDS = ("trace_id", "grain_id", "useful", "strength", "missed")
MAX_ITEMS = 100
MAX_MISSED = 20
LEAST_STRENGTH, MOST_STRENGTH = 0.1, 1.0  # of a vote's strength


@dataclass(frozen=True)
class VoteInput:
    """Feedback on one grain of an answer, on grains missing from it, or on both."""

    trace: uuid.UUID
    grain: uuid.UUID | None
    useful: bool
    strength: float
    missed: tuple[uuid.UUID, ...]

    @property
    def votes(self) -> int:
        """Number of votes it contains."""
        return len({*self.missed, *([self.grain] if self.grain is not None else ())})


def check_vote_input(given: Mapping[str, Any]) -> VoteInput:
    unknown = sorted(set(given) - set(FIELDS))
    if unknown:
        raise Invalid.unknown(str(unknown[0]), FIELDS)
    missed = given.get("missed")
    if missed is None:
        missed = []
    if not isinstance(missed, list) or len(missed) > MAX_MISSED:
        raise Invalid(f"missed must be a list of at most {MAX_MISSED} grain ids.", field="missed")
    grain, useful = given.get("grain_id"), given.get("useful")
    if grain is None and not missed:
        raise Invalid("The memory is missing: give grain_id, or missed.", field="grain_id")
    if grain is not None and not isinstance(useful, bool):
        raise Invalid("useful must be true or false.", field="useful")
    if grain is None and useful is not None:
        raise Invalid("useful needs the memory it rates: give its grain_id.", field="grain_id")
    found = VoteInput(
        parse_uuid(given.get("trace_id"), "trace_id"),
        None if grain is None else parse_uuid(grain, "grain_id"),
        bool(useful),
        _strength(given.get("strength")),
        tuple(dict.fromkeys(parse_uuid(one, "missed") for one in missed)),
    )
    if found.grain in found.missed and not found.useful:
        raise Invalid("missed contains the memory that is rated not useful.", field="missed")
    return found


def _strength(given: Any) -> float:
    if given is None:
        return MOST_STRENGTH
    if isinstance(given, bool) or not isinstance(given, int | float):
        raise Invalid(f"strength must be a number from {LEAST_STRENGTH} to {MOST_STRENGTH:g}.", field="strength")
    if not LEAST_STRENGTH <= given <= MOST_STRENGTH:  # also refuses NaN
        raise Invalid(f"strength must be from {LEAST_STRENGTH} to {MOST_STRENGTH:g}.", field="strength")
    return float(given)


def parse_uuid(given: Any, name: str) -> uuid.UUID:
    """UUID of a trace or grain from any input; raises Invalid."""
    try:
        return uuid.UUID(given)
    except (ValueError, TypeError, AttributeError):
        raise Invalid(f"{name} is not an id.", field=name) from None
