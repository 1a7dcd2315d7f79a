"""Declared calls on the review queue: list, get, accept, deny. Handlers: `memory/review/`."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from flux.calls.base import Answers, Call, Read, Write
from flux.calls.review_answers import ReviewDetails, ReviewFacts, ReviewList
from flux.calls.types import Cursor

MAX_REVIEWS_PAGE = 200
ItemId = Annotated[str, Field(min_length=1, max_length=64)]
_ITEM = Field(description="Id of the item.")


class ReviewDecision(Write):
    """A call that decides an item: people and the shell, and agents with artifacts.review, never on their own."""

    needs: ClassVar[tuple[str, ...]] = ("artifacts.review",)
    group: ClassVar[str] = "review"
    tool: ClassVar[str | None] = None

    item: ItemId = _ITEM


class ListReviews(Read, Answers[ReviewList]):
    """List the items you may read or decide, and your own, newest first."""

    sdk, verb, rest = "list_reviews", "reviews.list", "GET /reviews"
    group, tool, title, shell = "review", None, "List what waits for a decision", ("list",)

    state: Literal["open", "accepted", "denied", "withdrawn", "any"] | None = Field(None, description="Default open.")
    kind: Annotated[str, Field(max_length=32)] | None = Field(None, description="Only this kind.")
    mine: bool | None = Field(None, description="true: only items you wrote.")
    limit: Annotated[int, Field(ge=1, le=MAX_REVIEWS_PAGE)] | None = Field(None, description="Page size. Default 50.")
    cursor: Cursor | None = Field(None, description="next_cursor of the previous page.")


class GetReview(Read, Answers[ReviewDetails]):
    """An item with its authors, its state and, if you may read it, the difference that it would make."""

    sdk, verb, rest = "get_review", "reviews.get", "GET /reviews/{item}"
    group, tool, title, shell = "review", None, "Show an item", ("show {item}",)

    item: ItemId = _ITEM


class AcceptReview(ReviewDecision, Answers[ReviewFacts]):
    """Accept an item. 409 if what is proposed, or what it would change, is not what you have seen."""

    sdk, verb, rest = "accept_review", "reviews.accept", "POST /reviews/{item}/accept"
    title, shell = "Accept an item", ("accept {item} {seen}",)

    seen: Annotated[str, Field(min_length=1, max_length=64)] = Field(
        description="The field seen of the item as you have read it."
    )
    text: str | None = Field(None, description="Accept this text instead of the proposed one.")


class DenyReview(ReviewDecision, Answers[ReviewFacts]):
    """Deny an item. The reason is required: its authors read it."""

    sdk, verb, rest = "deny_review", "reviews.deny", "POST /reviews/{item}/deny"
    title, shell = "Deny an item", ("deny {item}",)


HANDLERS = "memory.review.handlers"
CALLS: tuple[type[Call], ...] = (ListReviews, GetReview, AcceptReview, DenyReview)
