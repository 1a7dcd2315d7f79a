"""Recent queries of a caller, from its own traces, newest first."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import datetime

from accounts.principals import Principal
from accounts.verbs import selector
from memory.grains.models import Trace

MOST = 10
# Traces are indexed by space: the caller's own are searched among so many of the newest.
_LOOKED_AT = 5_000


@dataclass(frozen=True)
class RecentQuery:
    number: int
    trace: uuid.UUID
    at: datetime
    query: str
    confidence: float


@selector("grains.asked", needs="grains.read")
def list_recent_queries(principal: Principal) -> list[RecentQuery]:
    newest = Trace.objects.filter(space=principal.space).order_by("-id").values("pk")[:_LOOKED_AT]
    found = Trace.objects.filter(pk__in=newest, actor=principal.actor).order_by("-id")
    return [RecentQuery(*row) for row in found.values_list("pk", "uuid", "at", "query", "confidence")[:MOST]]
