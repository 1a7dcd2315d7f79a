"""REST call that watches changes: a long poll, or a stream of server-sent events if Accept asks for it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from django.http import HttpResponse, HttpResponseBase, StreamingHttpResponse
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request

from flux.calls.answers import Watched
from flux.calls.rules import MAX_GLOB
from flux.calls.types import NAME
from fluxcore.errors import FluxError, Invalid
from memory.api import parsers
from memory.api.authentication import BearerToken
from memory.api.calls_schema import answer_serializer
from memory.api.errors import as_flux_error
from memory.api.views import RestView, json_answer, principal
from memory.keyvalue import watch

DEFAULT_WAIT = 25
STREAM_SECONDS = 600.0  # a stream ends after this; clients resume it with Last-Event-ID
STREAM = "text/event-stream"


_GLOB = {"type": "string", "minLength": 1, "maxLength": MAX_GLOB}
_POSITION = {"type": "string", "pattern": r"^[0-9]{1,18}\.[0-9]{1,18}$"}
_WAIT = {"type": "integer", "minimum": 0, "maximum": int(watch.MAX_WAIT_SECONDS)}
_PARAMETERS = [
    OpenApiParameter(
        "place",
        {"type": "string", "pattern": NAME.replace("^", "^(agents|boards)/", 1)},
        required=True,
        description="agents/NAME or boards/NAME.",
    ),
    OpenApiParameter("pattern", _GLOB, description="Only keys that match. Default: all."),
    OpenApiParameter("since", _POSITION, description="Position to start from. Default: now."),
    OpenApiParameter("wait", _WAIT, description="Seconds to wait for a change. Default 25."),
]


class WatchView(RestView):
    renderer_classes = (parsers.EventStream,)

    @extend_schema(operation_id="watch", responses=answer_serializer(Watched), parameters=_PARAMETERS)
    def get(self, request: Request) -> HttpResponseBase:
        """Changes since a position; waits for one if there is none. Accept text/event-stream for a stream."""
        value = parsers.query(request, ("place", "pattern", "since", "wait"))
        if "place" not in value:
            raise Invalid("place is missing. Give place=agents/NAME or place=boards/NAME.", field="place")
        principal(request)
        what = watch.watch(value["place"], value.get("pattern"))
        since = value.get("since", request.META.get("HTTP_LAST_EVENT_ID"))
        who = BearerToken.again(request)
        if STREAM in request.META.get("HTTP_ACCEPT", ""):
            stream = watch.Stream(who, what, since, seconds=STREAM_SECONDS)
            response = StreamingHttpResponse(_EventStreamLines(stream), content_type=STREAM)
            response["X-Accel-Buffering"] = "no"
            return response
        wait = parsers.whole_number(value["wait"], name="wait") if "wait" in value else DEFAULT_WAIT
        answer: HttpResponse = json_answer(watch.poll(who, what, since, float(wait)))
        return answer


class _EventStreamLines:
    """Lines of an event stream. The server closes it when the caller disconnects, which frees its slot at once."""

    def __init__(self, stream: watch.Stream) -> None:
        self._stream = stream

    def __iter__(self) -> Iterator[bytes]:
        try:
            for change in self._stream:
                yield _line(change)
        except Exception as error:
            yield _end(as_flux_error(error))
        finally:
            self.close()

    def close(self) -> None:
        self._stream.close()


def _line(change: dict[str, Any] | None) -> bytes:
    if change is None:
        return b": nothing yet\n\n"
    data = json.dumps(change, ensure_ascii=False, separators=(",", ":"))
    return f"id: {change['position']}\nevent: {change['kind']}\ndata: {data}\n\n".encode()


def _end(refusal: FluxError) -> bytes:
    """Last event of a refused stream, with the error."""
    return f"event: error\ndata: {json.dumps(refusal.body(), ensure_ascii=False)}\n\n".encode()


CALLS = [("watch", WatchView.as_view())]
