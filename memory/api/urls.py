"""Addresses of the REST door: `/api/v1/...`, the bare paths as aliases of the same views."""

from __future__ import annotations

from django.contrib.staticfiles.views import serve
from django.http import HttpRequest, HttpResponseBase
from django.urls import URLPattern, URLResolver, include, path, re_path

from memory.api import framework

framework.load()

from drf_spectacular.views import SpectacularSwaggerSplitView  # noqa: E402

from fluxcore.errors import MethodNotAllowed  # noqa: E402
from memory.api import clusters, exact, feedback, grains, graph, ipc, lifecycle, me, recalls, sharing, views, watch  # noqa: E402
from memory.api.errors import answer  # noqa: E402

# Tried in this order: the hottest first.
CALLS = [
    ("retrieve", recalls.Retrieve.as_view()),
    ("grains/<str:grain>", grains.Grain.as_view()),
    ("store", views.Store.as_view()),
    ("store/batch", views.StoreBatch.as_view()),
    ("extract", views.Extract.as_view()),
    ("extract/<str:grain>", views.Found.as_view()),
    *exact.CALLS,
    *sharing.CALLS,
    *watch.CALLS,
    *ipc.CALLS,
    ("grains", grains.Grains.as_view()),
    ("grains/<str:grain>/pin", grains.Pin.as_view()),
    ("grains/<str:grain>/unpin", grains.Unpin.as_view()),
    ("grains/<str:grain>/close", grains.Close.as_view()),
    *((f"grains/<str:grain>/{name}", view) for name, view in lifecycle.VIEWS.items()),
    ("feedback", feedback.Feedback.as_view()),
    ("feedback/batch", feedback.FeedbackBatch.as_view()),
    ("feedback/<str:trace>/<str:grain>", feedback.Vote.as_view()),
    ("pending_feedback", feedback.Pending.as_view()),
    ("traces/<str:trace>", recalls.Trace.as_view()),
    ("clusters", clusters.Clusters.as_view()),
    ("clusters/<str:cluster>", clusters.Cluster.as_view()),
    ("graph/export", graph.GraphExport.as_view()),
    ("me", me.Me.as_view()),
    ("grant-requests", me.GrantRequests.as_view()),
    ("health", views.Health.as_view()),
    ("readyz", views.Ready.as_view()),
    ("metrics", views.Metrics.as_view()),
    ("", views.Root.as_view()),
]

_READ = ["get", "head"]


def _static(request: HttpRequest, path: str) -> HttpResponseBase:
    if request.method not in ("GET", "HEAD"):
        return answer(MethodNotAllowed())
    return serve(request, path, insecure=True)


_versioned = [
    *(path(route, view) for route, view in CALLS),
    path("openapi.json", views.Document.as_view(), name="schema"),
    path("docs", SpectacularSwaggerSplitView.as_view(url_name="schema", http_method_names=_READ)),
]
urlpatterns: list[URLPattern | URLResolver] = [
    path("api/v1/", include(_versioned)),
    *(path(route, view) for route, view in CALLS),
    # The documentation page's own files and nothing else: no name in the path may begin with a dot.
    re_path(r"^static/(?P<path>drf_spectacular_sidecar(?:/[\w-][\w.-]*)+)$", _static),
]

handler404 = "memory.api.errors.not_found"
handler500 = "memory.api.errors.server_error"
handler400 = "memory.api.errors.bad_request"
