"""What goes in and out, for the OpenAPI document. The hot views check by hand; these only describe."""

from __future__ import annotations

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers

from accounts.origins import AUTHORITY, CLAIMABLE
from memory.grains import select
from memory.grains.models import Grain as GrainModel

ORIGINS = [(name, name) for name in AUTHORITY]
NOT_BLANK = r"^(?=[\s\S]*\S)[^\u0000]+$"


class Root(serializers.Serializer[None]):
    name = serializers.CharField()
    api = serializers.CharField()
    docs = serializers.CharField()


class Error(serializers.Serializer[None]):
    """Every refusal looks like this."""

    code = serializers.CharField(help_text="Stable; act on this.")
    message = serializers.CharField(help_text="For people; may change.")
    details = serializers.DictField()
    request_id = serializers.CharField()


class Item(serializers.Serializer[None]):
    content = serializers.RegexField(NOT_BLANK, help_text="The text, at most 64 KiB.")
    provenance = serializers.ChoiceField(
        choices=CLAIMABLE, required=False, allow_null=True, help_text="Who stands behind it. Default ai_stated."
    )


class Labelled(serializers.Serializer[None]):
    caller_id = serializers.CharField(required=False, allow_null=True, max_length=128, help_text="A label, no identity.")
    client = serializers.CharField(required=False, allow_null=True, max_length=60, help_text="A label, no identity.")
    role = serializers.CharField(required=False, allow_null=True, max_length=60, help_text="A label, no identity.")
    reason = serializers.CharField(required=False, allow_null=True, max_length=500, help_text="Kept in the audit chain.")
    idempotency_key = serializers.CharField(required=False, allow_null=True, max_length=128)


class Store(Item, Labelled):
    pass


class StoreBatch(Labelled):
    items = serializers.ListField(child=Item(), min_length=1, max_length=100)


class Stored(serializers.Serializer[None]):
    grain_id = serializers.UUIDField()
    status = serializers.ChoiceField(choices=["stored", "corroborated"])
    provenance = serializers.ChoiceField(choices=ORIGINS)


class ItemError(serializers.Serializer[None]):
    code = serializers.CharField()
    message = serializers.CharField()
    details = serializers.DictField()


class ItemResult(serializers.Serializer[None]):
    index = serializers.IntegerField()
    grain_id = serializers.UUIDField(allow_null=True)
    status = serializers.ChoiceField(choices=["stored", "corroborated", "refused"])
    provenance = serializers.ChoiceField(choices=ORIGINS, required=False)
    error = ItemError(allow_null=True)


class StoredBatch(serializers.Serializer[None]):
    results = ItemResult(many=True)
    grain_ids = serializers.ListField(child=serializers.UUIDField(allow_null=True))
    count = serializers.IntegerField()
    refused = serializers.IntegerField()


class Grain(serializers.Serializer[None]):
    id = serializers.UUIDField()
    content = serializers.CharField()
    provenance = serializers.ChoiceField(choices=ORIGINS)
    status = serializers.ChoiceField(choices=GrainModel.Status.choices)
    writer = serializers.CharField()
    label = serializers.CharField(allow_blank=True)
    corroborations = serializers.IntegerField()
    recorded_at = serializers.DateTimeField()


class GrainPage(serializers.Serializer[None]):
    grains = Grain(many=True)
    count = serializers.IntegerField()
    next_cursor = serializers.CharField(allow_null=True)


class Health(serializers.Serializer[None]):
    status = serializers.CharField()


class Ready(serializers.Serializer[None]):
    ready = serializers.BooleanField()


WRITE_HEADERS = [
    OpenApiParameter("Idempotency-Key", str, OpenApiParameter.HEADER, description="Same key, same answer, for 24 hours."),
    OpenApiParameter("X-Caller-Id", str, OpenApiParameter.HEADER, description="A label inside the token's agent."),
]
LIST_PARAMETERS = [
    OpenApiParameter("status", str, enum=GrainModel.Status.values, description="Default active."),
    OpenApiParameter(
        "limit", {"type": "integer", "minimum": 1, "maximum": select.MAX_PAGE}, description="Default 50."
    ),
    OpenApiParameter("cursor", str, description="next_cursor of the page before."),
]
GRAIN_ID = OpenApiParameter("grain", OpenApiTypes.UUID, OpenApiParameter.PATH)
