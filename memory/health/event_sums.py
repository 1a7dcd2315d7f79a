"""Sums of a part of the event log, computed in memory before they are written."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

from fluxcore.events import LoggedEvent
from memory.arena.changes import unpack

ALL_TIME_HOUR = 0  # hour of the rows with sums of all time
# Callers that are not counted for quality: roles of flux-memory for machinery and tests.
UNCOUNTED_LABELS = frozenset({"system", "admin", "test"})
_EVERS = frozenset({"recalls", "judged"})

Key = tuple[int, str, int, str]  # space, who, hour, name


class EventSums:
    """Sums by space, caller, hour and name, and the questions that must be read before they are complete."""

    def __init__(self) -> None:
        self.sums: dict[Key, float] = defaultdict(float)
        self.judged: dict[int, set[int]] = defaultdict(set)  # by space: questions whose votes changed
        self.moved: set[int] = set()  # spaces whose graph changed

    def add(self, space: int, hour: int, name: str, value: float = 1.0, who: str = "") -> None:
        self.sums[space, who, hour, name] += value
        if not who and name in _EVERS:
            self.sums[space, "", ALL_TIME_HOUR, name] += value

    def take(self, changes: Iterable[LoggedEvent]) -> None:
        for change in changes:
            if change.space is None:
                continue
            heard = _HEARD.get(change.kind)
            if heard is not None:
                heard(self, change, change.space, hour_of(change.at.timestamp()))
            if change.packed is not None:
                self.moved.add(change.space)
                self.judged[change.space].update(_judged(change.packed))


def hour_of(seconds: float) -> int:
    return int(seconds // 3600)


def counts_for_quality(actor: str, label: str = "") -> bool:
    """Whether recalls of this caller are counted for quality: those of agents are, of people and machinery not."""
    return actor.startswith("agent:") and label.rpartition(":")[2].strip().lower() not in UNCOUNTED_LABELS


def _number(data: dict[str, Any], name: str) -> float:
    """A number of an event; events of an older release may lack it."""
    found = data.get(name)
    return float(found) if isinstance(found, int | float) else 0.0


def _stored(sheet: EventSums, change: LoggedEvent, space: int, hour: int) -> None:
    sheet.add(space, hour, "stores")
    if change.actor.startswith("agent:"):
        sheet.add(space, hour, "stores", who=change.actor)
        if change.data.get("origin") == "user_stated":
            sheet.add(space, hour, "stated", who=change.actor)


def _recalled(sheet: EventSums, change: LoggedEvent, space: int, hour: int) -> None:
    for one in change.data.get("recalls", ()):
        actor = str(one.get("actor", ""))
        if not counts_for_quality(actor, str(one.get("label", ""))):
            continue
        sheet.add(space, hour, "recalls")
        sheet.add(space, hour, "hops", _number(one, "hops"))
        sheet.add(space, hour, "fallbacks", float(bool(one.get("fallback"))))
        if _number(one, "grains"):
            sheet.add(space, hour, "answered")
            sheet.add(space, hour, "answered", who=actor)


def _learned(sheet: EventSums, change: LoggedEvent, space: int, hour: int) -> None:
    for name in ("formed", "shortcuts", "dropped", "drop"):
        value = _number(change.data, name)
        if value:
            sheet.add(space, hour, name, value)


def _judged(packed: bytes) -> tuple[int, ...]:
    """Ids of questions whose votes a change affects; none if the change cannot be read."""
    try:
        return unpack(packed).judged
    except ValueError:
        return ()


def _some(name: str, key: str) -> Callable[[EventSums, LoggedEvent, int, int], None]:
    """Number that an event reports; 1 for an event without a number."""

    def heard(sheet: EventSums, change: LoggedEvent, space: int, hour: int) -> None:
        sheet.add(space, hour, name, _number(change.data, key) if key in change.data else 1.0)

    return heard


_HEARD: dict[str, Callable[[EventSums, LoggedEvent, int, int], None]] = {
    "grain.stored": _stored,
    "grain.corroborated": _stored,
    "grains.recalled": _recalled,
    "votes.applied": _learned,
    "grain.promoted": _some("promoted", "grains"),
    "conduits.cut": _some("dissolved", "conduits"),
}
