"""REST calls with the bytes of a file: get, put, append and delete `/stores/{store}/files/{path}`.

Bodies and answers are the bytes themselves, of any size up to MAX_FILE_BYTES; the labels of a write are parameters of
the address. The other calls on stores are declared (`flux/calls/stores.py`, `flux/calls/files.py`).
"""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.utils.http import content_disposition_header
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request

from accounts.authorise import authorise
from accounts.origins import CLAIMABLE
from accounts.principals import Principal
from flux.calls.store_answers import FilesRemoved, FileWritten
from fluxcore import blobs
from fluxcore.errors import FluxError, Invalid, NotFound, UnsupportedMediaType
from fluxcore.writes import preconditions
from memory.api import common_serializers, parsers, streaming
from memory.api.calls_schema import answer_serializer
from memory.api.converters import TEXT
from memory.api.views import json_answer, principal, write_options
from memory.artifacts import contents, files, proposals, reading, refusals
from memory.artifacts.contents import NewContent

_asks = proposals.asks_to_write
_LABELS = ("actor", "reason", *parsers.LABELS)
_EXPECTED_SHA = OpenApiParameter(
    "expected_sha", {"type": "string", "pattern": "^([0-9a-f]{64})?$"}, description="SHA-256 the file must have now."
)
_ACTOR = OpenApiParameter("actor", {"type": "string", "maxLength": 128}, description="Label of the writer.")
_REASON = OpenApiParameter("reason", {"type": "string", "maxLength": 500}, description="Reason of the write.")
_PROVENANCE = OpenApiParameter("provenance", str, enum=list(CLAIMABLE), description="Provenance of the content.")
_CHANGE = [_EXPECTED_SHA, _ACTOR, _REASON, *common_serializers.WRITE_HEADERS]
_WRITE = [*_CHANGE, _PROVENANCE]
_OPS = {"PUT": "write", "POST": "append"}  # as the log of a store names them
# Types that programs send when they mean none.
_NO_TYPE = ("", "application/x-www-form-urlencoded")


