"""What votes take and give, for the OpenAPI document. The verbs check by hand; these only describe."""

from __future__ import annotations

from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema_field
from rest_framework import serializers

from memory.api import shapes
from memory.grains.learning import ballots

_ID = {"type": "string", "format": "uuid"}
VOTE_IDS = [
    OpenApiParameter("trace", OpenApiTypes.UUID, OpenApiParameter.PATH),
    OpenApiParameter("grain", OpenApiTypes.UUID, OpenApiParameter.PATH),
]


def _value(says: str, **shape: Any) -> serializers.Field[Any, Any, Any, Any]:
    @extend_schema_field(shape)
    class Value(serializers.Field[Any, Any, Any, Any]):
        pass

    return Value(required=False, allow_null=True, help_text=says)


class Vote(serializers.Serializer[None]):
    trace_id = serializers.UUIDField(help_text="Of the answer: `trace_id` of /retrieve.")
    grain_id = _value("A grain of that answer.", **_ID)
    useful = _value("Whether it was; belongs to grain_id.", type="boolean")
    strength = _value(
        "How sure the caller is. Default 1.", type="number", minimum=ballots.LEAST, maximum=ballots.MOST
    )  # fmt: skip
    missed = _value(
        "Grains that should have been in the answer.", type="array", items=_ID, maxItems=ballots.MAX_MISSED
    )  # fmt: skip


class Feedback(Vote, shapes.Labelled):
    pass


class FeedbackBatch(shapes.Labelled):
    items = serializers.ListField(child=Vote(), min_length=1, max_length=ballots.MAX_ITEMS)


class Recorded(serializers.Serializer[None]):
    trace_id = serializers.UUIDField()
    grain_id = serializers.UUIDField(allow_null=True)
    useful = serializers.BooleanField(allow_null=True)
    strength = serializers.FloatField()
    missed = serializers.ListField(child=serializers.UUIDField())
    status = serializers.ChoiceField(choices=["recorded"])
    changed = serializers.BooleanField(help_text="False: it had been said before.")


class Result(serializers.Serializer[None]):
    index = serializers.IntegerField()
    status = serializers.ChoiceField(choices=["recorded", "refused"])
    trace_id = serializers.UUIDField(required=False)
    grain_id = serializers.UUIDField(required=False, allow_null=True)
    useful = serializers.BooleanField(required=False, allow_null=True)
    strength = serializers.FloatField(required=False)
    missed = serializers.ListField(required=False, child=serializers.UUIDField())
    changed = serializers.BooleanField(required=False)
    error = shapes.ItemError(allow_null=True)


class RecordedBatch(serializers.Serializer[None]):
    results = Result(many=True)
    count = serializers.IntegerField()
    refused = serializers.IntegerField()


class Withdrawn(serializers.Serializer[None]):
    trace_id = serializers.UUIDField()
    grain_id = serializers.UUIDField()
    changed = serializers.BooleanField(help_text="False: it had been taken back before.")


class Due(serializers.Serializer[None]):
    trace_id = serializers.UUIDField()
    query = serializers.CharField()
    asked_at = serializers.DateTimeField()
    grain_ids = serializers.ListField(child=serializers.UUIDField())


class Pending(serializers.Serializer[None]):
    pending = Due(many=True)
    more = serializers.BooleanField()
