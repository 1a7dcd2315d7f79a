"""REST call that exports the graph for other programs."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request

from fluxcore.errors import Invalid
from memory.api import parsers
from memory.api.views import RestView, principal
from memory.transfer import graph_export, graph_formats

_PARAMETERS = [
    OpenApiParameter("format", str, enum=list(graph_formats.GRAPH_FORMATS), description="Default json: node-link."),
    OpenApiParameter("around", OpenApiTypes.UUID, description="Only the neighbourhood of this grain."),
    OpenApiParameter(
        "hops",
        {"type": "integer", "minimum": 1, "maximum": graph_export.MOST_HOPS},
        description="Maximum number of links from that grain. Default 1.",
    ),
    OpenApiParameter(
        "limit",
        {"type": "integer", "minimum": 1, "maximum": graph_export.MOST_GRAINS},
        description="Maximum number of grains. Default 1000, the newest or the nearest.",
    ),
]


class GraphExportView(RestView):
    # The parameter `format` decides; the Accept header may name any type.
    renderer_classes = (parsers.AnyText,)

    @extend_schema(
        operation_id="export_graph",
        parameters=_PARAMETERS,
        responses={
            (200, "application/json"): dict,
            (200, "application/graphml+xml"): str,
            (200, "text/vnd.graphviz"): str,
        },
    )
    def get(self, request: Request) -> HttpResponse:
        """Export grains, entries and conduits of the space, or around one grain, as GraphML, node-link JSON or DOT."""
        value = parsers.query(request, ("format", "around", "hops", "limit"))
        form = value.get("format", "json")
        if form not in graph_formats.GRAPH_FORMATS:
            raise Invalid(f"format must be one of {', '.join(graph_formats.GRAPH_FORMATS)}.", field="format")
        given: dict[str, Any] = {
            name: parsers.whole_number(value[name], name=name) for name in ("hops", "limit") if name in value
        }
        if "around" in value:
            grain_id = parsers.identifier(value["around"])
            if grain_id is None:
                raise Invalid("around must be the id of a grain.", field="around")
            given["around"] = str(grain_id)
        graph = graph_export.export_graph(principal(request), **given)
        return HttpResponse(
            graph_formats.write_graph(graph, form), content_type=f"{graph_formats.GRAPH_FORMATS[form][1]}"
        )
