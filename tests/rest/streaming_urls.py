"""Addresses of the product, and one streamed call that stores and hands out contents by their digest."""

from __future__ import annotations

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.urls import include, path

from fluxcore import blobs
from memory.api import urls

# isort: split
from rest_framework.request import Request

from memory.api import streaming
from memory.api.views import json_answer, principal

handler404, handler500, handler400 = urls.handler404, urls.handler500, urls.handler400


class StreamedContents(streaming.StreamingCall):
    streamed = ("PUT",)
    schema = None

    def put(self, request: Request, name: str) -> HttpResponse:
        principal(request)
        with streaming.received(request, self.most_bytes()) as body:
            blob = blobs.of_instance().take(body.path, blobs.Blob(body.sha256, body.size))
        return json_answer(blob._asdict())

    def get(self, request: Request, name: str) -> HttpResponseBase:
        principal(request)
        return streaming.blob_answer(request, blobs.of_instance(), name)


urlpatterns = [
    path("api/v1/", include([path("streamed/<str:name>", StreamedContents.as_view())])),
    *urls.urlpatterns,
]
