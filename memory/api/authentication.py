"""Authentication of REST requests: by bearer token, or as the agent of REST_OPEN_TO_LOOPBACK if that is set."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from rest_framework.authentication import BaseAuthentication
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from accounts import anonymous_refusals, tokens
from accounts.principals import Principal
from fluxcore.errors import Unauthenticated
from memory.api import loopback


class BearerToken(BaseAuthentication):
    def authenticate(self, request: Request) -> tuple[Principal, None] | None:
        header = request.META.get("HTTP_AUTHORIZATION")
        if header is None:
            agent = loopback.loopback_agent(request)
            return (agent, None) if agent is not None else None
        scheme, _, token = header.partition(" ")
        try:
            if scheme.lower() != "bearer":
                raise Unauthenticated
            return tokens.authenticate(token.strip(" ")), None
        except Unauthenticated:
            anonymous_refusals.count_refusal(source(request))
            raise

    @staticmethod
    def again(request: Request) -> Callable[[], Principal]:
        """Looks up anew who sent this request: what it holds may change while it is answered."""
        header = request.META.get("HTTP_AUTHORIZATION")
        if header is not None:
            return partial(tokens.authenticate, header.partition(" ")[2].strip(" "))

        def local() -> Principal:
            found = loopback.loopback_agent(request)
            if found is None:
                raise Unauthenticated
            return found

        return local

    def authenticate_header(self, request: Request) -> str:
        return "Bearer"


class HasPrincipal(BasePermission):
    """DRF permission: the request is authenticated."""

    def has_permission(self, request: Request, view: Any) -> bool:
        if isinstance(request.user, Principal):
            return True
        anonymous_refusals.count_refusal(source(request))
        why = getattr(request._request, "loopback_problem", "")
        raise Unauthenticated(f"REST_OPEN_TO_LOOPBACK does not apply here: {why}. Send a token." if why else None)


def source(request: Request) -> str:
    """Address of the connection's peer. Forwarded-for headers are ignored, since the caller writes them."""
    return str(request.META.get("REMOTE_ADDR") or "unknown")
