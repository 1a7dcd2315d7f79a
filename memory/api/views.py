"""REST views: they parse the request, call a verb or selector and write the answer as JSON."""

from __future__ import annotations

import threading
from functools import lru_cache
from typing import Any

import orjson
from django.http import HttpResponse
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.views import APIView

from accounts.principals import Principal
from fluxcore import config, metrics
from fluxcore.errors import Busy, NotFound, NotReady
from fluxcore.fair_queue import FairShares
from fluxcore.writes import idempotency
from fluxsite.run.threads import THREADS
from memory.api import common_serializers, loopback, parsers
from memory.extraction import extract, extraction_results
from memory.grains import grain_input, store
from memory.health import instance_health

_threads = FairShares(THREADS)


def json_answer(value: Any, status: int = 200) -> HttpResponse:
    return HttpResponse(orjson.dumps(value), status=status, content_type="application/json")


def principal(request: Request, value: dict[str, Any] | None = None) -> Principal:
    """The caller, with the label it gives itself."""
    found = request.user
    if not isinstance(found, Principal):
        raise TypeError("this view must require authentication")
    return found.labelled(parsers.label(request, value or {}))


def write_options(request: Request, value: dict[str, Any]) -> dict[str, Any]:
    """Reason and idempotency key of a write. As with the label, headers take precedence over the body."""
    key = parsers.text(value, "idempotency_key")
    if key is not None:
        idempotency.check_key(key)
    return {
        "reason": parsers.text(value, "reason") or "",
        "idempotency_key": request.META.get("HTTP_IDEMPOTENCY_KEY", key),
    }


