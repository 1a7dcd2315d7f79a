"""REST calls for reading the clusters of a space."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request

from fluxcore.errors import NotFound
from memory.api import parsers
from memory.api.grain_serializers import FeatureSerializer
from memory.api.views import RestView, json_answer, principal
from memory.clusters import select as clusters
from memory.grains import select
from memory.grains.models import Grain

_PAGE = [
    OpenApiParameter("limit", {"type": "integer", "minimum": 1, "maximum": select.MAX_PAGE}, description="Default 50."),
    OpenApiParameter(
        "cursor", {"type": "string", "pattern": select.CURSOR}, description="next_cursor of the previous page."
    ),
]


class ClusterShapeSerializer(serializers.Serializer[None]):
    id = serializers.UUIDField(help_text="Unchanged while most of the cluster's members are.")
    name = serializers.CharField(allow_blank=True, help_text="The most typical terms of the cluster.")
    terms = serializers.ListField(child=serializers.CharField())
    size = serializers.IntegerField()
    layer = serializers.ChoiceField(choices=clusters.LAYERS)
    made_at = serializers.DateTimeField()
    changed_at = serializers.DateTimeField()


class ModularitySerializer(serializers.Serializer[None]):
    grains = serializers.FloatField()
    entries = serializers.FloatField()


class ClusterPageSerializer(serializers.Serializer[None]):
    clusters = ClusterShapeSerializer(many=True)
    count = serializers.IntegerField()
    computed_at = serializers.DateTimeField(allow_null=True, help_text="Null: clusters have not been computed.")
    modularity = ModularitySerializer(allow_null=True)
    next_cursor = serializers.CharField(allow_null=True)


class GrainMemberSerializer(serializers.Serializer[None]):
    id = serializers.UUIDField()
    content = serializers.CharField()
    status = serializers.ChoiceField(choices=Grain.Status.choices)


class MemberShapeSerializer(serializers.Serializer[None]):
    grain = GrainMemberSerializer(allow_null=True)
    entry = FeatureSerializer(allow_null=True)
    weight = serializers.FloatField(
        help_text="Of a grain: how typical it is, 1 for the most typical. Of an entry: its share."
    )


class ClusterMembersSerializer(ClusterShapeSerializer):
    dissolved_at = serializers.DateTimeField(allow_null=True)
    members = MemberShapeSerializer(many=True)
    count = serializers.IntegerField()
    next_cursor = serializers.CharField(allow_null=True)


def _page(request: Request, *more: str) -> dict[str, Any]:
    value: dict[str, Any] = dict(parsers.query(request, ("limit", "cursor", *more)))
    if "limit" in value:
        value["limit"] = parsers.whole_number(value["limit"], name="limit")
    return value


class ClusterListView(RestView):
    @extend_schema(
        operation_id="list_clusters",
        responses=ClusterPageSerializer,
        parameters=[OpenApiParameter("layer", str, enum=clusters.LAYERS, description="Default: both."), *_PAGE],
    )
    def get(self, request: Request) -> HttpResponse:
        """List clusters, largest first, page by page."""
        return json_answer(clusters.page(principal(request), **_page(request, "layer")))


class ClusterDetailView(RestView):
    @extend_schema(
        operation_id="get_cluster",
        responses=ClusterMembersSerializer,
        parameters=[OpenApiParameter("cluster", OpenApiTypes.UUID, OpenApiParameter.PATH), *_PAGE],
    )
    def get(self, request: Request, cluster: str) -> HttpResponse:
        """Read a cluster with its members, most typical first, page by page."""
        value = _page(request)
        cluster_id = parsers.identifier(cluster)
        if cluster_id is None:
            raise NotFound("There is no cluster with this id.")
        return json_answer(clusters.load_cluster(principal(request), cluster_id, **value))
