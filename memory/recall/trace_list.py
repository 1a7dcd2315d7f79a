"""Paginated list of the recalls of a space, newest first: own ones, or all with the capability grains.manage."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Exists, F, OuterRef

from accounts.authorise import may
from accounts.principals import Principal
from accounts.verbs import selector
from fluxcore.errors import Invalid
from memory.grains.models import Trace, Vote
from memory.recall import traces

PAGE = 40
GLIMPSED = 20  # recalls in one request of the live page
UNSURE = 0.5  # an answer below this is more likely wrong than right


@dataclass(frozen=True)
class TraceSummary:
    """One row of the list of recalls."""

    number: int
    trace: uuid.UUID
    at: datetime
    actor: str
    label: str
    query: str
    confidence: float
    hops: int
    rung: str
    judged: bool


@dataclass(frozen=True)
class TraceListPage:
    recalls: list[TraceSummary]
    after: int | None  # cursor of the next, older page; None at the end
    everybody: bool  # False: only the caller's own recalls are listed


_COLUMNS = ("pk", "uuid", "at", "actor", "label", "query", "confidence", "hop_count", "rung", "judged")


@selector("grains.recalls", needs="grains.read")
def list_traces(
    principal: Principal,
    *,
    before: int | None = None,
    actor: str = "",
    rung: str = "",
    judged: bool | None = None,
    unsure: bool = False,
) -> TraceListPage:
    """A page of recalls, read in one statement by the index of the space."""
    everybody = may(principal, "grains.manage")
    votes = Vote.objects.filter(
        judged__uuid=OuterRef("uuid"), judged__space=principal.space, undone_at__isnull=True, implied=False
    )
    found = Trace.objects.filter(space=principal.space).annotate(judged=Exists(votes))
    if not everybody or actor == principal.actor:
        found = found.filter(actor=principal.actor)
    elif actor:
        found = found.filter(actor=actor)
    if before is not None:
        found = found.filter(pk__lt=before)
    if rung:
        found = found.filter(rung=rung)
    if judged is not None:
        found = found.filter(judged=judged)
    if unsure:
        found = found.filter(confidence__lt=UNSURE)
    rows = list(found.order_by(F("pk").desc()).values_list(*_COLUMNS)[: PAGE + 1])
    return TraceListPage(
        [TraceSummary(*row) for row in rows[:PAGE]], rows[PAGE - 1][0] if len(rows) > PAGE else None, everybody
    )


@selector("grains.glimpse", needs="grains.read")
def preview_traces(principal: Principal, wanted: Sequence[uuid.UUID]) -> list[dict[str, Any]]:
    """Queries and result ids of those of these recalls that the caller may read."""
    if len(wanted) > GLIMPSED:
        raise Invalid(f"Too many recalls at once: at most {GLIMPSED}.", field="trace")
    everybody = may(principal, "grains.manage")
    return [
        {
            "trace": str(one.id),
            "query": one.query,
            "grains": [grain["id"] for grain in one.body["grains"]],
        }
        for one in traces.load_traces(wanted).values()
        if one.space == principal.space and (everybody or one.actor == principal.actor)
    ]
