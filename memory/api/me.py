"""REST calls about the calling agent: its identity, capabilities and grant requests."""

from __future__ import annotations

from django.http import HttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request

from accounts import grants, me
from memory.api import common_serializers, parsers
from memory.api.views import RestView, json_answer, principal, write_options


class MeView(RestView):
    @extend_schema(operation_id="me", responses=common_serializers.MeSerializer)
    def get(self, request: Request) -> HttpResponse:
        """The token's agent, its trust level, maximum provenance and present capabilities."""
        parsers.query(request, ())
        return json_answer(me.me(principal(request)))


class GrantRequestsView(RestView):
    @extend_schema(
        operation_id="list_grant_requests",
        responses=common_serializers.AskedGrantsSerializer,
        parameters=common_serializers.REQUEST_PARAMETERS,
    )
    def get(self, request: Request) -> HttpResponse:
        """List this agent's grant requests and their answers, newest first."""
        value = parsers.query(request, ("state", "limit"))
        return json_answer(
            grants.own_requests(
                principal(request),
                state=value.get("state"),
                limit=parsers.whole_number(value["limit"], name="limit") if "limit" in value else 50,
            )
        )

    @extend_schema(
        operation_id="ask_for_grant",
        request=common_serializers.AskForGrantSerializer,
        responses=common_serializers.AskedGrantSerializer,
        parameters=common_serializers.WRITE_HEADERS,
    )
    def post(self, request: Request) -> HttpResponse:
        """Ask a person for a capability. An open request for it is returned unchanged."""
        value = parsers.body(request, ("capability", "reason", "idempotency_key"))
        return json_answer(
            grants.request(
                principal(request, value), capability=value.get("capability"), **write_options(request, value)
            )
        )
