"""Bytes of files for browsers: downloads, which a browser saves and never opens, and pictures."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

from django.core.handlers.asgi import ASGIRequest
from django.http import Http404, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.utils.http import content_disposition_header

from dashboard import file_content
from dashboard.store_pages import StoreVisit, store_page
from fluxcore import blobs
from memory.artifacts import reading
from memory.artifacts.reading import OpenedFile


@store_page("GET")
def download(visit: StoreVisit, store: str, path: str) -> HttpResponseBase:
    """A file, or a version of it. Always as bytes of no type: a page of an agent must not be a page of this server."""
    found = _opened(visit, store, path)
    if found.data is not None:
        answer: HttpResponseBase = HttpResponse(found.data, content_type="application/octet-stream")
    else:
        parts = blobs.of_instance().read(found.sha)
        # Under ASGI Django would read a synchronous iterator to its end before it sends the first byte.
        sent: Any = _parts_async(parts) if isinstance(visit.request, ASGIRequest) else parts
        answer = StreamingHttpResponse(sent, content_type="application/octet-stream")
        answer["Content-Length"] = str(found.size)
    answer["Content-Disposition"] = (
        content_disposition_header(as_attachment=True, filename=path.rpartition("/")[2]) or "attachment"
    )
    return answer


@store_page("GET")
def picture(visit: StoreVisit, store: str, path: str) -> HttpResponseBase:
    """A picture to be shown in a page, if its bytes are one of the types that cannot run anything."""
    found = _opened(visit, store, path)
    if found.size > file_content.MAX_PICTURE:
        raise Http404
    data = found.data if found.data is not None else b"".join(blobs.of_instance().read(found.sha))
    kind = file_content.picture_type(data)
    if not kind:
        raise Http404
    return HttpResponse(data, content_type=kind)


def _opened(visit: StoreVisit, store: str, path: str) -> OpenedFile:
    version = visit.number("version")
    return reading.open_file(visit.me, store=store, path=path, **({"version": version} if version else {}))


async def _parts_async(parts: Iterator[bytes]) -> AsyncIterator[bytes]:
    while chunk := await asyncio.to_thread(next, parts, b""):
        yield chunk
