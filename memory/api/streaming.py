"""Calls with large bodies or answers: both are kept in files and not in memory.

A view of `StreamingCall` names the methods whose body it takes as a file. The server checks the token, asks the view
whether its principal may send a body and of which size (`admit`), writes the body to a file while it arrives, and runs
the view when it is complete. Answers are files that the server sends as fast as the caller reads, whole or one range of
them; a file made for one answer is deleted afterwards (`made_file_answer`).
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from django.conf import settings
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.urls import URLPattern, URLResolver
from django.utils.http import content_disposition_header
from rest_framework.request import Request

from accounts.principals import Principal
from fluxcore import blobs, body_file, config
from fluxcore.body_file import IN_REQUEST, SmallBody, SpooledBody
from fluxcore.errors import BadRequest, FluxError, NotFound, RangeNotSatisfiable, UnsupportedMediaType
from fluxcore.writes import limit_messages
from memory.api.errors import error_response
from memory.api.file_answers import FileAnswer, folder
from memory.api.views import RestView, principal

MAX_DIGITS = 18  # of a number in a header; a larger one is beyond every content
Admission = Callable[[Principal], int]  # the largest body of a principal, or a refusal


class StreamingCall(RestView):
    """A view that takes the body of some methods as a file."""

    streamed: ClassVar[tuple[str, ...]] = ()
    in_memory: ClassVar[int] = 0  # bytes up to which a body is taken as by any other call, without a file

    @classmethod
    def admit(cls, who: Principal, method: str, **named: str) -> int:
        """How many bytes `who` may send to this address. It refuses (`authorise`) before any of them is read.

        `named` are the parts of the address. A call overrides this; the verb it runs authorises as always.
        """
        return config.current().MAX_FILE_BYTES

    @classmethod
    def refused(cls, who: Principal, method: str, error: FluxError, **named: str) -> None:
        """Told of a refusal before the body is read and any verb runs: calls whose refusals are listed do it here."""

    @classmethod
    def admitted(cls, who: Principal, method: str, size: int | None, **named: str) -> int:
        """How many bytes `who` may send; a refusal if it may not, or not as many as it wants to."""
        try:
            most = cls.admit(who, method, **named)
            if size is not None and size > most:
                key = "MAX_FILE_BYTES" if most == config.current().MAX_FILE_BYTES else None
                raise limit_messages.too_large("A body", limit=most, raised_by=key)
        except FluxError as error:
            cls.refused(who, method, error, **named)
            raise
        return most

    @contextmanager
    def received(self, request: Request, **named: str) -> Iterator[SpooledBody | SmallBody]:
        """The body, which the server has admitted and written to a file. Small ones are admitted and read here."""
        kept = IN_REQUEST in request.META
        most = 0 if kept else self.admitted(principal(request), str(request.method), _length(request), **named)
        with received(request, most, self.in_memory) as body:
            yield body


@contextmanager
def received(request: Request, most: int, in_memory: int = 0) -> Iterator[SpooledBody | SmallBody]:
    """The body of a streamed call: small ones in memory, others as a file that is deleted unless the view moved it."""
    if request.META.get("HTTP_CONTENT_ENCODING", "identity").lower() != "identity":
        raise UnsupportedMediaType("Content-Encoding is not supported. Send the bytes without one.")
    body = request.META.get(IN_REQUEST) or _read(request, most, in_memory)
    try:
        yield body
    finally:
        body.remove()


def _length(request: Request) -> int | None:
    """The size of the body, as its sender says."""
    length = request.META.get("CONTENT_LENGTH") or "0"
    return int(length) if length.isdecimal() and len(length) <= MAX_DIGITS else None


def _read(request: Request, most: int, in_memory: int) -> SpooledBody | SmallBody:
    """Read the body from the request, where the server has not written it to a file."""
    length = request.META.get("CONTENT_LENGTH") or "0"
    body: SpooledBody | SmallBody
    if in_memory and length.isdecimal() and int(length) <= min(in_memory, most):
        body = SmallBody(request._request.read())
    else:
        body = body_file.spool(iter(lambda: request._request.read(body_file.CHUNK_BYTES), b""), folder(), most)
    if str(body.size) != length:
        body.remove()
        raise BadRequest("The body is incomplete. Send a token, and the exact Content-Length.")
    return body


class StreamedRoutes:
    """Routes of the streamed calls, collected once."""

    def __init__(self, patterns: Iterable[URLPattern | URLResolver]) -> None:
        self._found = list(_streamed(patterns, ()))

    def __bool__(self) -> bool:
        return bool(self._found)

    def admission(self, method: str, path: str, size: int | None = None) -> Admission | None:
        """Check to make before the body of such a request is read; None if its call takes one of that size as usual."""
        for steps, view in self._found:
            if method in view.streamed and (named := _named(steps, path[1:])) is not None:
                small = size is not None and size <= min(view.in_memory, settings.MAX_BODY_BYTES)
                return None if small else partial(view.admitted, method=method, size=size, **named)
        return None


def _streamed(
    patterns: Iterable[URLPattern | URLResolver], above: tuple[Any, ...]
) -> Iterator[tuple[tuple[Any, ...], type[StreamingCall]]]:
    for entry in patterns:
        steps = (*above, entry.pattern)
        if isinstance(entry, URLResolver):
            yield from _streamed(entry.url_patterns, steps)
            continue
        view: type = getattr(entry.callback, "view_class", object)
        if issubclass(view, StreamingCall):
            yield steps, view


def _named(steps: tuple[Any, ...], path: str) -> dict[str, Any] | None:
    """The parts that the address names; None if the steps do not lead there."""
    named: dict[str, Any] = {}
    for step in steps:
        found = step.match(path)
        if found is None:
            return None
        path = found[0]
        named |= found[2]
    return named


def made_file_answer(path: Path, *, content_type: str = "application/octet-stream", name: str = "") -> HttpResponseBase:
    """A file that was made for this answer (an export, a bundle), which is removed when it has been sent.

    `name` is what the caller's program calls it.
    """
    size = path.stat().st_size
    response = FileAnswer(path, 0, size, temporary=True, content_type=content_type)
    response["Content-Length"] = str(size)
    if name:
        response["Content-Disposition"] = content_disposition_header(as_attachment=True, filename=name) or "attachment"
    return response


class Span(NamedTuple):
    """The requested range of a content."""

    start: int
    stop: int
    partial: bool = False


_RANGE = re.compile(r"bytes=(?:([0-9]+)-([0-9]+)?|-([0-9]+))")


def span_of(request: Request, size: int, etag: str) -> Span | None:
    """The requested range; everything if the request has no range we support; None if the range is outside."""
    asked = _RANGE.fullmatch(request.META.get("HTTP_RANGE", "").replace(" ", ""))
    whole = Span(0, size)
    if asked is None or request.META.get("HTTP_IF_RANGE", etag) != etag:
        return whole
    first, last, tail = asked.groups()
    if tail is not None:
        count = _position(tail)
        return Span(max(size - count, 0), size, True) if count and size else None
    start, stop = _position(first), min(_position(last) + 1, size) if last is not None else size
    if last is not None and _position(last) < start:
        return whole  # RFC 9110: an invalid range is ignored
    return Span(start, stop, True) if start < size else None


def _position(digits: str) -> int:
    """A number of a range. Any with too many digits is beyond the end; converting them would cost time."""
    digits = digits.lstrip("0")
    return int(digits or "0") if len(digits) <= MAX_DIGITS else 10**MAX_DIGITS


def blob_answer(
    request: Request, store: blobs.BlobStore, sha256: str, *, content_type: str = "application/octet-stream"
) -> HttpResponseBase:
    """The response with a stored content or the requested range of it. Its ETag is its SHA-256."""
    size = store.size(sha256)
    if size is None:
        raise NotFound

    def part(span: Span, **more: Any) -> HttpResponseBase:
        path, start, temporary = _file(request, store, sha256, span)
        return FileAnswer(path, start, start + span.stop - span.start, temporary=temporary, **more)

    return _answer(request, size, sha256, part, content_type)


def bytes_answer(request: Request, data: bytes, sha256: str, *, content_type: str) -> HttpResponseBase:
    """Like `blob_answer`, of a small content that is in memory."""

    def part(span: Span, **more: Any) -> HttpResponseBase:
        return HttpResponse(data[span.start : span.stop], **more)

    return _answer(request, len(data), sha256, part, content_type)


def _answer(
    request: Request, size: int, sha256: str, part: Callable[..., HttpResponseBase], content_type: str
) -> HttpResponseBase:
    etag = f'"{sha256}"'
    if etag in [tag.strip() for tag in request.META.get("HTTP_IF_NONE_MATCH", "").split(",")]:
        return _with_headers(HttpResponse(status=304), etag)
    span = span_of(request, size, etag)
    if span is None:
        refusal = error_response(RangeNotSatisfiable(f"The content has {size} bytes.", size=size))
        refusal["Content-Range"] = f"bytes */{size}"
        return refusal
    response = part(span, status=206 if span.partial else 200, content_type=content_type)
    response["Content-Length"] = str(span.stop - span.start)
    if span.partial:
        response["Content-Range"] = f"bytes {span.start}-{span.stop - 1}/{size}"
    return _with_headers(response, etag)


def _with_headers(response: HttpResponseBase, etag: str) -> HttpResponseBase:
    response["ETag"] = etag
    response["Accept-Ranges"] = "bytes"
    return response


def _file(request: Request, store: blobs.BlobStore, sha256: str, span: Span) -> tuple[Path, int, bool]:
    """A local file with that range, the offset in it, and whether it is a copy to delete after sending."""
    path = store.path(sha256)
    if path is not None:
        return path, span.start, False
    if request.method == "HEAD" or span.start == span.stop:
        return Path(os.devnull), 0, False
    whole = span.stop - span.start == store.size(sha256)
    part = store.read(sha256) if whole else store.read(sha256, span.start, span.stop)
    return body_file.spool(part, folder()).path, 0, True
