"""Declared calls over REST: their routes and views, and how arguments are read from a request.

GET and DELETE take those fields that fit in a query string, the other methods take all fields in a JSON body. The
expected version of a write may also be sent as If-Match or If-None-Match; the version of an answer is its ETag.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.http import HttpResponse
from rest_framework.request import Request

from accounts.calls import handler
from flux.calls import schema
from flux.calls.base import Call, CallAtPlace, Write, calls_at_places
from fluxcore.errors import Invalid
from fluxcore.writes import preconditions
from memory.api import parsers
from memory.api.calls_schema import CallSchema
from memory.api.views import RestView as View
from memory.api.views import json_answer, principal, write_options

_OPTIONS = ("reason", "idempotency_key")
_IN_QUERY = ("string", "integer", "number", "boolean")  # types that can be read from a query string
_EXPECTED = ("expected_version", "expected_sha", "expected_value")


class Endpoint:
    """One method of one address, and the declared call it runs."""

    def __init__(self, offer: CallAtPlace) -> None:
        self.offer, self.call = offer, offer.call
        kinds = schema.kinds(offer.call)
        given = tuple(name for name in offer.call.model_fields if name not in (*offer.in_path, *_OPTIONS, "place"))
        self.writes = issubclass(offer.call, Write)
        self.expects = "expected_version" in given
        self.has_body = offer.method not in ("GET", "DELETE")
        # Fields in which null is a value. In any other field null means that it is not given.
        self.nullable = frozenset(name for name in given if not kinds[name])
        self.fields = given if self.has_body else tuple(name for name in given if kinds[name] in _IN_QUERY)
        self.kinds = {name: kinds[name] for name in self.fields}
        self.run = handler(offer.call)

    def respond(self, request: Request, **named: str) -> HttpResponse:
        value: dict[str, Any] = {}
        if self.has_body:
            value = parsers.body(request, (*self.fields, *_OPTIONS))
            given = {
                name: argument
                for name, argument in value.items()
                if name in self.kinds and (argument is not None or name in self.nullable)
            }
        else:
            if self.writes:
                value = parsers.optional_body(request, _OPTIONS, self.fields)
            given = self._from_query(parsers.query(request, self.fields))
        if self.expects:
            _expect_by_header(request, given)
        who = principal(request, value)
        options = write_options(request, value) if self.writes else {}
        answer = self.run(who, **self.offer.fields_of_call({**named, **given}), **options)
        return self._tagged(request, answer) if self.call.tagged else json_answer(answer)

    def _from_query(self, given: dict[str, str]) -> dict[str, Any]:
        arguments: dict[str, Any] = {}
        for name, text in given.items():
            if self.kinds[name] == "integer":
                arguments[name] = parsers.whole_number(text, name=name)
            elif self.kinds[name] == "boolean":
                if text not in ("true", "false"):
                    raise Invalid(f"{name} must be true or false.", field=name)
                arguments[name] = text == "true"
            else:
                arguments[name] = text
        return arguments

    def _tagged(self, request: Request, answer: dict[str, Any]) -> HttpResponse:
        not_modified = self.call.reads and "HTTP_IF_NONE_MATCH" in request.META and _unchanged(request, answer)
        response = HttpResponse(status=304) if not_modified else json_answer(answer)
        response["ETag"] = f'"v{answer["version"]}"'
        return response


def _expect_by_header(request: Request, given: dict[str, Any]) -> None:
    """Take the expected version from If-Match or If-None-Match; refuse it if the fields have one too."""
    meta = request.META
    if "HTTP_IF_MATCH" not in meta and "HTTP_IF_NONE_MATCH" not in meta:
        return
    expected = preconditions.from_headers(meta.get("HTTP_IF_MATCH"), meta.get("HTTP_IF_NONE_MATCH"))
    if any(name in given for name in _EXPECTED):
        raise Invalid("Send the expected version in a header or in the body, not in both.", field="If-Match")
    for name in ("expected_version", "expected_sha"):
        if getattr(expected, name) is not None:
            given[name] = getattr(expected, name)


def _unchanged(request: Request, answer: dict[str, Any]) -> bool:
    """Whether If-None-Match names this version or the SHA-256 of this value."""
    given = request.META.get("HTTP_IF_NONE_MATCH", "")
    tags = {tag.strip().removeprefix("W/").strip('"') for tag in given.split(",")}
    return bool(tags & {f"v{answer['version']}", answer["sha"]}) or given.strip() == "*"


def routes(calls: Iterable[type[Call]]) -> list[tuple[str, Any]]:
    """The addresses of declared calls, each with the view that answers all its methods."""
    by_path: dict[str, dict[str, Endpoint]] = {}
    for offer in calls_at_places(calls):
        if offer.method:
            by_path.setdefault(offer.path, {})[offer.method.lower()] = Endpoint(offer)
    return [(route(path), _view(path, endpoints)) for path, endpoints in by_path.items()]


def route(path: str) -> str:
    """Django's route of a path, for example `agents/<str:agent>/kv/<path:key>`: a key may contain slashes."""
    return path.replace("{key}", "<path:key>").replace("{", "<str:").replace("}", ">")


def _view(path: str, endpoints: dict[str, Endpoint]) -> Any:
    methods: dict[str, Any] = {"schema": CallSchema(), "endpoints": endpoints}
    for method, endpoint in endpoints.items():
        methods[method] = _method(endpoint)
    return type(f"View of {path}", (View,), methods).as_view()  # type: ignore[attr-defined]


def _method(endpoint: Endpoint) -> Any:
    def respond(self: View, request: Request, **named: str) -> HttpResponse:
        return endpoint.respond(request, **named)

    respond.__doc__ = endpoint.offer.says
    return respond
