"""The queue of what waits for a decision.

Written by `make docs` from `flux/calls/`; change the declarations there.
"""

from __future__ import annotations

from flux.calls.review_answers import ReviewDetails, ReviewFacts, ReviewList
from flux.core import CallArguments, call


class ReviewCalls:
    """The queue of what waits for a decision."""

    @call("GET", "reviews")
    def list_reviews(
        self,
        *,
        state: str | None = None,
        kind: str | None = None,
        mine: bool | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> CallArguments[ReviewList]:
        """List the items you may read or decide, and your own, newest first."""
        return CallArguments(query={"state": state, "kind": kind, "mine": mine, "limit": limit, "cursor": cursor})

    @call("GET", "reviews/{item}")
    def get_review(self, item: str) -> CallArguments[ReviewDetails]:
        """An item with its authors, its state and, if you may read it, the difference that it would make."""
        return CallArguments(path={"item": item})

    @call("POST", "reviews/{item}/accept")
    def accept_review(
        self,
        item: str,
        seen: str,
        *,
        text: str | None = None,
        reason: str | None = None,
        idempotency_key: str | None = None,
    ) -> CallArguments[ReviewFacts]:
        """Accept an item. 409 if what is proposed, or what it would change, is not what you have seen."""
        return CallArguments(
            body={"reason": reason, "idempotency_key": idempotency_key, "seen": seen, "text": text},
            path={"item": item},
        )

    @call("POST", "reviews/{item}/deny")
    def deny_review(
        self,
        item: str,
        *,
        reason: str | None = None,
        idempotency_key: str | None = None,
    ) -> CallArguments[ReviewFacts]:
        """Deny an item. The reason is required: its authors read it."""
        return CallArguments(body={"reason": reason, "idempotency_key": idempotency_key}, path={"item": item})
