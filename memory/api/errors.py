"""Error responses of the REST server, all of one shape: {code, message, details, request_id}."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from typing import Any

import orjson
from django.conf import settings
from django.core.exceptions import PermissionDenied, RequestDataTooBig, SuspiciousOperation
from django.http import Http404, HttpRequest, HttpResponse, UnreadablePostError
from rest_framework import exceptions

from fluxcore import errors
from fluxcore.db_errors import translate
from fluxcore.writes import limit_messages
from fluxsite.logs import request_id

log = logging.getLogger(__name__)


def error_response(error: errors.FluxError) -> HttpResponse:
    body = {**error.body(), "request_id": request_id.get()}
    response = HttpResponse(orjson.dumps(body), status=error.status, content_type="application/json")
    if error.retry_after is not None:
        response["Retry-After"] = str(max(1, math.ceil(error.retry_after)))
    if error.status == 401:
        response["WWW-Authenticate"] = "Bearer"
    response._has_been_logged = True  # type: ignore[attr-defined]  # Django would log the path, which is text of the caller
    return response


def _body_too_large() -> errors.FluxError:
    return limit_messages.body_too_large("A body", settings.MAX_BODY_BYTES)


_FRAMEWORK: list[tuple[type[Exception], Callable[[], errors.FluxError]]] = [
    (exceptions.NotAuthenticated, errors.Unauthenticated),
    (exceptions.AuthenticationFailed, errors.Unauthenticated),
    (exceptions.MethodNotAllowed, errors.MethodNotAllowed),
    (exceptions.NotAcceptable, errors.NotAcceptable),
    (exceptions.UnsupportedMediaType, errors.UnsupportedMediaType),
    (exceptions.ParseError, errors.BadRequest),
    (exceptions.PermissionDenied, errors.Forbidden),
    (exceptions.NotFound, errors.NotFound),
    (RequestDataTooBig, _body_too_large),
    (SuspiciousOperation, errors.BadRequest),  # Django raises it for too many parameters, for example
    (UnreadablePostError, errors.BadRequest),  # the connection ended before the body was complete
    (PermissionDenied, errors.Forbidden),
    (Http404, errors.NotFound),
]


def as_flux_error(error: BaseException) -> errors.FluxError:
    """The FluxError for any exception: ours, by the table above, or of a database; any other is logged as internal."""
    translated = translate(error)
    if isinstance(translated, errors.FluxError):
        return translated
    for raised, flux_error in _FRAMEWORK:
        if isinstance(error, raised):
            return flux_error()
    # Only the class and the place are logged: the text of an exception may quote a memory.
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}" if trace else "?"
    log.error("unexpected %s at %s", type(error).__name__, where)
    return errors.FluxError()


def handle_exception(error: Exception, context: dict[str, Any]) -> HttpResponse:
    """DRF's exception handler."""
    return error_response(as_flux_error(error))


def not_found(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    return error_response(errors.NotFound("No such address on this server."))


def server_error(request: HttpRequest) -> HttpResponse:
    response = error_response(errors.FluxError())
    response._has_been_logged = False  # type: ignore[attr-defined]  # no other code has logged this exception
    return response


def bad_request(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    return error_response(errors.BadRequest())
