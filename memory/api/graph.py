"""The graph for other programs."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request

from fluxcore.errors import Invalid
from memory.api import parsers
from memory.api.views import Call, principal
from memory.transfer import drawing, graph

_PARAMETERS = [
    OpenApiParameter("format", str, enum=list(drawing.FORMS), description="Default json: node-link."),
    OpenApiParameter("around", OpenApiTypes.UUID, description="Only what surrounds this grain."),
    OpenApiParameter(
        "hops", {"type": "integer", "minimum": 1, "maximum": graph.MOST_HOPS}, description="How far around. Default 1."
    ),
    OpenApiParameter(
        "limit", {"type": "integer", "minimum": 1, "maximum": graph.MOST_GRAINS},
        description="How many grains at most. Default 1000, the newest or the nearest.",
    ),
]  # fmt: skip


class GraphExport(Call):
    # By its `format`; an Accept header may name either.
    renderer_classes = (parsers.AnyText,)

    @extend_schema(
        operation_id="export_graph", parameters=_PARAMETERS,
        responses={(200, "application/json"): dict, (200, "application/graphml+xml"): str,
                   (200, "text/vnd.graphviz"): str},
    )  # fmt: skip
    def get(self, request: Request) -> HttpResponse:
        """Grains, entries and conduits as GraphML, node-link JSON or DOT, of the space or around one grain."""
        value = parsers.query(request, ("format", "around", "hops", "limit"))
        form = value.get("format", "json")
        if form not in drawing.FORMS:
            raise Invalid(f"format must be one of {', '.join(drawing.FORMS)}.", field="format")
        given: dict[str, Any] = {
            name: parsers.whole_number(value[name], name=name) for name in ("hops", "limit") if name in value
        }
        if "around" in value:
            found = parsers.identifier(value["around"])
            if found is None:
                raise Invalid("around is the id of a grain.", field="around")
            given["around"] = str(found)
        drawn = graph.drawn(principal(request), **given)
        return HttpResponse(drawing.written(drawn, form), content_type=f"{drawing.FORMS[form][1]}")
