"""Addresses of the product, and one streamed call that stores and hands out contents by their digest."""

from __future__ import annotations

from django.http import HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.urls import include, path

from accounts.authorise import authorise
from accounts.principals import Principal
from fluxcore import blobs, body_file
from fluxsite import rsgi
from memory.api import urls

# isort: split
from rest_framework.request import Request

from memory.api import file_answers, streaming
from memory.api.views import RestView, json_answer, principal

handler404, handler500, handler400 = urls.handler404, urls.handler500, urls.handler400


SMALL_BYTES = 1000
rsgi.TEMPORARY_SECONDS = 0.5  # the test waits until a made file is gone


class StreamedContents(streaming.StreamingCall):
    """Everybody may send "small" up to some size, and "audited" takes a capability."""

    streamed = ("PUT",)
    schema = None

    @classmethod
    def admit(cls, who: Principal, method: str, **named: str) -> int:
        if named["name"] == "audited":
            authorise(who, "audit.read", action=f"streamed.{method}")
        most = super().admit(who, method, **named)
        return min(most, SMALL_BYTES) if named["name"] == "small" else most

    def put(self, request: Request, name: str) -> HttpResponse:
        principal(request)
        with self.received(request, name=name) as body:
            blob = blobs.of_instance().take(body.path, blobs.Blob(body.sha256, body.size))
        return json_answer(blob._asdict())

    def get(self, request: Request, name: str) -> HttpResponseBase:
        principal(request)
        return streaming.blob_answer(request, blobs.of_instance(), name)


class GeneratedAnswer(RestView):
    """So many megabytes, made while they are sent."""

    schema = None

    def get(self, request: Request, megabytes: str) -> HttpResponseBase:
        principal(request)
        return StreamingHttpResponse((bytes([number]) * 2**20 for number in range(int(megabytes))), content_type="x/y")


class MadeFile(RestView):
    """A file that is made for one answer."""

    schema = None

    def get(self, request: Request, text: str) -> HttpResponseBase:
        principal(request)
        made = body_file.spool([text.encode()], file_answers.folder())
        return streaming.made_file_answer(made.path, content_type="text/plain", name="made ü.txt")


_OWN = [
    path("streamed/<str:name>", StreamedContents.as_view()),
    path("generated/<str:megabytes>", GeneratedAnswer.as_view()),
    path("made/<str:text>", MadeFile.as_view()),
]
urlpatterns = [
    path("api/v1/", include(_OWN)),
    *urls.urlpatterns,
]
