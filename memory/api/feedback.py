"""Votes on answers: what was useful, what was missing, and what still waits for a word."""

from __future__ import annotations

from django.http import HttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request

from memory.api import feedback_shapes, parsers, shapes
from memory.api.views import Call, json_answer, principal, write_options
from memory.grains.learning import ballots, due, votes


class Feedback(Call):
    @extend_schema(
        operation_id="feedback", request=feedback_shapes.FEEDBACK, responses=feedback_shapes.Recorded,
        parameters=shapes.WRITE_HEADERS,
    )  # fmt: skip
    def post(self, request: Request) -> HttpResponse:
        """Say whether a grain of an answer was useful, or what was missing. Durable at once, applied soon after."""
        value = parsers.body(request, (*ballots.FIELDS, "reason", "idempotency_key"))
        given = {name: value[name] for name in ballots.FIELDS if name in value}
        return json_answer(votes.feedback(principal(request, value), **given, **write_options(request, value)))


class FeedbackBatch(Call):
    @extend_schema(
        operation_id="feedback_batch", request=feedback_shapes.FEEDBACK_BATCH, responses=feedback_shapes.RecordedBatch,
        parameters=shapes.WRITE_HEADERS,
    )  # fmt: skip
    def post(self, request: Request) -> HttpResponse:
        """Up to a hundred votes, each recorded or refused on its own."""
        value = parsers.body(request, ("items", "reason", "idempotency_key"))
        return json_answer(
            votes.feedback_batch(principal(request, value), items=value.get("items"), **write_options(request, value))
        )


class Vote(Call):
    @extend_schema(
        operation_id="withdraw_feedback", request=None, responses={200: feedback_shapes.Withdrawn},
        parameters=[*shapes.WRITE_HEADERS, *feedback_shapes.VOTE_IDS],
    )  # fmt: skip
    def delete(self, request: Request, trace: str, grain: str) -> HttpResponse:
        """Take one's own vote back: what it taught is unlearned."""
        value = parsers.optional_body(request, ("reason", "idempotency_key"))
        return json_answer(
            votes.withdraw(principal(request, value), trace=trace, grain=grain, **write_options(request, value))
        )


class Pending(Call):
    @extend_schema(operation_id="pending_feedback", responses=feedback_shapes.Pending)
    def get(self, request: Request) -> HttpResponse:
        """One's own answers that wait for a word, newest first."""
        parsers.query(request, ())
        return json_answer(due.pending(principal(request)))
