"""Serializers for feedback: they describe calls in the OpenAPI document; the verbs check by hand."""

from __future__ import annotations

from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers

from accounts.verbs import MAX_REASON
from fluxcore.writes.idempotency import MAX_KEY
from memory.api import common_serializers, parsers
from memory.learning import feedback, vote_input

_ID = {"type": "string", "format": "uuid"}
VOTE_IDS = [
    OpenApiParameter("trace", OpenApiTypes.UUID, OpenApiParameter.PATH),
    OpenApiParameter("grain", OpenApiTypes.UUID, OpenApiParameter.PATH),
]


_STRENGTH = {
    "type": ["number", "null"],
    "minimum": vote_input.LEAST_STRENGTH,
    "maximum": vote_input.MOST_STRENGTH,
    "description": "Weight of the vote. Default 1.",
}
_ACTIONS = list(feedback.ACTIONS.values())
_MISSED = {"type": "array", "items": _ID, "maxItems": vote_input.MAX_MISSED}


def _body(required: list[str], **properties: Any) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": False, "required": required, "properties": properties}


def _votes(**more: Any) -> dict[str, Any]:
    """Schema of a vote in its two forms: on a grain of the answer, or on grains missing from it."""
    trace = {**_ID, "description": "`trace_id` of the recall's answer."}
    on_a_grain = _body(
        ["trace_id", "grain_id", "useful"],
        trace_id=trace,
        grain_id={**_ID, "description": "A grain in that answer."},
        useful={"type": "boolean"},
        strength=_STRENGTH,
        missed={**_MISSED, "type": ["array", "null"]},
        **more,
    )
    on_what_was_missing = _body(
        ["trace_id", "missed"], trace_id=trace, strength=_STRENGTH, missed={**_MISSED, "minItems": 1}, **more
    )
    return {"oneOf": [on_a_grain, on_what_was_missing]}


def _text(longest: int, pattern: str) -> dict[str, Any]:
    return {"type": ["string", "null"], "maxLength": longest, "pattern": pattern}


_LABELLED = {
    **{name: _text(longest, parsers.LABEL) for name, longest in parsers.LABELS.items()},
    "reason": _text(MAX_REASON, common_serializers.NO_NUL),
    "idempotency_key": {
        **_text(MAX_KEY, common_serializers.KEY),
        "description": "Ignored if the header Idempotency-Key is sent.",
    },
}
FEEDBACK = {"application/json": _votes(**_LABELLED)}
_ITEMS = {"type": "array", "items": _votes(), "minItems": 1, "maxItems": vote_input.MAX_ITEMS}
FEEDBACK_BATCH = {"application/json": _body(["items"], items=_ITEMS, **_LABELLED)}


class RecordedSerializer(serializers.Serializer[None]):
    trace_id = serializers.UUIDField()
    grain_id = serializers.UUIDField(allow_null=True)
    useful = serializers.BooleanField(allow_null=True)
    strength = serializers.FloatField()
    missed = serializers.ListField(child=serializers.UUIDField())
    status = serializers.ChoiceField(choices=["recorded"])
    changed = serializers.BooleanField(help_text="False: the same vote was recorded before.")
    ok = serializers.BooleanField()
    action = serializers.ChoiceField(choices=_ACTIONS, help_text="What the vote does, by its name in flux-memory.")
    signal = serializers.FloatField(help_text="Effect of the vote; below 0 it lowers the grain's rank.")
    effective_signal = serializers.FloatField(help_text="Same as signal.")


class VoteResultSerializer(serializers.Serializer[None]):
    index = serializers.IntegerField()
    status = serializers.ChoiceField(choices=["recorded", "refused"])
    trace_id = serializers.UUIDField(required=False)
    grain_id = serializers.UUIDField(required=False, allow_null=True)
    useful = serializers.BooleanField(required=False, allow_null=True)
    strength = serializers.FloatField(required=False)
    missed = serializers.ListField(required=False, child=serializers.UUIDField())
    changed = serializers.BooleanField(required=False)
    ok = serializers.BooleanField(required=False)
    action = serializers.ChoiceField(choices=_ACTIONS, required=False)
    signal = serializers.FloatField(required=False)
    effective_signal = serializers.FloatField(required=False)
    error = common_serializers.ItemErrorSerializer(allow_null=True)


class RecordedBatchSerializer(serializers.Serializer[None]):
    results = VoteResultSerializer(many=True)
    count = serializers.IntegerField()
    refused = serializers.IntegerField()


class WithdrawnSerializer(serializers.Serializer[None]):
    trace_id = serializers.UUIDField()
    grain_id = serializers.UUIDField()
    changed = serializers.BooleanField(help_text="False: the vote had already been withdrawn.")


class PendingTraceSerializer(serializers.Serializer[None]):
    trace_id = serializers.UUIDField()
    query = serializers.CharField()
    asked_at = serializers.DateTimeField()
    grain_ids = serializers.ListField(child=serializers.UUIDField())


class PendingSerializer(serializers.Serializer[None]):
    pending = PendingTraceSerializer(many=True)
    more = serializers.BooleanField()
