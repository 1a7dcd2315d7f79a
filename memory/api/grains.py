"""Reading grains, and a word on one of them: pin it, let it go, say until when it was true."""

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
        """The newest grains of a status, page by page."""
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
        """One grain with all that belongs to it: its links, what finds it, when it was recalled, its lineage."""
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
        """Decay and clean-up leave the grain alone from now on."""
        return self._answer(request, grain)

    def _answer(self, request: Request, grain: str) -> HttpResponse:
        value = parsers.optional_body(request, ("reason", "idempotency_key"))
        found = str(parse_grain_id(grain))
        return json_answer(
            pin.pin(principal(request, value), grain=found, pinned=self.pinned, **write_options(request, value))
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
        """The grain ages like any other again."""
        return self._answer(request, grain)


class CloseGrainView(RestView):
    @extend_schema(
        operation_id="close_grain",
        request=grain_serializers.CloseSerializer,
        responses=grain_serializers.ClosedSerializer,
        parameters=[grain_serializers.GRAIN_ID, *common_serializers.WRITE_HEADERS],
    )
    def post(self, request: Request, grain: str) -> HttpResponse:
        """Say until when the grain was true. It stays readable as of then and answers no longer."""
        value = parsers.optional_body(request, ("at", "reason", "idempotency_key"))
        found = str(parse_grain_id(grain))
        return json_answer(
            validity.close(principal(request, value), grain=found, at=value.get("at"), **write_options(request, value))
        )


def parse_grain_id(grain: str) -> uuid.UUID:
    found = parsers.identifier(grain)
    if found is None:
        raise NotFound("There is no memory with this id.")
    return found


def _yes_or_no(value: str, *, name: str) -> bool:
    if value not in ("true", "false"):
        raise Invalid(f"{name} must be true or false.", field=name)
    return value == "true"
