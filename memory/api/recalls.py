"""REST calls for recall and for the trace that explains it."""

from __future__ import annotations

from django.http import HttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request

from fluxcore.errors import NotFound
from memory.api import parsers, recall_serializers
from memory.api.views import RestView, json_answer, principal
from memory.recall import explain, recall, recall_request


class RetrieveView(RestView):
    @extend_schema(
        operation_id="retrieve",
        request=recall_serializers.RetrieveSerializer,
        responses=recall_serializers.RetrievedSerializer,
    )
    def post(self, request: Request) -> HttpResponse:
        """Recall grains that answer a question, best first. Each recall has a trace that explains it."""
        value = parsers.body(request, recall_request.FIELDS)
        given = {name: value[name] for name in recall_request.FIELDS if name in value}
        return json_answer(recall.recall(principal(request, value), **given))


class TraceView(RestView):
    @extend_schema(
        operation_id="get_trace", responses=recall_serializers.TraceSerializer, parameters=[recall_serializers.TRACE_ID]
    )
    def get(self, request: Request, trace: str) -> HttpResponse:
        """Read a trace: which words, vectors and links led to each grain of a recall."""
        parsers.query(request, ())
        found = parsers.identifier(trace)
        if found is None:
            raise NotFound("There is no trace with this id.")
        return json_answer(explain.explain_trace(principal(request), found))
