"""Handlers of the declared calls on the review queue: list, get, accept, deny."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from accounts.calls import handles
from accounts.principals import Principal
from accounts.verbs import Change, RunningCall
from flux.calls import reviews as calls
from fluxcore import clock
from fluxcore.errors import Invalid, OwnProposal
from memory.review import items, kinds, lookup
from memory.review.models import ReviewItem

DEFAULT_LIMIT = 50
_MAX_SCANNED = 2_000  # rows one list reads, however few of them the caller may see


@handles(calls.ListReviews, asks=lookup.asks_to_see)
def list_reviews(principal: Principal, request: calls.ListReviews) -> dict[str, Any]:
    """List a page of items, newest first; only those that the caller sees."""
    limit = request.limit or DEFAULT_LIMIT
    rows = ReviewItem.objects.filter(space=lookup.space_of(principal), kind__in=kinds.names())
    if request.state != "any":
        rows = rows.filter(state=request.state or items.OPEN)
    if request.kind is not None:
        rows = rows.filter(kind=request.kind)
    if request.mine or not lookup.sees_some(principal):
        rows = rows.filter(ReviewItem.by_author(principal.actor))
    if request.cursor is not None:
        rows = rows.filter(id__lt=int(request.cursor))
    found, last, more = list[ReviewItem](), None, False
    for number, row in enumerate(rows.order_by("-id")[: _MAX_SCANNED + 1].iterator()):
        if len(found) == limit or number == _MAX_SCANNED:
            more = True
            break
        last = row.pk
        if lookup.is_author(principal, row) or kinds.find(row.kind).sees(principal, row):
            found.append(row)
    facts = [item_facts(row) for row in found]
    return {"items": facts, "count": len(facts), "next_cursor": str(last) if more else None}


@handles(calls.GetReview, asks=lookup.asks_to_see)
def get_review(principal: Principal, request: calls.GetReview) -> dict[str, Any]:
    """An item with what is proposed, if the caller may see that."""
    item = lookup.seen_item(principal, request.item)
    kind = kinds.find(item.kind)
    return item_facts(item) | (kind.describe(item) if kind.sees(principal, item) else {})


@handles(calls.AcceptReview, asks=lookup.asks_to_decide)
def accept_review(call: RunningCall, request: calls.AcceptReview) -> Change:
    item = _to_decide(call.principal, request.item)
    effect = kinds.find(item.kind).accept(call, item, seen=request.seen, text=request.text)
    return _decide(call, item, items.ACCEPTED, effect)


@handles(calls.DenyReview, asks=lookup.asks_to_decide)
def deny_review(call: RunningCall, request: calls.DenyReview) -> Change:
    item = _to_decide(call.principal, request.item)
    if not call.reason.strip():
        raise Invalid("The reason is missing: say why it is denied.", field="reason")
    return _decide(call, item, items.DENIED, kinds.find(item.kind).deny(call, item))


def _to_decide(principal: Principal, ref: str) -> ReviewItem:
    item = lookup.find_item(principal, ref)
    if item is None:
        raise lookup.no_item(ref)
    if item.state != items.OPEN:
        raise items.decided_conflict(item)
    return item


def _refuse_authors(principal: Principal, item: ReviewItem) -> None:
    """No agent decides what it wrote, not even in part."""
    if principal.kind == "agent" and lookup.is_author(principal, item):
        raise OwnProposal(item=str(item.uuid))


def _decide(
    call: RunningCall, item: ReviewItem, state: str, effect: Callable[[ReviewItem], dict[str, Any]]
) -> Callable[[], dict[str, Any]]:
    def change() -> dict[str, Any]:
        row = ReviewItem.objects.filter(pk=item.pk).first()  # it may have changed since it was checked
        if row is None:
            raise lookup.no_item(str(item.uuid))
        _refuse_authors(call.principal, row)
        items.decide(call, row, state)
        row.details |= effect(row)
        row.save(update_fields=["details"])
        return item_facts(row)

    return change


def item_facts(row: ReviewItem) -> dict[str, Any]:
    """An item as answers show it, without what is proposed."""
    return {
        "item": str(row.uuid),
        "kind": row.kind,
        "title": row.title,
        "state": row.state,
        "provenance": row.origin,
        "authors": row.author_names,
        "label": row.label,
        "reason": row.reason,
        "created_at": clock.rfc3339(row.created_at),
        "created_by": row.created_by,
        "updated_at": clock.rfc3339(row.updated_at),
        "updated_by": row.updated_by,
        "decided_at": clock.rfc3339(row.decided_at),
        "decided_by": row.decided_by,
        "decision_reason": row.decision_reason,
    }
