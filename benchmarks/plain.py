"""The reference of the request benchmark: a constant answer from a Django view without any middleware of ours."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "fluxsite.settings")

from django.core.handlers.wsgi import WSGIHandler
from django.http import HttpRequest, HttpResponse
from django.test import override_settings
from django.urls import path

_ANSWER = b'{"id":"00000000-0000-4000-8000-000000000000","content":"' + b"x" * 200 + b'","status":"active"}'


def constant(request: HttpRequest) -> HttpResponse:
    return HttpResponse(_ANSWER, content_type="application/json")


urlpatterns = [path("plain", constant)]


def own_addresses(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    def choose(request: HttpRequest) -> HttpResponse:
        request.urlconf = "benchmarks.plain"
        return get_response(request)

    return choose


def beside(application: Any) -> Any:
    """The application, with /plain answered by the reference."""
    with override_settings(MIDDLEWARE=["benchmarks.plain.own_addresses"]):
        reference = WSGIHandler()

    def choose(environ: dict[str, Any], start_response: Any) -> Any:
        return (reference if environ["PATH_INFO"] == "/plain" else application)(environ, start_response)

    return choose
