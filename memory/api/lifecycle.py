"""REST calls that change a grain's status: archive, restore, quarantine, release, delete, undelete. None purges."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request

from accounts.verbs import Verb
from memory.api import common_serializers, grain_serializers, parsers
from memory.api.grains import parse_grain_id
from memory.api.views import RestView, json_answer, principal, write_options
from memory.grains.lifecycle import verbs


def _view(name: str, verb: Verb) -> Any:
    """The view of one such call."""

    def post(self: RestView, request: Request, grain: str) -> HttpResponse:
        value = parsers.optional_body(request, ("reason", "idempotency_key"))
        found = str(parse_grain_id(grain))
        return json_answer(verb(principal(request, value), grain=found, **write_options(request, value)))

    post.__doc__ = verb.__doc__
    described = extend_schema(
        operation_id=f"{name}_grain",
        request=common_serializers.LabelledSerializer,
        responses=grain_serializers.StatusChangedSerializer,
        parameters=[grain_serializers.GRAIN_ID, *common_serializers.WRITE_HEADERS],
    )(post)
    return type(name.capitalize(), (RestView,), {"post": described}).as_view()  # type: ignore[attr-defined]


VIEWS = {
    name: _view(name, verb)
    for name, verb in (
        ("archive", verbs.archive),
        ("restore", verbs.restore),
        ("quarantine", verbs.quarantine),
        ("release", verbs.release),
        ("delete", verbs.delete),
        ("undelete", verbs.undelete),
    )
}
