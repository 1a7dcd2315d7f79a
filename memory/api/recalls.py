"""Asking the memory, and asking why it answered so."""

from __future__ import annotations

from django.http import HttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request

from fluxcore.errors import NotFound
from memory.api import parsers, recall_shapes
from memory.api.views import Call, json_answer, principal
from memory.grains import ask, explain, recall


class Retrieve(Call):
    @extend_schema(operation_id="retrieve", request=recall_shapes.Retrieve, responses=recall_shapes.Retrieved)
    def post(self, request: Request) -> HttpResponse:
        """Recall what answers a question, best first. Every answer has a trace that explains it."""
        value = parsers.body(request, ask.FIELDS)
        given = {name: value[name] for name in ask.FIELDS if name in value}
        return json_answer(recall.recall(principal(request, value), **given))


class Trace(Call):
    @extend_schema(operation_id="get_trace", responses=recall_shapes.Trace, parameters=[recall_shapes.TRACE_ID])
    def get(self, request: Request, trace: str) -> HttpResponse:
        """Why a recall answered as it did: which words, vectors and links brought each grain."""
        parsers.query(request, ())
        found = parsers.identifier(trace)
        if found is None:
            raise NotFound("There is no such trace.")
        return json_answer(explain.trace(principal(request), found))
