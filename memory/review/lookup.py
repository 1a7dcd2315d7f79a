"""Which review items a caller sees: those of its scopes, and the ones it wrote itself."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from accounts.authorise import may
from accounts.principals import Principal
from fluxcore.errors import Invalid, NotFound
from memory.review import kinds
from memory.review.models import ReviewItem


def space_of(principal: Principal) -> int:
    if principal.space is None:
        raise Invalid("The space is missing: add space.", field="space")
    return principal.space


def find_item(principal: Principal, ref: Any) -> ReviewItem | None:
    """The item of that id in the caller's space, whether it may see it or not."""
    try:
        number = UUID(ref) if isinstance(ref, str) else None
    except ValueError:
        number = None
    if number is None:
        return None
    return ReviewItem.objects.filter(space=space_of(principal), uuid=number, kind__in=kinds.names()).first()


def seen_item(principal: Principal, ref: str) -> ReviewItem:
    """The item of that id, if the caller sees that it exists."""
    item = find_item(principal, ref)
    if item is None or not (is_author(principal, item) or kinds.find(item.kind).sees(principal, item)):
        raise no_item(ref)
    return item


def no_item(ref: str) -> NotFound:
    return NotFound(f"There is no review item {ref[:64]!r}.", item=ref[:64])


def is_author(principal: Principal, item: ReviewItem) -> bool:
    return principal.actor in item.author_names


def asks_to_see(principal: Principal, given: dict[str, Any]) -> Iterable[tuple[str, str | None]]:
    """Nothing of an agent, which sees its own items whatever it may; of others that they may read some kind."""
    if principal.kind == "agent" or sees_some(principal):
        return []
    return [(kind.reads, None) for kind in kinds.all_kinds()[:1]]


def asks_to_decide(principal: Principal, given: dict[str, Any]) -> Iterable[tuple[str, str | None]]:
    """The operation of the item's kind on its target. Of an unknown item nothing but some such operation."""
    operations = [kind.decides for kind in kinds.all_kinds()]
    if not any(_has_some(principal, operation) for operation in operations):
        return [(operations[0], None)]
    item = find_item(principal, given.get("item"))
    if item is None:
        return []
    return [(kinds.find(item.kind).decides, item.target if principal.kind == "agent" else None)]


def sees_some(principal: Principal) -> bool:
    """Whether a caller may see items that others wrote."""
    return any(
        _has_some(principal, operation) for kind in kinds.all_kinds() for operation in (kind.reads, kind.decides)
    )


def _has_some(principal: Principal, operation: str) -> bool:
    return may(principal, operation) or (principal.kind == "agent" and principal.capabilities.scoped(operation))
