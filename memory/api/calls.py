"""Declared calls over REST: their routes and views, and how arguments are read from a request.

GET and DELETE take those fields that fit in a query string, a list as a repeated parameter; the other methods take all
fields in a JSON body. The expected version of a write may also be sent as If-Match or If-None-Match; the version of an
answer is its ETag.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.http import HttpResponse
from rest_framework.request import Request

from accounts.calls import handler
from flux.calls import schema
from flux.calls.base import WITH_SLASHES, Call, CallAtPlace, Write, calls_at_places
from fluxcore.errors import Invalid
from fluxcore.writes import preconditions
from memory.api import parsers
from memory.api.calls_schema import CallSchema
from memory.api.converters import TEXT
from memory.api.views import RestView as View
from memory.api.views import json_answer, principal, write_options

_OPTIONS = schema.LABELS_OF_WRITES
_IN_HEADERS = ("expected_version", "expected_sha")
_EXPECTED = (*_IN_HEADERS, "expected_value")


class Endpoint:
    """One method of one address, and the declared call it runs."""

    def __init__(self, offer: CallAtPlace) -> None:
        self.offer, self.call = offer, offer.call
        kinds, items = schema.kinds(offer.call), schema.item_kinds(offer.call)
        self.writes = issubclass(offer.call, Write)
        self.fields = schema.rest_fields(offer)
        self.expects = any(name in self.fields for name in _IN_HEADERS)
        self.has_body = offer.method not in ("GET", "DELETE")
        # Fields in which null is a value. In any other field null means that it is not given.
        self.nullable = frozenset(name for name in self.fields if not kinds[name])
        self.kinds = {name: kinds[name] for name in self.fields}
        self.lists = {name: items[name] for name in self.fields if name in items and not self.has_body}
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
                value = parsers.optional_body(request, _OPTIONS, self.fields, repeated=self.lists)
            given = self._from_query(request)
        if self.expects:
            _expect_by_header(request, given, self.fields)
        who = principal(request, value)
        options = write_options(request, value) if self.writes else {}
        answer = self.run(who, **self.offer.fields_of_call({**named, **given}), **options)
        return self._tagged(request, answer) if self.call.tagged else json_answer(answer)

    def _from_query(self, request: Request) -> dict[str, Any]:
        texts = parsers.query(request, self.fields, repeated=self.lists)
        found = {name: _value(text, self.kinds[name], name) for name, text in texts.items() if name not in self.lists}
        for name, kind in self.lists.items():
            if name in texts:
                found[name] = [_value(text, kind, name) for text in parsers.all_of(request, name)]
        return found

    def _tagged(self, request: Request, answer: dict[str, Any]) -> HttpResponse:
        not_modified = self.call.reads and "HTTP_IF_NONE_MATCH" in request.META and _unchanged(request, answer)
        response = HttpResponse(status=304) if not_modified else json_answer(answer)
        response["ETag"] = f'"{_tag(answer)}"'
        return response


def _tag(answer: dict[str, Any]) -> str:
    """Version of an answer; its digest if it has no version."""
    return f"v{answer['version']}" if "version" in answer else answer["sha"]


def _value(text: str, kind: str, name: str) -> Any:
    """Value of a parameter of this type."""
    if kind == "integer":
        return parsers.whole_number(text, name=name)
    if kind == "number":
        return parsers.number(text, name=name)
    if kind == "boolean":
        if text not in ("true", "false"):
            raise Invalid(f"{name} must be true or false.", field=name)
        return text == "true"
    return text


def _expect_by_header(request: Request, given: dict[str, Any], fields: tuple[str, ...]) -> None:
    """Take the expected version from If-Match or If-None-Match; refuse it if the fields have one too."""
    meta = request.META
    if "HTTP_IF_MATCH" not in meta and "HTTP_IF_NONE_MATCH" not in meta:
        return
    expected = preconditions.from_headers(meta.get("HTTP_IF_MATCH"), meta.get("HTTP_IF_NONE_MATCH"))
    if any(name in given for name in _EXPECTED):
        raise Invalid("Send the expected version in a header or in the body, not in both.", field="If-Match")
    if expected.expected_version == 0 and "expected_version" not in fields:
        expected = preconditions.Precondition(expected_sha="")  # nothing is there
    for name in _IN_HEADERS:
        if getattr(expected, name) is not None:
            if name not in fields:
                other = "a SHA-256" if name == "expected_version" else 'a version such as "v3"'
                raise Invalid(f"If-Match takes {other} here.", field="If-Match")
            given[name] = getattr(expected, name)


def _unchanged(request: Request, answer: dict[str, Any]) -> bool:
    """Whether If-None-Match names this version or the SHA-256 of this value."""
    given = request.META.get("HTTP_IF_NONE_MATCH", "")
    tags = {tag.strip().removeprefix("W/").strip('"') for tag in given.split(",")}
    return bool(tags & {_tag(answer), answer.get("sha")}) or given.strip() == "*"


def routes(calls: Iterable[type[Call]]) -> list[tuple[str, Any]]:
    """The addresses of declared calls, each with the view that answers all its methods."""
    by_path: dict[str, dict[str, Endpoint]] = {}
    for offer in calls_at_places(calls):
        if offer.method:
            by_path.setdefault(offer.path, {})[offer.method.lower()] = Endpoint(offer)
    return [(route(path), _view(path, endpoints)) for path, endpoints in by_path.items()]


def route(path: str) -> str:
    """Django's route of a path, for example `agents/<str:agent>/kv/<text:key>`: a key may contain slashes."""
    for name in WITH_SLASHES:
        path = path.replace(f"{{{name}}}", f"<{TEXT}:{name}>")
    return path.replace("{", "<str:").replace("}", ">")


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