class RestView(APIView):
    """Base of every REST view. It has no OPTIONS: pages of other origins are refused anyway."""

    http_method_names = ["get", "head", "post", "put", "patch", "delete"]
    _caller: tuple[Any, Any] | None = None  # whose share of the threads this call uses; a view object serves one call

    def dispatch(self, request: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return super().dispatch(request, *args, **kwargs)
        finally:
            if self._caller is not None:
                _threads.leave(*self._caller)

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Authenticate, then take a thread of the caller's share."""
        super().initial(request, *args, **kwargs)
        who = request.user
        if isinstance(who, Principal):
            if not _threads.take(who.space, who.actor):
                raise Busy(
                    "Too many requests of this agent or its space at the same time. Try again in 1 s.",
                    retry_after=1,
                )
            self._caller = (who.space, who.actor)


class RootView(RestView):
    authentication_classes = ()
    permission_classes = ()

    @extend_schema(operation_id="root", auth=[], responses=common_serializers.RootSerializer)
    def get(self, request: Request) -> HttpResponse:
        """Name of this server, and addresses of its API, health and documentation."""
        return json_answer({"name": "Flux Memory", "api": "/api/v1/", "health": "/health", "docs": "/api/v1/docs"})


class StoreView(RestView):
    @extend_schema(
        operation_id="store",
        request=common_serializers.StoreSerializer,
        responses=common_serializers.StoredSerializer,
        parameters=common_serializers.WRITE_HEADERS,
    )
    def post(self, request: Request) -> HttpResponse:
        """Store one text. It is on disk when the answer is sent."""
        value = parsers.body(request, (*grain_input.FIELDS, "reason", "idempotency_key"))
        given = {"content": None, "provenance": None} | {
            name: value[name] for name in grain_input.FIELDS if name in value
        }
        caller = principal(request, value)
        claimed = loopback.lower_claim(caller, given)
        answer = store.store(caller, **given, **write_options(request, value))
        return json_answer(loopback.with_lowered_claim(answer, claimed))


class StoreBatchView(RestView):
    @extend_schema(
        operation_id="store_batch",
        request=common_serializers.StoreBatchSerializer,
        responses=common_serializers.StoredBatchSerializer,
        parameters=common_serializers.WRITE_HEADERS,
    )
    def post(self, request: Request) -> HttpResponse:
        """Store up to 100 texts, each stored or refused on its own."""
        value = parsers.body(request, ("items", "reason", "idempotency_key"))
        caller, given = principal(request, value), value.get("items")
        claimed = [loopback.lower_claim(caller, item) for item in given] if isinstance(given, list) else []
        answer = store.store_batch(caller, items=given, **write_options(request, value))
        results = [
            loopback.with_lowered_claim(result, claim) for result, claim in zip(answer["results"], claimed, strict=True)
        ]
        return json_answer({**answer, "results": results})


class ExtractView(RestView):
    @extend_schema(
        operation_id="extract",
        request=common_serializers.StoreSerializer,
        responses=common_serializers.ExtractedSerializer,
        parameters=common_serializers.WRITE_HEADERS,
    )
    def post(self, request: Request) -> HttpResponse:
        """Store a text or turn unchanged; in the mode flux_extracts a local model then extracts its statements."""
        value = parsers.body(request, (*grain_input.FIELDS, "reason", "idempotency_key"))
        given = {"content": None, "provenance": None} | {
            name: value[name] for name in grain_input.FIELDS if name in value
        }
        caller = principal(request, value)
        claimed = loopback.lower_claim(caller, given)
        answer = extract.extract(caller, **given, **write_options(request, value))
        return json_answer(loopback.with_lowered_claim(answer, claimed))


class ExtractionResultsView(RestView):
    @extend_schema(
        operation_id="found",
        responses=common_serializers.ExtractionResultSerializer,
        parameters=[common_serializers.EXTRACTED_GRAIN_ID],
    )
    def get(self, request: Request, grain: str) -> HttpResponse:
        """State of a submitted text's extraction: its statements, and the quote behind each."""
        parsers.query(request, ())
        known = parsers.identifier(grain)
        if known is None:
            raise NotFound("There is no memory with this id.")
        return json_answer(extraction_results.statements_found(principal(request), known))


class OpenApiDocumentView(RestView):
    authentication_classes = ()
    permission_classes = ()

    @extend_schema(exclude=True)
    def get(self, request: Request) -> HttpResponse:
        """The OpenAPI document. It needs no token, and is made once for all callers."""
        return HttpResponse(_document(config.current().MAX_GRAINS_PER_CALL), content_type="application/json")


# drf-spectacular changes its own classes at first use, and fails if several threads do that at once.
_making_document = threading.Lock()


def _document(batch_limit: int) -> bytes:
    with _making_document:
        return _build_document(batch_limit)


@lru_cache(maxsize=4)
def _build_document(batch_limit: int) -> bytes:
    return orjson.dumps(SchemaGenerator().get_schema(public=True))  # type: ignore[no-untyped-call]


class HealthView(RestView):
    permission_classes = ()

    @extend_schema(
        operation_id="health",
        auth=[{}, {"token": []}],  # type: ignore[list-item]  # its types forget the dictionaries it wants
        responses=common_serializers.HealthSerializer,
    )
    def get(self, request: Request) -> HttpResponse:
        """Health of the server, without a token; a token with health.read gets the details of its space."""
        return json_answer(instance_health.health(request.user if isinstance(request.user, Principal) else None))


class ReadyView(RestView):
    authentication_classes = ()
    permission_classes = ()

    @extend_schema(operation_id="ready", auth=[], responses=common_serializers.ReadySerializer)
    def get(self, request: Request) -> HttpResponse:
        """Whether this process can serve writes now, for load balancers and supervisors."""
        if not instance_health.is_ready():
            raise NotReady(retry_after=1)
        return json_answer({"ready": True})


class MetricsView(RestView):
    renderer_classes = (parsers.PlainText,)

    @extend_schema(operation_id="metrics", responses={(200, "text/plain"): str})
    def get(self, request: Request) -> HttpResponse:
        """Metrics as Prometheus text, summed over all processes. Needs metrics.read."""
        return HttpResponse(instance_health.metrics(principal(request)), content_type=metrics.CONTENT_TYPE)
