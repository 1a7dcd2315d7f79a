"""REST calls for reading grains, pinning them and closing their validity."""

from __future__ import annotations

import uuid
from typing import Any

from django.http import HttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request

from fluxcore.errors import Invalid, NotFound
from memory.api import common_serializers, grain_serializers, parsers
from memory.api.views import RestView, json_answer, principal, write_options
from memory.grains import dossier, list_filters, pin, select, validity


class GrainListView(RestView):
    @extend_schema(
        operation_id="list_grains",
        responses=grain_serializers.GrainPageSerializer,
        parameters=grain_serializers.LIST_PARAMETERS,
    )
    def get(self, request: Request) -> HttpResponse:
        """List grains by status, newest first, page by page."""
        value: dict[str, Any] = dict(parsers.query(request, ("status", "limit", "cursor", *list_filters.FIELDS)))
        if "limit" in value:
            value["limit"] = parsers.whole_number(value["limit"], name="limit")
        if "pinned" in value:
            value["pinned"] = _yes_or_no(value["pinned"], name="pinned")
        return json_answer(select.page(principal(request), **value))


class GrainDetailView(RestView):
    @extend_schema(
        operation_id="get_grain", responses=grain_serializers.DossierSerializer, parameters=[grain_serializers.GRAIN_ID]
    )
    def get(self, request: Request, grain: str) -> HttpResponse:
        """Read a grain with its links, entries, recalls, votes, status changes, cluster and lineage."""
        parsers.query(request, ())
        return json_answer(dossier.load_dossier(principal(request), parse_grain_id(grain)).shape())


class PinView(RestView):
    pinned = True

    @extend_schema(
        operation_id="pin_grain",
        request=common_serializers.LabelledSerializer,
        responses=grain_serializers.PinnedSerializer,
        parameters=[grain_serializers.GRAIN_ID, *common_serializers.WRITE_HEADERS],
    )
    def post(self, request: Request, grain: str) -> HttpResponse:
        """Pin the grain: decay and clean-up no longer apply to it."""
        return self._answer(request, grain)

    def _answer(self, request: Request, grain: str) -> HttpResponse:
        value = parsers.optional_body(request, ("reason", "idempotency_key"))
        grain_id = str(parse_grain_id(grain))
        return json_answer(
            pin.pin(principal(request, value), grain=grain_id, pinned=self.pinned, **write_options(request, value))
        )


class UnpinView(PinView):
    pinned = False

    @extend_schema(
        operation_id="unpin_grain",
        request=common_serializers.LabelledSerializer,
        responses=grain_serializers.PinnedSerializer,
        parameters=[grain_serializers.GRAIN_ID, *common_serializers.WRITE_HEADERS],
    )
    def post(self, request: Request, grain: str) -> HttpResponse:
        """Unpin the grain: decay and clean-up apply to it again."""
        return self._answer(request, grain)


class CloseGrainView(RestView):
    @extend_schema(
        operation_id="close_grain",
        request=grain_serializers.CloseSerializer,
        responses=grain_serializers.ClosedSerializer,
        parameters=[grain_serializers.GRAIN_ID, *common_serializers.WRITE_HEADERS],
    )
    def post(self, request: Request, grain: str) -> HttpResponse:
        """Set the end of the grain's validity. It is then recalled only with an earlier `as_of`."""
        value = parsers.optional_body(request, ("at", "reason", "idempotency_key"))
        grain_id = str(parse_grain_id(grain))
        return json_answer(
            validity.close(
                principal(request, value), grain=grain_id, at=value.get("at"), **write_options(request, value)
            )
        )


def parse_grain_id(grain: str) -> uuid.UUID:
    grain_id = parsers.identifier(grain)
    if grain_id is None:
        raise NotFound("There is no memory with this id.")
    return grain_id


def _yes_or_no(value: str, *, name: str) -> bool:
    if value not in ("true", "false"):
        raise Invalid(f"{name} must be true or false.", field=name)
    return value == "true"