class FileView(streaming.StreamingCall):
    """The bytes of one file."""

    streamed, in_memory = ("PUT", "POST"), contents.INLINE_BYTES
    renderer_classes = (parsers.AnyText,)

    @classmethod
    def admit(cls, who: Principal, method: str, **named: str) -> int:
        for operation, wanted in _asks(who, named):
            authorise(who, operation, wanted, action="files.put" if method == "PUT" else "files.append_bytes")
        return super().admit(who, method, **named)

    @classmethod
    def refused(cls, who: Principal, method: str, error: FluxError, **named: str) -> None:
        refusals.noted_as(_OPS[method])(who, named, error)

    @extend_schema(
        operation_id="get_file",
        parameters=[OpenApiParameter("version", {"type": "integer", "minimum": 1}, description="An earlier version.")],
        responses={(200, "application/octet-stream"): OpenApiTypes.BINARY},
    )
    def get(self, request: Request, store: str, path: str) -> HttpResponseBase:
        """Read a file, or a range of it, byte for byte. Its ETag is its SHA-256."""
        value = parsers.query(request, ("version",))
        version = parsers.whole_number(value["version"], name="version") if "version" in value else None
        if version == 0:
            raise Invalid("version must be at least 1.", field="version")
        found = reading.open_file(principal(request), store=store, path=path, version=version)
        if found.data is not None:
            response = streaming.bytes_answer(request, found.data, found.sha, content_type=found.content_type)
        else:
            try:
                response = streaming.blob_answer(
                    request, blobs.of_instance(), found.sha, content_type=found.content_type
                )
            except NotFound:
                raise contents.blob_is_missing(found.sha) from None
        response["Flux-Version"] = str(found.version)
        # A browser shows nothing of it as a page of this server: whoever may write may store any page.
        response["Content-Disposition"] = (
            content_disposition_header(as_attachment=True, filename=path.rpartition("/")[2]) or "attachment"
        )
        response["Content-Security-Policy"] = "sandbox; default-src 'none'"
        response["X-Content-Type-Options"] = "nosniff"
        return response

    @extend_schema(
        operation_id="put_file",
        request={"application/octet-stream": OpenApiTypes.BINARY},
        parameters=_WRITE,
        responses={200: answer_serializer(FileWritten)},
    )
    def put(self, request: Request, store: str, path: str) -> HttpResponse:
        """Write a file from the body, byte for byte. If a given expectation does not hold, nothing is written."""
        return self._write(request, files.put_file, store, path, content_type=_content_type(request))

    @extend_schema(
        operation_id="append_file",
        request={"application/octet-stream": OpenApiTypes.BINARY},
        parameters=_WRITE,
        responses={200: answer_serializer(FileWritten)},
    )
    def post(self, request: Request, store: str, path: str) -> HttpResponse:
        """Add the body to the end of a file, which is created if it does not exist."""
        _content_type(request)
        return self._write(request, files.append_bytes, store, path)

    def _write(self, request: Request, verb: Any, store: str, path: str, **more: str | None) -> HttpResponse:
        value = parsers.query(request, (*_LABELS, "expected_sha", "provenance"))
        given: dict[str, Any] = {"store": store, "path": path, **more, **_labels(value), **_expected(request, value)}
        if "provenance" in value:
            given["provenance"] = value["provenance"]
        who = principal(request, value)
        with self.received(request, store=store, path=path) as body:
            answer = verb(who, content=NewContent.of_body(body), **given, **write_options(request, value))
        response = json_answer(answer)
        if "sha" in answer:
            response["ETag"] = f'"{answer["sha"]}"'
        return response

    @extend_schema(operation_id="delete_file", parameters=_CHANGE, responses={200: answer_serializer(FilesRemoved)})
    def delete(self, request: Request, store: str, path: str) -> HttpResponse:
        """Delete a file. Kept versions can be restored."""
        value = parsers.query(request, (*_LABELS, "expected_sha"))
        value |= parsers.optional_body(request, _LABELS, tuple(value))
        given: dict[str, Any] = {"store": store, "path": path, **_labels(value), **_expected(request, value)}
        return json_answer(files.delete_file(principal(request, value), **given, **write_options(request, value)))


def _labels(value: dict[str, Any]) -> dict[str, Any]:
    actor = parsers.text(value, "actor")
    if actor is None:
        return {}
    if len(actor) > 128 or not actor.isprintable():
        raise Invalid("actor must be a text of at most 128 printable characters.", field="actor")
    return {"actor": actor}


def _expected(request: Request, value: dict[str, Any]) -> dict[str, str]:
    """The digest the file must have, from the address, If-Match or If-None-Match; empty: there must be no file."""
    meta = request.META
    if "expected_sha" in value:
        if "HTTP_IF_MATCH" in meta or "HTTP_IF_NONE_MATCH" in meta:
            raise Invalid("Send the expected digest in a header or in the address, not in both.", field="If-Match")
        if not preconditions.is_digest(value["expected_sha"]):
            raise Invalid("expected_sha must be a SHA-256 in hex, or empty for no such file.", field="expected_sha")
        return {"expected_sha": value["expected_sha"]}
    found = preconditions.from_headers(meta.get("HTTP_IF_MATCH"), meta.get("HTTP_IF_NONE_MATCH"))
    if found.expected_version == 0:
        return {"expected_sha": ""}
    if found.expected_version is not None:
        raise Invalid("If-Match takes a SHA-256 here, as the ETag of the file has it.", field="If-Match")
    return {} if found.expected_sha is None else {"expected_sha": found.expected_sha}


def _content_type(request: Request) -> str | None:
    """The type of the body, None if the request names none that says something."""
    given = request.META.get("CONTENT_TYPE", "").partition(";")[0].strip().lower()
    if given.startswith("multipart/"):
        raise UnsupportedMediaType("Send the bytes of the file themselves, not a form.")
    return None if given in _NO_TYPE else given


CALLS = [(f"stores/<str:store>/files/<{TEXT}:path>", FileView.as_view())]
