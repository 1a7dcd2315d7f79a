"""Votes on answers, from which the next ones get better."""

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
        """Say whether a grain of one's own answer was useful, or which grains it missed."""
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
        """Up to a hundred votes, each recorded or refused on its own."""
        return CallArguments(
            {"items": [dict(item) for item in items], "reason": reason, "idempotency_key": idempotency_key}
        )

    @call("DELETE", "feedback/{trace}/{grain}")
    def withdraw_feedback(
        self, trace: str, grain: str, *, reason: str | None = None, idempotency_key: str | None = None
    ) -> CallArguments[Withdrawn]:
        """Take one's own vote back: what it taught is unlearned."""
        return CallArguments(
            {"reason": reason, "idempotency_key": idempotency_key}, path={"trace": trace, "grain": grain}
        )

    @call("GET", "pending_feedback")
    def pending_feedback(self) -> CallArguments[Pending]:
        """One's own answers that wait for a word, newest first."""
        return CallArguments()
