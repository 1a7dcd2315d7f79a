"""Client methods for feedback: votes on answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NotRequired, TypedDict

from flux.answers import Pending, Recorded, RecordedBatch, Withdrawn
from flux.core import CallArguments, call


class VoteItem(TypedDict):
    """One vote of a batch."""

    trace_id: str
    grain_id: NotRequired[str]
    useful: NotRequired[bool]
    strength: NotRequired[float]
    missed: NotRequired[Sequence[str]]


class FeedbackCalls:
    @call("POST", "feedback")
    def feedback(
        self,
        trace_id: str,
        grain_id: str | None = None,
        useful: bool | None = None,
        *,
        strength: float | None = None,
        missed: Sequence[str] | None = None,
        reason: str | None = None,
        idempotency_key: str | None = None,
    ) -> CallArguments[Recorded]:
        """Rate a grain of an answer as useful or not, or report grains that were missing from it."""
        return CallArguments(
            {
                "trace_id": trace_id,
                "grain_id": grain_id,
                "useful": useful,
                "strength": strength,
                "missed": None if missed is None else list(missed),
                "reason": reason,
                "idempotency_key": idempotency_key,
            }
        )

    @call("POST", "feedback/batch")
    def feedback_batch(
        self, items: Sequence[VoteItem], *, reason: str | None = None, idempotency_key: str | None = None
    ) -> CallArguments[RecordedBatch]:
        """Record up to a hundred votes, each recorded or refused on its own."""
        return CallArguments(
            {"items": [dict(item) for item in items], "reason": reason, "idempotency_key": idempotency_key}
        )

    @call("DELETE", "feedback/{trace}/{grain}")
    def withdraw_feedback(
        self, trace: str, grain: str, *, reason: str | None = None, idempotency_key: str | None = None
    ) -> CallArguments[Withdrawn]:
        """Withdraw your own vote; its effect on ranking is undone."""
        return CallArguments(
            {"reason": reason, "idempotency_key": idempotency_key}, path={"trace": trace, "grain": grain}
        )

    @call("GET", "pending_feedback")
    def pending_feedback(self) -> CallArguments[Pending]:
        """List your own recalls without feedback, newest first."""
        return CallArguments()
