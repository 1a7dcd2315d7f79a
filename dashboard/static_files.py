"""Static files of the pages, served by the process that serves the pages."""

from __future__ import annotations

from typing import Any

from asgiref.sync import async_to_sync, iscoroutinefunction, markcoroutinefunction
from django.http import HttpRequest
from servestatic.middleware import ServeStaticMiddleware


class StaticFilesMiddleware:
    """ServeStatic. It is asynchronous: where the rest is not, only a static file waits for an event loop."""

    async_capable = True
    sync_capable = True

    def __init__(self, get_response: Any) -> None:
        self.get_response = get_response
        self.is_async = iscoroutinefunction(get_response)
        self.static = ServeStaticMiddleware(get_response if self.is_async else _no_file)
        if self.is_async:
            markcoroutinefunction(self)

    def __call__(self, request: HttpRequest) -> Any:
        """Return the response; under ASGI a coroutine of it."""
        if self.is_async:
            return self.static(request)
        if request.path_info in self.static.files:
            return async_to_sync(self.static)(request)
        return self.get_response(request)


async def _no_file(request: HttpRequest) -> Any:
    raise NotImplementedError(request.path_info)
