"""Votes on one grain, newest first."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from accounts.authorise import may
from accounts.principals import Principal
from fluxcore import clock
from memory.grains.models import Vote

MOST = 20


@dataclass(frozen=True)
class GrainVote:
    """One vote that was not undone; its caller and trace are visible only to that caller and to grains.manage."""

    at: datetime
    vote: float  # -1 to 1
    implied: bool
    missed: bool
    by: str | None = None
    trace: UUID | None = None
    query: str | None = None

    def shape(self) -> dict[str, Any]:
        return {
            "at": clock.rfc3339(self.at),
            "by": self.by,
            "vote": round(self.vote, 4),
            "implied": self.implied,
            "missed": self.missed,
            "trace_id": str(self.trace) if self.trace else None,
            "query": self.query,
        }


def last_votes(principal: Principal, space: int, grain: int) -> list[GrainVote]:
    """The newest votes on a grain of the space, in one statement."""
    all_of_it = may(principal, "grains.manage")
    found = Vote.objects.filter(space=space, grain=grain, undone_at=None).order_by("-at", "-id")
    columns = ("at", "useful", "strength", "implied", "missed", "judged__actor", "judged__uuid", "judged__query")
    return [
        GrainVote(
            at,
            strength if useful else -strength,
            implied,
            missed,
            *((actor, trace, query) if all_of_it or actor == principal.actor else ()),
        )
        for at, useful, strength, implied, missed, actor, trace, query in found.values_list(*columns)[:MOST]
    ]
