"""URLs of the REST server: `/api/v1/...`, and the bare paths as aliases of the same views."""

from __future__ import annotations

from django.contrib.staticfiles.views import serve
from django.http import HttpRequest, HttpResponseBase
from django.urls import URLPattern, URLResolver, include, path, re_path

from memory.api import framework

framework.load()

from drf_spectacular.views import SpectacularSwaggerSplitView  # noqa: E402

from flux.calls import registry  # noqa: E402
from fluxcore.errors import MethodNotAllowed  # noqa: E402
from memory.api import calls, clusters, feedback, files, grains, graph, ipc, lifecycle, me, recalls, views, watch  # noqa: E402
from memory.api.errors import error_response  # noqa: E402

# Django tries them in this order: the most used first.
CALLS = [
    ("retrieve", recalls.RetrieveView.as_view()),
    ("grains/<str:grain>", grains.GrainDetailView.as_view()),
    ("store", views.StoreView.as_view()),
    ("store/batch", views.StoreBatchView.as_view()),
    ("extract", views.ExtractView.as_view()),
    ("extract/<str:grain>", views.ExtractionResultsView.as_view()),
    *calls.routes(registry.calls()),
    *files.CALLS,
    *watch.CALLS,
    *ipc.CALLS,
    ("grains", grains.GrainListView.as_view()),
    ("grains/<str:grain>/pin", grains.PinView.as_view()),
    ("grains/<str:grain>/unpin", grains.UnpinView.as_view()),
    ("grains/<str:grain>/close", grains.CloseGrainView.as_view()),
    *((f"grains/<str:grain>/{name}", view) for name, view in lifecycle.VIEWS.items()),
    ("feedback", feedback.FeedbackView.as_view()),
    ("feedback/batch", feedback.FeedbackBatchView.as_view()),
    ("feedback/<str:trace>/<str:grain>", feedback.WithdrawVoteView.as_view()),
    ("pending_feedback", feedback.PendingFeedbackView.as_view()),
    ("traces/<str:trace>", recalls.TraceView.as_view()),
    ("clusters", clusters.ClusterListView.as_view()),
    ("clusters/<str:cluster>", clusters.ClusterDetailView.as_view()),
    ("graph/export", graph.GraphExportView.as_view()),
    ("me", me.MeView.as_view()),
    ("grant-requests", me.GrantRequestsView.as_view()),
    ("health", views.HealthView.as_view()),
    ("readyz", views.ReadyView.as_view()),
    ("metrics", views.MetricsView.as_view()),
    ("", views.RootView.as_view()),
]

_READ = ["get", "head"]


def _static(request: HttpRequest, path: str) -> HttpResponseBase:
    if request.method not in ("GET", "HEAD"):
        return error_response(MethodNotAllowed())
    return serve(request, path, insecure=True)


_versioned = [
    *(path(route, view) for route, view in CALLS),
    path("openapi.json", views.OpenApiDocumentView.as_view(), name="schema"),
    path("docs", SpectacularSwaggerSplitView.as_view(url_name="schema", http_method_names=_READ)),
]
urlpatterns: list[URLPattern | URLResolver] = [
    path("api/v1/", include(_versioned)),
    *(path(route, view) for route, view in CALLS),
    # Only files of the documentation page: no name in the path may begin with a dot.
    re_path(r"^static/(?P<path>drf_spectacular_sidecar(?:/[\w-][\w.-]*)+)$", _static),
]

handler404 = "memory.api.errors.not_found"
handler500 = "memory.api.errors.server_error"
handler400 = "memory.api.errors.bad_request"
