"""An agent's own affairs: what it is and holds, and asking a person for more."""

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
        """Who this token is, how far it is trusted, and what it holds at this moment."""
        parsers.query(request, ())
        return json_answer(me.me(principal(request)))


class GrantRequestsView(RestView):
    @extend_schema(
        operation_id="list_grant_requests",
        responses=common_serializers.AskedGrantsSerializer,
        parameters=common_serializers.REQUEST_PARAMETERS,
    )
    def get(self, request: Request) -> HttpResponse:
        """What this agent asked for, newest first, with the answers."""
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
        """Ask a person for a capability. What waits already is answered as it stands."""
        value = parsers.body(request, ("capability", "reason", "idempotency_key"))
        return json_answer(
            grants.request(
                principal(request, value), capability=value.get("capability"), **write_options(request, value)
            )
        )
