"""Middleware of the dashboard: request id, and security headers on every answer."""

from __future__ import annotations

import secrets
from typing import Any

from asgiref.sync import iscoroutinefunction, markcoroutinefunction
from django.conf import settings
from django.core.exceptions import BadRequest
from django.http import HttpRequest
from django.urls import reverse
from django.views.defaults import bad_request

from fluxsite.logs import request_id

POLICY = "; ".join(
    [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "font-src 'self'",
        "connect-src 'self'",
        "manifest-src 'self'",
        "object-src 'none'",
        "base-uri 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
    ]
)
_UNUSED = (
    "accelerometer",
    "camera",
    "display-capture",
    "geolocation",
    "gyroscope",
    "magnetometer",
    "microphone",
    "midi",
    "payment",
    "usb",
)
# On every answer of the dashboard. Django's own middleware sets some of them too, but not on answers that are given
# before it runs: a host name that is not allowed, a refused WebSocket.
HEADERS = {
    "Content-Security-Policy": POLICY,
    "Permissions-Policy": ", ".join(f"{feature}=()" for feature in _UNUSED),
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


# The page that shows others in frames, and the pages it shows: the only ones that may frame and be framed. None of them
# shows a token or asks for a code.
_PREVIEW = "/mobile-preview"
_PREVIEWED = ("home", "recall", "graph", "live", "board", "files", "transcripts", "traces", "vitals", "agents")
_FRAMING = {"Content-Security-Policy": f"{POLICY}; frame-src 'self'"}
_FRAMED = {
    "Content-Security-Policy": POLICY.replace("frame-ancestors 'none'", "frame-ancestors 'self'"),
    "X-Frame-Options": "SAMEORIGIN",
}


class DashboardMiddleware:
    async_capable = True
    sync_capable = True

    def __init__(self, get_response: Any) -> None:
        self.get_response = get_response
        if iscoroutinefunction(get_response):
            markcoroutinefunction(self)

    def __call__(self, request: HttpRequest) -> Any:
        """Return the response; under ASGI a coroutine of it."""
        if iscoroutinefunction(self.get_response):
            return self._call_async(request)
        mark = request_id.set(secrets.token_hex(8))
        try:
            return _framed(request, _foreign_letters(request) or self.get_response(request))
        finally:
            request_id.reset(mark)

    async def _call_async(self, request: HttpRequest) -> Any:
        mark = request_id.set(secrets.token_hex(8))
        try:
            return _framed(request, _foreign_letters(request) or await self.get_response(request))
        finally:
            request_id.reset(mark)


def _foreign_letters(request: HttpRequest) -> Any:
    """Refuse charsets other than UTF-8: Python knows some whose characters no database accepts."""
    charset = (request.content_params or {}).get("charset", "utf-8").strip('"').lower()
    return None if charset in ("utf-8", "utf8") else bad_request(request, BadRequest("charset"))


def _framed(request: HttpRequest, response: Any) -> Any:
    """Set the headers. Only static files may be cached by a browser; pages must not outlive their session."""
    kept = request.path.startswith(settings.STATIC_URL) and response.status_code in (200, 206, 304)
    for name, value in {**HEADERS, **_frames(request)}.items():
        if name != "Cache-Control" or not (kept or value in response.get(name, "")):
            response[name] = value
    response["X-Request-Id"] = request_id.get()
    return response


def _frames(request: HttpRequest) -> dict[str, str]:
    """Frame headers for the mobile preview, if the browser reports that one of our pages frames this one."""
    if request.path == _PREVIEW:
        return _FRAMING
    dest, site = (request.META.get(f"HTTP_SEC_FETCH_{name}") for name in ("DEST", "SITE"))
    if (dest, site) == ("iframe", "same-origin") and request.path in previewed_addresses():
        return _FRAMED
    return {}


def previewed_addresses() -> list[str]:
    """Addresses of the pages that the mobile preview may show."""
    return [reverse(name) for name in _PREVIEWED]
