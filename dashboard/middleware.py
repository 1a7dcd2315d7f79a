"""Headers of the people's door: nothing inline, nothing from elsewhere."""

from __future__ import annotations

from typing import Any

from asgiref.sync import iscoroutinefunction, markcoroutinefunction
from django.http import HttpRequest

POLICY = "; ".join([
    "default-src 'self'",
    "img-src 'self' data:",
    "object-src 'none'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
])  # fmt: skip


class ContentSecurityPolicy:
    async_capable = True
    sync_capable = True

    def __init__(self, get_response: Any) -> None:
        self.get_response = get_response
        if iscoroutinefunction(get_response):
            markcoroutinefunction(self)

    def __call__(self, request: HttpRequest) -> Any:
        if iscoroutinefunction(self.get_response):
            return self._call_async(request)
        return self._with_policy(self.get_response(request))

    async def _call_async(self, request: HttpRequest) -> Any:
        return self._with_policy(await self.get_response(request))

    @staticmethod
    def _with_policy(response: Any) -> Any:
        response["Content-Security-Policy"] = POLICY
        return response
