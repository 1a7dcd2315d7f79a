"""Exact memory over REST: the keys of an agent or a board, one by one, listed, in batches, and what they held."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request

from fluxcore.errors import Invalid
from fluxcore.writes import preconditions
from fluxcore.writes.preconditions import Precondition
from memory.api import exact_shapes as shapes
from memory.api import parsers
from memory.api.views import RestView, json_answer, principal, write_options
from memory.keyvalue import forgetting, history, keeping, listing, orders, reading
from memory.keyvalue.given import expectation

_EXPECTED = ("expected_version", "expected_sha", "expected_value")
_COMMON = (*_EXPECTED, "reason", "idempotency_key")
_OPS = ("incr", "append", "touch", "restore")


def precondition(request: Request, value: dict[str, Any]) -> Precondition:
    """From the headers or from the body, not from both."""
    by_header = preconditions.from_headers(request.META.get("HTTP_IF_MATCH"), request.META.get("HTTP_IF_NONE_MATCH"))
    by_body = expectation(value)
    if by_header.given and by_body.given:
        raise Invalid("Say what you expect in a header or in the body, not in both.", field="If-Match")
    return by_header if by_header.given else by_body


def tagged(answer: dict[str, Any]) -> HttpResponse:
    response = json_answer(answer)
    response["ETag"] = f'"v{answer["version"]}"'
    return response


def unchanged(request: Request, answer: dict[str, Any]) -> bool:
    """Whether the caller has this version, or this very value, already."""
    given = request.META.get("HTTP_IF_NONE_MATCH", "")
    tags = {tag.strip().removeprefix("W/").strip('"') for tag in given.split(",")}
    return bool(tags & {f"v{answer['version']}", answer["sha"]}) or given.strip() == "*"


def number(value: dict[str, str], name: str) -> dict[str, int]:
    return {name: parsers.whole_number(value[name], name=name)} if name in value else {}


def yes_or_no(value: dict[str, str], name: str) -> dict[str, bool]:
    if name in value and value[name] not in ("true", "false"):
        raise Invalid(f"{name} is true or false.", field=name)
    return {name: value[name] == "true"} if name in value else {}


def _views(kind: str, prefix: str) -> list[tuple[str, Any]]:
    """The calls on the keys of one kind of namespace."""
    one = kind[:-1]
    named_by, key = shapes.named(one), shapes.keyed(one)

    def where(named: dict[str, str]) -> str:
        return f"{kind}/{named[one]}"

    class Keys(RestView):
        @extend_schema(
            operation_id=f"{prefix}_list", responses=shapes.KeyPage, parameters=[*named_by, *shapes.LIST_PARAMETERS]
        )
        def get(self, request: Request, **named: str) -> HttpResponse:
            """Keys in order, page by page: only those you may read."""
            value = parsers.query(request, ("pattern", "limit", "cursor", "values"))
            given: dict[str, Any] = {name: value[name] for name in ("pattern", "cursor") if name in value}
            given |= number(value, "limit") | yes_or_no(value, "values")
            return json_answer(listing.page(principal(request), where=where(named), **given))

    class Key(RestView):
        @extend_schema(operation_id=f"{prefix}_get", responses=shapes.Kept, parameters=key)
        def get(self, request: Request, **named: str) -> HttpResponse:
            """The value with its version, digest, expiry and writer. If-None-Match answers 304 where you have it."""
            parsers.query(request, ())
            found = reading.get(principal(request), where=where(named), key=named["key"])
            if "HTTP_IF_NONE_MATCH" in request.META and unchanged(request, found):
                response = HttpResponse(status=304)
                response["ETag"] = f'"v{found["version"]}"'
                return response
            return tagged(found)

        @extend_schema(
            operation_id=f"{prefix}_set",
            request=shapes.Set,
            responses=shapes.Written,
            parameters=[*key, *shapes.EXPECTING],
        )
        def put(self, request: Request, **named: str) -> HttpResponse:
            """Write a value. With an expectation it is compare-and-set: nothing is written unless it holds."""
            return self._write(request, "set", parsers.body(request, (*orders.FIELDS["set"], *_COMMON)), named)

        @extend_schema(
            operation_id=f"{prefix}_patch",
            request=shapes.Patch,
            responses=shapes.Changed,
            parameters=[*key, *shapes.EXPECTING],
        )
        def patch(self, request: Request, **named: str) -> HttpResponse:
            """Change an object by JSON merge patch (RFC 7396)."""
            return self._write(request, "patch", parsers.body(request, (*orders.FIELDS["patch"], *_COMMON)), named)

        @extend_schema(
            operation_id=f"{prefix}_change",
            request=shapes.Change,
            responses=shapes.Changed,
            parameters=[*key, *shapes.EXPECTING],
        )
        def post(self, request: Request, **named: str) -> HttpResponse:
            """One step on what is there, by `op`: incr, append, touch or restore."""
            known = {name for op in _OPS for name in orders.FIELDS[op]}
            value = parsers.body(request, ("op", *sorted(known), *_COMMON))
            op = value.pop("op", None)
            if op not in _OPS:
                raise Invalid(f"op is one of {', '.join(_OPS)}.", field="op")
            return self._write(request, op, value, named)

        @extend_schema(
            operation_id=f"{prefix}_delete",
            responses={200: shapes.Deleted},
            parameters=[*key, *shapes.EXPECTING, *shapes.DELETE_PARAMETERS],
        )
        def delete(self, request: Request, **named: str) -> HttpResponse:
            """Take the key away; one that is not there is fine. With history=forget its earlier versions are purged."""
            asked = ("expected_version", "expected_sha", "history")
            value = parsers.optional_body(request, ("reason", "idempotency_key"), asked)
            given = parsers.query(request, asked)
            earlier = given.pop("history", forgetting.KEEP)
            expected: dict[str, Any] = {**given, **number(given, "expected_version")}
            answer = forgetting.delete(
                principal(request, value),
                where=where(named),
                key=named["key"],
                history=earlier,
                precondition=precondition(request, expected),
                **write_options(request, value),
            )
            return json_answer(answer)

        def _write(self, request: Request, op: str, value: dict[str, Any], named: dict[str, str]) -> HttpResponse:
            given = {name: value[name] for name in value if name not in _COMMON and name not in parsers.LABELS}
            answer = keeping.VERBS[op](
                principal(request, value),
                where=where(named),
                key=named["key"],
                precondition=precondition(request, value),
                **given,
                **write_options(request, value),
            )
            return tagged(answer)

    class Batch(RestView):
        @extend_schema(
            operation_id=f"{prefix}_batch",
            request=shapes.Batch,
            responses=shapes.BatchDone,
            parameters=[*named_by, *shapes.WRITE_HEADERS],
        )
        def post(self, request: Request, **named: str) -> HttpResponse:
            """Up to 100 operations in one transaction: all of them or none."""
            value = parsers.body(request, ("operations", "reason", "idempotency_key"))
            return json_answer(
                keeping.batch(
                    principal(request, value),
                    where=where(named),
                    operations=value.get("operations"),
                    **write_options(request, value),
                )
            )

    class History(RestView):
        @extend_schema(
            operation_id=f"{prefix}_history", responses=shapes.History, parameters=[*key, *shapes.HISTORY_PARAMETERS]
        )
        def get(self, request: Request, **named: str) -> HttpResponse:
            """What became of a key, newest first; with `version` the value it had then."""
            value = parsers.query(request, ("version", "limit"))
            given = {"where": where(named), "key": named["key"]}
            if "version" in value:
                return json_answer(history.version(principal(request), **given, **number(value, "version")))  # type: ignore[arg-type]
            return json_answer(history.page(principal(request), **given, **number(value, "limit")))  # type: ignore[arg-type]

    return [
        (f"{kind}/<str:{one}>/kv/<path:key>", Key.as_view()),
        (f"{kind}/<str:{one}>/kv", Keys.as_view()),
        (f"{kind}/<str:{one}>/batch", Batch.as_view()),
        (f"{kind}/<str:{one}>/history/<path:key>", History.as_view()),
    ]


CALLS = [*_views("agents", "memory"), *_views("boards", "board")]
