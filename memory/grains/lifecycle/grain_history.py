"""History of a grain, newest first: each change of status or class with its reason and measured values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from fluxcore import clock
from memory.grains.models import Transition

MOST = 50


@dataclass(frozen=True)
class HistoryStep:
    at: datetime
    before: str
    after: str
    why: str
    numbers: Mapping[str, Any]
    actor: str
    reason: str

    def shape(self) -> dict[str, Any]:
        return {
            "at": clock.rfc3339(self.at),
            "from": self.before,
            "to": self.after,
            "why": self.why,
            "numbers": dict(self.numbers),
            "by": self.actor,
            "reason": self.reason,
        }


def load_history(space: int, grain: int) -> list[HistoryStep]:
    """The steps of one grain, in one statement."""
    found = Transition.objects.filter(space=space, grain=grain).order_by("-id")
    names = ("at", "before", "after", "why", "numbers", "actor", "reason")
    return [HistoryStep(*row) for row in found.values_list(*names)[:MOST]]


def format_numbers(given: Mapping[str, Any]) -> str:
    """Measured values of a change as text, such as `strongest 0.03, floor 0.05`."""
    return ", ".join(f"{name.replace('_', ' ')} {value:g}" for name, value in given.items())
