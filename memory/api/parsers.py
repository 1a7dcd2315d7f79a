"""Bodies: bounded before they are read, strict JSON objects, nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from django.conf import settings
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.parsers import BaseParser
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request

from fluxcore.canonical import loads
from fluxcore.errors import BadJSON, Invalid, LengthRequired, NotAcceptable, TooLarge, UnsupportedMediaType

# The seed's names for who calls. They label a caller inside its token's agent and are never an identity.
LABELS = ("caller_id", "client", "role")
MAX_LABEL = 128


class StrictJSON(BaseParser):
    """What DRF sees for the schema; hot views read through `body` below."""

    media_type = "application/json"

    def parse(self, stream: Any, media_type: str | None = None, parser_context: Mapping[str, Any] | None = None) -> Any:
        return loads(stream.read())


class JSONOnly(BaseContentNegotiation):
    """Every answer is JSON; an Accept header that rules JSON out is told so."""

    _fine: ClassVar[tuple[str, ...]] = ("*/*", "application/*", "application/json")

    def select_parser(self, request: Request, parsers: Any) -> Any:
        return parsers[0]

    def select_renderer(
        self, request: Request, renderers: Any, format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        accept = request.META.get("HTTP_ACCEPT")
        if accept:
            wanted = {part.split(";")[0].strip() for part in accept.split(",")}
            if not wanted & {*self._fine, renderers[0].media_type}:
                raise NotAcceptable
        return renderers[0], renderers[0].media_type


def body(request: Request, fields: tuple[str, ...]) -> dict[str, Any]:
    """The request's JSON object with only the fields a call knows; labels are taken off, the rest refused."""
    meta = request.META
    if "chunked" in meta.get("HTTP_TRANSFER_ENCODING", "").lower():
        raise LengthRequired
    if meta.get("HTTP_CONTENT_ENCODING", "identity").lower() != "identity":
        raise UnsupportedMediaType
    kind, _, options = meta.get("CONTENT_TYPE", "").partition(";")
    if kind.strip().lower() != "application/json" or "charset" in options.lower() and "utf-8" not in options.lower():
        raise UnsupportedMediaType
    length = meta.get("CONTENT_LENGTH") or "0"
    if not length.isdecimal():
        raise BadJSON("Content-Length is not a number.")
    if len(length) > 15 or int(length) > settings.MAX_BODY_BYTES:
        raise TooLarge(f"A body has at most {settings.MAX_BODY_BYTES} bytes.", limit=settings.MAX_BODY_BYTES)
    raw = request._request.body
    if len(raw) != int(length):
        raise BadJSON("The body is shorter than its Content-Length.")
    value = loads(raw)
    if not isinstance(value, dict):
        raise Invalid("The body must be a JSON object.")
    for name in value:
        if name not in fields and name not in LABELS:
            raise Invalid(f"Unknown field {name[:64]!r}.", field=name[:64])
    return value


def text(value: dict[str, Any], name: str) -> str | None:
    """An optional text field."""
    found = value.get(name)
    if found is not None and not isinstance(found, str):
        raise Invalid(f"{name} must be a text.", field=name)
    return found


def label(request: Request, value: dict[str, Any]) -> str:
    """What the caller calls itself: the header, else the seed's body fields."""
    found = request.META.get("HTTP_X_CALLER_ID")
    if found is None:
        client, role = text(value, "client"), text(value, "role")
        found = text(value, "caller_id") or ":".join(part for part in (client, role) if part)
    if len(found) > MAX_LABEL or not found.isprintable():
        raise Invalid(f"A caller's label has at most {MAX_LABEL} printable characters.", field="caller_id")
    return found


def query(request: Request, fields: tuple[str, ...]) -> dict[str, str]:
    """The query string as single values of known names."""
    found: dict[str, str] = {}
    for name, values in request._request.GET.lists():
        if name not in fields:
            raise Invalid(f"Unknown parameter {name[:64]!r}.", field=name[:64])
        if len(values) > 1:
            raise Invalid(f"{name} is given twice.", field=name)
        found[name] = values[0]
    return found


def whole_number(value: str, *, name: str) -> int:
    if not (value.isdecimal() and value.isascii() and len(value) <= 9):
        raise Invalid(f"{name} must be a whole number.", field=name)
    return int(value)
