"""Review items inside a running write: rooms open, update and withdraw them together with what they are about."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db.models import QuerySet

from accounts import audit
from accounts.verbs import RunningCall
from fluxcore import clock, events
from fluxcore.errors import Conflict
from memory.review.models import ReviewItem

OPEN, ACCEPTED = ReviewItem.ReviewState.OPEN.value, ReviewItem.ReviewState.ACCEPTED.value
DENIED, WITHDRAWN = ReviewItem.ReviewState.DENIED.value, ReviewItem.ReviewState.WITHDRAWN.value
BATCH = 1_000  # old items deleted by one write


@dataclass(frozen=True)
class Subject:
    """What an item is about: one open item for each."""

    space: int
    kind: str
    container: str
    name: str


@dataclass(frozen=True)
class Proposal:
    """What an author proposes for a subject."""

    target: str
    title: str
    origin: str
    label: str = ""
    details: dict[str, Any] = field(default_factory=dict)


def find_open(subject: Subject) -> ReviewItem | None:
    return ReviewItem.objects.filter(
        space=subject.space, kind=subject.kind, container=subject.container, subject=subject.name, state=OPEN
    ).first()


def open_or_update(call: RunningCall, subject: Subject, proposal: Proposal) -> ReviewItem:
    """Open the item of a subject. An open one is updated; details that are not given stay as they are."""
    actor, now = call.principal.actor, clock.now()
    row = find_open(subject)
    changed = {
        "target": proposal.target,
        "title": proposal.title,
        "origin": proposal.origin,
        "label": proposal.label,
        "reason": audit.readable(call.reason, 500),
        "updated_at": now,
        "updated_by": actor,
    }
    if row is None:
        row = ReviewItem.objects.create(
            space_id=subject.space,
            kind=subject.kind,
            container=subject.container,
            subject=subject.name,
            authors=f"\n{actor}\n",
            created_at=now,
            created_by=actor,
            details=proposal.details,
            **changed,
        )
        return _noted(call, "review.opened", row)
    if actor not in row.author_names:
        row.authors += f"{actor}\n"
    for name, value in changed.items():
        setattr(row, name, value)
    row.details |= proposal.details
    row.save(update_fields=[*changed, "authors", "details"])
    return _noted(call, "review.updated", row)


def withdraw(call: RunningCall, subject: Subject) -> None:
    """Withdraw the open item of a subject, if there is one."""
    row = find_open(subject)
    if row is not None:
        decide(call, row, WITHDRAWN)


def decide(call: RunningCall, row: ReviewItem, state: str) -> None:
    """End an open item. Of two callers at once one gets a conflict."""
    row.state, row.decided_at, row.decided_by = state, clock.now(), call.principal.actor
    row.decision_reason = audit.readable(call.reason, 500)
    names = ("state", "decided_at", "decided_by", "decision_reason")
    changed = {name: getattr(row, name) for name in names}
    if not ReviewItem.objects.filter(pk=row.pk, state=OPEN).update(**changed):
        raise decided_conflict(ReviewItem.objects.get(pk=row.pk))
    _noted(call, "review.withdrawn" if state == WITHDRAWN else "review.decided", row)


def decided_conflict(row: ReviewItem) -> Conflict:
    return Conflict(
        f"This was {row.state} by {row.decided_by} already. Nothing was changed.",
        item=str(row.uuid),
        state=row.state,
        decided_by=row.decided_by,
    )


def _noted(call: RunningCall, kind: str, row: ReviewItem) -> ReviewItem:
    """An audit entry and an event of a changed item."""
    call.record(f"reviews/{row.uuid}", kind=row.kind, state=row.state, target=row.target)
    data = {"item": str(row.uuid), "kind": row.kind, "title": row.title[:300]}
    if kind == "review.decided":
        data["decision"] = row.state
    call.event(kind, str(row.uuid), data)
    return row


def withdraw_all(kind: str, container: str, *, at: datetime, by: str, reason: str) -> int:
    """Withdraw all open items in a container, as when it is deleted; how many."""
    rows = ReviewItem.objects.filter(kind=kind, container=container, state=OPEN)
    return _moved(rows, "review.withdrawn", by, state=WITHDRAWN, decided_at=at, decided_by=by, decision_reason=reason)


def reopen_all(kind: str, container: str, *, withdrawn_at: datetime, by: str) -> int:
    """Open the items again that `withdraw_all` withdrew at that time; how many."""
    rows = ReviewItem.objects.filter(kind=kind, container=container, state=WITHDRAWN, decided_at=withdrawn_at)
    return _moved(rows, "review.opened", by, state=OPEN, decided_at=None, decided_by="", decision_reason="")


def _moved(rows: QuerySet[ReviewItem], event: str, by: str, **changed: Any) -> int:
    """Change several items of a container, with one event for all."""
    first = rows.first()
    if first is None:
        return 0
    count = rows.update(**changed)
    title = first.title[:300] if count == 1 else f"{count} items"
    data = {"kind": first.kind, "title": title}
    events.append(event, space=first.space_id, actor=by, subject=str(first.uuid), data=data)
    return count


def delete_all(kind: str, container: str) -> None:
    """Delete all items of a container that is deleted for good."""
    ReviewItem.objects.filter(kind=kind, container=container).delete()


def delete_decided(kind: str, oldest: datetime) -> int:
    """Delete a batch of items that were decided before `oldest`; how many."""
    rows = ReviewItem.objects.filter(kind=kind, decided_at__lt=oldest).exclude(state=OPEN).order_by("id")
    numbers = list(rows.values_list("id", flat=True)[:BATCH])
    ReviewItem.objects.filter(pk__in=numbers).delete()
    return len(numbers)
