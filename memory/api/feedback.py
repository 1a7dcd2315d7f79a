"""REST calls for feedback: vote, withdraw a vote, list recalls without feedback."""

from __future__ import annotations

from django.http import HttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request

from memory.api import common_serializers, feedback_serializers, parsers
from memory.api.views import RestView, json_answer, principal, write_options
from memory.learning import feedback, vote_input
from memory.recall import pending_feedback


class FeedbackView(RestView):
    @extend_schema(
        operation_id="feedback",
        request=feedback_serializers.FEEDBACK,
        responses=feedback_serializers.RecordedSerializer,
        parameters=common_serializers.WRITE_HEADERS,
    )
    def post(self, request: Request) -> HttpResponse:
        """Rate a grain of an answer as useful or not, or report what was missing. Durable at once, applied soon."""
        value = parsers.body(request, (*vote_input.FIELDS, "reason", "idempotency_key"))
        given = {name: value[name] for name in vote_input.FIELDS if name in value}
        return json_answer(feedback.feedback(principal(request, value), **given, **write_options(request, value)))


class FeedbackBatchView(RestView):
    @extend_schema(
        operation_id="feedback_batch",
        request=feedback_serializers.FEEDBACK_BATCH,
        responses=feedback_serializers.RecordedBatchSerializer,
        parameters=common_serializers.WRITE_HEADERS,
    )
    def post(self, request: Request) -> HttpResponse:
        """Record up to a hundred votes, each recorded or refused on its own."""
        value = parsers.body(request, ("items", "reason", "idempotency_key"))
        return json_answer(
            feedback.feedback_batch(
                principal(request, value), items=value.get("items"), **write_options(request, value)
            )
        )


class WithdrawVoteView(RestView):
    @extend_schema(
        operation_id="withdraw_feedback",
        request=None,
        responses={200: feedback_serializers.WithdrawnSerializer},
        parameters=[*common_serializers.WRITE_HEADERS, *feedback_serializers.VOTE_IDS],
    )
    def delete(self, request: Request, trace: str, grain: str) -> HttpResponse:
        """Withdraw your own vote; its effect on ranking is undone."""
        value = parsers.optional_body(request, ("reason", "idempotency_key"))
        return json_answer(
            feedback.withdraw(principal(request, value), trace=trace, grain=grain, **write_options(request, value))
        )


class PendingFeedbackView(RestView):
    @extend_schema(operation_id="pending_feedback", responses=feedback_serializers.PendingSerializer)
    def get(self, request: Request) -> HttpResponse:
        """List your own recalls without feedback, newest first."""
        parsers.query(request, ())
        return json_answer(pending_feedback.list_pending(principal(request)))
