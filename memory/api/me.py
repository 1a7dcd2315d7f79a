"""An agent's own affairs: what it is and holds, and asking a person for more."""

from __future__ import annotations

from django.http import HttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request

from accounts import grants, me
from memory.api import parsers, shapes
from memory.api.views import Call, json_answer, principal, write_options


class Me(Call):
    @extend_schema(operation_id="me", responses=shapes.Me)
    def get(self, request: Request) -> HttpResponse:
        """Who this token is, how far it is trusted, and what it holds at this moment."""
        parsers.query(request, ())
        return json_answer(me.me(principal(request)))


class GrantRequests(Call):
    @extend_schema(
        operation_id="list_grant_requests", responses=shapes.AskedGrants, parameters=shapes.REQUEST_PARAMETERS
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
        request=shapes.AskForGrant,
        responses=shapes.AskedGrant,
        parameters=shapes.WRITE_HEADERS,
    )
    def post(self, request: Request) -> HttpResponse:
        """Ask a person for a capability. What waits already is answered as it stands."""
        value = parsers.body(request, ("capability", "reason", "idempotency_key"))
        return json_answer(
            grants.request(
                principal(request, value), capability=value.get("capability"), **write_options(request, value)
            )
        )
