"""Live feed of the dashboard, a WebSocket at `/live?space=NAME`, for people signed in with both factors."""

from __future__ import annotations

import io
from typing import Any

from django.conf import settings
from django.contrib.auth.middleware import AuthenticationMiddleware
from django.contrib.sessions.middleware import SessionMiddleware
from django.core.exceptions import DisallowedHost
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest, HttpResponse
from django_otp.middleware import OTPMiddleware

from accounts import anonymous_refusals, audit
from accounts.authorise import may
from accounts.models import Space
from accounts.names import check_name
from accounts.rights_fingerprint import read_fingerprint
from accounts.signin import sessions
from accounts.visitor import client_address, current_visitor, is_signed_in
from dashboard.middleware import HEADERS
from dashboard.overview import QUIET
from fluxcore.errors import BadHost, BadOrigin, Forbidden, Unauthenticated
from fluxcore.events import LoggedEvent
from fluxcore.log.live import LiveSubscriber, Shows
from fluxsite import admission
from fluxsite.websockets import LiveConsumer, Scope

_NEEDS = "events.read"
_HEADERS = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]


class PersonConsumer(LiveConsumer):
    """WebSocket consumer of a signed-in person."""

    headers = _HEADERS


def admit(scope: Scope) -> LiveSubscriber:
    """Admit a person. A space without a role is answered like one that does not exist."""
    request = _request(scope)
    if not is_signed_in(request):
        anonymous_refusals.count_refusal(client_address(request))
        raise Unauthenticated("Sign in first, with both factors.")
    given = admission.query(scope, "space", "since")
    name = check_name(given.get("space", ""), what="a space")
    since = admission.since(given)
    space = Space.objects.filter(name=name).first()
    person = current_visitor(request).principal(space.pk if space else 0)
    if space is None or not may(person, _NEEDS):
        audit.refuse(person, "live.follow", name, details={"missing": _NEEDS})
        raise Forbidden("You have no role in a space of that name, so you cannot follow it.")
    return LiveSubscriber(
        owner=f"user:{person.user}",
        credential=f"{request.session.session_key}/{space.pk}",
        space=space.pk,
        actor=person.actor,
        where=space.name,
        rights=_Rights(scope, str(request.session.session_key), space.pk),
        since=since,
    )


class _Rights:
    """Rights of the connected person as they are now: session, user, second factor and role.

    One SQL statement tells whether any of them changed since they were last checked in full.
    """

    def __init__(self, scope: Scope, session_key: str, space: int) -> None:
        self._scope, self._key, self._space = scope, session_key, space
        self._known: tuple[Any, ...] | None = None

    def __call__(self) -> Shows:
        now = read_fingerprint(self._key, self._space)
        if now is None or now != self._known:
            self._look()
            self._known = now
        sessions.note_seen(self._key)
        return _tells

    def _look(self) -> None:
        request = _request(self._scope)
        if not is_signed_in(request):
            raise Unauthenticated
        if not may(current_visitor(request).principal(self._space), _NEEDS):
            raise Forbidden


def _tells(change: LoggedEvent) -> bool:
    """Whether people see an event: all but the second event of a store, which only arenas need."""
    return change.kind != QUIET


def _page_request(scope: Scope) -> HttpRequest:
    """The handshake as an HTTP request."""
    scheme = "https" if scope.get("scheme") == "wss" else "http"
    return ASGIRequest({**scope, "type": "http", "method": "GET", "scheme": scheme}, io.BytesIO())


def _request(scope: Scope) -> HttpRequest:
    """The handshake as a request with session and user, set by the same middleware as for pages."""
    request = _page_request(scope)
    SessionMiddleware(_nothing).process_request(request)
    AuthenticationMiddleware(_nothing).process_request(request)
    OTPMiddleware(_nothing)(request)
    return request


def _nothing(request: HttpRequest) -> HttpResponse:
    return HttpResponse()


def check_origin(scope: Scope) -> None:
    """Check the Origin header: browsers send our cookie from any site, without a CSRF token."""
    request = _page_request(scope)
    try:
        host = request.get_host()
    except DisallowedHost:
        raise BadHost from None
    if settings.HTTPS and not request.is_secure():
        raise BadOrigin("This server is used over HTTPS.")
    origin = request.META.get("HTTP_ORIGIN", "").lower()
    if origin != f"{request.scheme}://{host}".lower() and origin not in settings.CSRF_TRUSTED_ORIGINS:
        raise BadOrigin("Only pages of this server may open its live feed.")


websockets = admission.at_live(PersonConsumer, check_origin, admit)
