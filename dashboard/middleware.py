"""The frame around every request of a person: request id, and headers that let nothing in from elsewhere."""

from __future__ import annotations

import secrets
from typing import Any

from asgiref.sync import iscoroutinefunction, markcoroutinefunction
from django.http import HttpRequest

from fluxsite.logs import request_id

POLICY = "; ".join([
    "default-src 'self'",
    "img-src 'self' data:",
    "object-src 'none'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
])  # fmt: skip


class PeoplesDoor:
    async_capable = True
    sync_capable = True

    def __init__(self, get_response: Any) -> None:
        self.get_response = get_response
        if iscoroutinefunction(get_response):
            markcoroutinefunction(self)

    def __call__(self, request: HttpRequest) -> Any:
        if iscoroutinefunction(self.get_response):
            return self._call_async(request)
        mark = request_id.set(secrets.token_hex(8))
        try:
            return _framed(self.get_response(request))
        finally:
            request_id.reset(mark)

    async def _call_async(self, request: HttpRequest) -> Any:
        mark = request_id.set(secrets.token_hex(8))
        try:
            return _framed(await self.get_response(request))
        finally:
            request_id.reset(mark)


def _framed(response: Any) -> Any:
    response["Content-Security-Policy"] = POLICY
    response["X-Request-Id"] = request_id.get()
    return response
