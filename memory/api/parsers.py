"""Readers of request bodies, query strings and headers: limited in size, strict JSON, unknown fields refused."""

from __future__ import annotations

import math
import re
import uuid
from collections.abc import Collection, Mapping
from typing import Any

from django.conf import settings
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.parsers import BaseParser
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request

from accounts.labels import LABEL as LABEL
from accounts.labels import LABELS as LABELS
from accounts.labels import check_label
from fluxcore.canonical_json import loads
from fluxcore.errors import BadJSON, Invalid, LengthRequired, NotAcceptable, UnsupportedMediaType
from fluxcore.writes import limit_messages

# Headers have no agreed encoding beyond ASCII, and HTTP strips spaces at both ends.
HEADER = r"^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$"
_HEADER = re.compile(HEADER)


class StrictJSON(BaseParser):
    """DRF's parser, for the schema; views read bodies with `body` below."""

    media_type = "application/json"

    def parse(self, stream: Any, media_type: str | None = None, parser_context: Mapping[str, Any] | None = None) -> Any:
        return loads(stream.read())


class PlainText(BaseRenderer):
    """DRF's renderer of a plain text address, for the schema; the view writes the bytes."""

    media_type = "text/plain"
    format = "txt"


class EventStream(BaseRenderer):
    """Renderer of an address that also answers with server-sent events."""

    media_type = "text/event-stream"
    format = "events"


class AnyText(BaseRenderer):
    """Renderer of an address whose media type depends on a parameter and not on Accept."""

    media_type = "*/*"
    format = "any"


class JSONOnly(BaseContentNegotiation):
    """Content negotiation: an address has one media type, errors are JSON; an Accept that excludes it is refused."""

    def select_parser(self, request: Request, parsers: Any) -> Any:
        return parsers[0]

    def select_renderer(
        self, request: Request, renderers: Any, format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        accept, kind = request.META.get("HTTP_ACCEPT"), renderers[0].media_type
        if accept and accept != "*/*" and kind != "*/*":
            wanted = {part.split(";")[0].strip().lower() for part in accept.split(",")}
            if not wanted & {"*/*", "application/json", "application/*", kind, f"{kind.split('/')[0]}/*"}:
                raise NotAcceptable
        return renderers[0], kind


def body(
    request: Request, fields: tuple[str, ...], asked: tuple[str, ...] = (), *, repeated: Collection[str] = ()
) -> dict[str, Any]:
    """The request's JSON object with the fields of a call; labels are removed, unknown fields refused.

    `asked` are query parameters that the address also takes.
    """
    meta = request.META
    if meta.get("QUERY_STRING"):
        query(request, asked, repeated=repeated)
    if "chunked" in meta.get("HTTP_TRANSFER_ENCODING", "").lower():
        raise LengthRequired
    if meta.get("HTTP_CONTENT_ENCODING", "identity").lower() != "identity":
        raise UnsupportedMediaType
    kind = meta.get("CONTENT_TYPE", "")
    if kind != "application/json" and not _is_utf8_json(kind):
        raise UnsupportedMediaType
    length = meta.get("CONTENT_LENGTH") or "0"
    if not (length.isdecimal() and length.isascii()):
        raise BadJSON("Content-Length is not a number.")
    if len(length) > 15 or int(length) > settings.MAX_BODY_BYTES:
        raise limit_messages.body_too_large("A body", settings.MAX_BODY_BYTES)
    raw = request._request.body
    if len(raw) != int(length):
        raise BadJSON("The body is shorter than its Content-Length.")
    value = loads(raw)
    if not isinstance(value, dict):
        raise Invalid("The body must be a JSON object.")
    for name in value:
        if name not in fields and name not in LABELS:
            raise Invalid.unknown(name, (*fields, *LABELS))
    return value


def optional_body(
    request: Request, fields: tuple[str, ...], asked: tuple[str, ...] = (), *, repeated: Collection[str] = ()
) -> dict[str, Any]:
    """Like `body`, but a request without a body counts as one with an empty object."""
    meta = request.META
    if (
        not meta.get("CONTENT_TYPE")
        and (meta.get("CONTENT_LENGTH") or "0") == "0"
        and "HTTP_TRANSFER_ENCODING" not in meta
    ):
        query(request, asked, repeated=repeated)
        return {}
    return body(request, fields, asked, repeated=repeated)


def _is_utf8_json(content_type: str) -> bool:
    kind, *options = (part.strip().lower() for part in content_type.split(";"))
    charsets = [option.partition("=")[2].strip('"') for option in options if option.startswith("charset")]
    return kind == "application/json" and all(charset == "utf-8" for charset in charsets)


def text(value: dict[str, Any], name: str) -> str | None:
    """An optional text field."""
    found = value.get(name)
    if found is not None and (not isinstance(found, str) or "\0" in found):
        # PostgreSQL cannot store a NUL and SQLite would cut the text there, so both refuse it.
        raise Invalid(f"{name} must be a text without NUL.", field=name)
    return found


def label(request: Request, value: dict[str, Any]) -> str:
    """The caller's label, from the header, else from the body fields. All of them are checked."""
    given: dict[str, str] = {}
    for name in LABELS:
        if name in value:
            found = text(value, name)
            if found:
                given[name] = check_label(name, found)
    header = request.META.get("HTTP_X_CALLER_ID")
    if header is not None:
        # The server passes a value beyond ASCII on as an empty one. Such names can be sent in the body.
        if len(header) > LABELS["caller_id"] or not _HEADER.fullmatch(header):
            raise Invalid("X-Caller-Id must have 1 to 128 printable ASCII characters.", field="X-Caller-Id")
        return str(header)
    return given.get("caller_id") or ":".join(given[name] for name in ("client", "role") if name in given)


def query(request: Request, fields: tuple[str, ...], *, repeated: Collection[str] = ()) -> dict[str, str]:
    """Parameters of the query string: each known, each at most once unless in `repeated` (`all_of` has its values)."""
    found: dict[str, str] = {}
    for name, values in request._request.GET.lists():
        if name not in fields:
            raise Invalid.unknown(name, fields, what="parameter")
        if len(values) > 1 and name not in repeated:
            raise Invalid(f"{name} is given twice.", field=name)
        found[name] = values[0]
    return found


def all_of(request: Request, name: str) -> list[str]:
    """Every value of a parameter that may be repeated, in order."""
    found: list[str] = request._request.GET.getlist(name)
    return found


_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


def identifier(value: str) -> uuid.UUID | None:
    """The UUID in the form this server writes; None for any other form (Python also reads braces and URNs)."""
    return uuid.UUID(value) if _UUID.fullmatch(value) else None


def whole_number(value: str, *, name: str) -> int:
    if not (value.isdecimal() and value.isascii() and len(value) <= 9):
        raise Invalid(f"{name} must be a whole number.", field=name)
    return int(value)


_NUMBER = re.compile(r"-?[0-9]{1,17}(?:\.[0-9]{1,17})?(?:[eE][+-]?[0-9]{1,3})?")


def number(value: str, *, name: str) -> int | float:
    """A number as JSON writes it; one without a fraction stays whole."""
    if not _NUMBER.fullmatch(value) or not math.isfinite(found := float(value)):
        raise Invalid(f"{name} must be a number.", field=name)
    return int(value) if value.lstrip("-").isdecimal() else found
