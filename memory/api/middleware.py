"""Middleware of every REST request: request id, checks of Host and Origin, header limits, log line, metrics."""

from __future__ import annotations

import logging
import re
import secrets
import time
from collections.abc import Callable

from django.conf import settings
from django.core.exceptions import DisallowedHost, MiddlewareNotUsed
from django.http import HttpRequest, HttpResponse

from fluxcore import metrics
from fluxcore.body_file import IN_REQUEST
from fluxcore.errors import BadHost, BadOrigin, FluxError, HeadersTooLarge
from fluxsite.logs import TOKEN, request_id
from memory.api.errors import as_flux_error, error_response

log = logging.getLogger("memory.api.access")

REFUSAL = "flux.refusal"  # key in a request's environment: the error with which the server refuses it
MAX_HEADERS = 100
MAX_HEADER_BYTES = 16 * 1024
_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


class RestMiddleware:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        if settings.SERVER_ROLE == "people":
            raise MiddlewareNotUsed
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        started = time.perf_counter()
        given = request.META.get("HTTP_X_REQUEST_ID", "")
        # The id is logged with every line, so a token sent by mistake must not become one.
        sane = _REQUEST_ID.fullmatch(given) and not TOKEN.search(given)
        identity = given if sane else secrets.token_hex(8)
        mark = request_id.set(identity)
        try:
            try:
                _refuse_hostile(request)
                response = self.get_response(request)
            except Exception as error:
                response = error_response(as_flux_error(error))
            response["X-Request-Id"] = identity
            response["X-Content-Type-Options"] = "nosniff"
            response["Cache-Control"] = "no-store"
            if _has_unread_body(request):
                # Refused before its body was read: the rest of the body must not be read as the next request.
                response["Connection"] = "close"
            if not response.streaming:
                response["Content-Length"] = str(len(response.content))
            spent = time.perf_counter() - started
            route = request.resolver_match.route if request.resolver_match else "unknown"
            # The route and not the path, and only known methods: the rest is text of the caller.
            method = request.method if request.method in _METHODS else "other"
            metrics.count_request(method, route, response.status_code, spent)
            log.info("%s %s %d %.1fms", method, route, response.status_code, spent * 1000)
            return response
        finally:
            request_id.reset(mark)


def _has_unread_body(request: HttpRequest) -> bool:
    meta = request.META
    if not meta.get("CONTENT_LENGTH") and "HTTP_TRANSFER_ENCODING" not in meta:
        return False
    return not request._read_started and IN_REQUEST not in meta  # type: ignore[attr-defined]


def _refuse_hostile(request: HttpRequest) -> None:
    refusal: FluxError | None = request.META.get(REFUSAL)
    if refusal is not None:
        raise refusal
    headers = [(name, value) for name, value in request.META.items() if name.startswith("HTTP_")]
    if len(headers) > MAX_HEADERS or sum(len(name) + len(str(value)) for name, value in headers) > MAX_HEADER_BYTES:
        raise HeadersTooLarge
    try:
        host = request.get_host()
    except DisallowedHost:
        raise BadHost from None
    # In a browser only the server's own documentation page may call it. The Host has passed
    # ALLOWED_HOSTS by now, so a rebinding page fails above and any other page's origin here.
    origin = request.META.get("HTTP_ORIGIN")
    if origin is not None and origin.lower() not in (f"http://{host}".lower(), f"https://{host}".lower()):
        raise BadOrigin
