"""The shape of a labelled set: collections of items, and queries that know which items answer them."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

BEGIN = datetime(2024, 1, 8, 9, 30, tzinfo=UTC)
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


@dataclass
class Collection:
    """Items in the order they were said; a query's evidence are ids of items, empty when nothing answers it."""

    id: str
    items: list[dict[str, Any]] = field(default_factory=list)
    queries: list[dict[str, Any]] = field(default_factory=list)

    def say(self, text: str, *, time: datetime | None = None, speaker: str = "", session: str = "") -> str:
        number = f"{self.id}:{len(self.items)}"
        self.items.append(
            {
                "id": number,
                "text": text,
                "time": time.isoformat() if time else "",
                "speaker": speaker,
                "session": session,
            }
        )
        return number

    def ask(self, query: str, evidence: list[str], category: str) -> None:
        number = f"{self.id}:q{len(self.queries)}"
        self.queries.append({"id": number, "query": query, "evidence": list(evidence), "category": category})

    def plain(self) -> dict[str, Any]:
        return {"id": self.id, "items": self.items, "queries": self.queries}


class Dice(random.Random):
    """A random source with the few throws that writing texts needs."""

    def some(self, things: list[str] | tuple[str, ...], count: int) -> list[str]:
        return self.sample(list(things), min(count, len(things)))

    def chance(self, share: float) -> bool:
        return self.random() < share

    def later(self, moment: datetime, low: float, high: float) -> datetime:
        """A moment between `low` and `high` days after another, at an hour when people are awake."""
        day = moment + timedelta(days=self.uniform(low, high))
        return day.replace(hour=self.randint(8, 21), minute=self.randint(0, 59), second=0, microsecond=0)


def ago(moment: datetime, days: int) -> str:
    """How a person says it: 'yesterday', 'last Tuesday', 'two weeks ago'."""
    if days == 0:
        return "this morning"
    if days == 1:
        return "yesterday"
    if days <= 6:
        return f"last {WEEKDAYS[(moment - timedelta(days=days)).weekday()]}"
    if days <= 10:
        return "last week"
    if days <= 24:
        return f"{'two' if days < 18 else 'three'} weeks ago"
    return "last month"


def day(moment: datetime) -> str:
    return f"{moment.day} {moment:%B %Y}"
