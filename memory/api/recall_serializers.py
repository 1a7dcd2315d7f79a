"""What recall takes and gives, for the OpenAPI document. The view checks by hand; these only describe."""

from __future__ import annotations

from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema_field
from rest_framework import serializers

from accounts.origins import AUTHORITY
from memory.api import common_serializers, parsers
from memory.grains import grain_input
from memory.grains.models import DecayClass
from memory.grains.models import Grain as GrainModel
from memory.recall import explain, recall_request

_SOURCES = ["words", "vector", "link", "learning", "session", "standing"]
TRACE_ID = OpenApiParameter("trace", OpenApiTypes.UUID, OpenApiParameter.PATH)


def _optional(says: str, **shape: Any) -> serializers.Field[Any, Any, Any, Any]:
    """A value that may be left out or null, described by the very rules the code checks."""
    kind = shape.pop("type")

    @extend_schema_field({"type": kind, **shape})
    class Value(serializers.Field[Any, Any, Any, Any]):
        pass

    return Value(required=False, allow_null=True, help_text=says)


def _moment(says: str) -> serializers.Field[Any, Any, Any, Any]:
    return _optional(says, type="string", pattern=common_serializers.TIME)


def _names(says: str, longest: int) -> serializers.Field[Any, Any, Any, Any]:
    name = {"type": "string", "minLength": 1, "maxLength": longest, "pattern": common_serializers.NAME}
    return _optional(says, type="array", items=name, maxItems=recall_request.MAX_VALUES)


class RetrieveSerializer(serializers.Serializer[None]):
    query = serializers.RegexField(common_serializers.NOT_BLANK, help_text="The question, in any words.")
    k = _optional("How many grains at most. Default 5.", type="integer", minimum=1, maximum=recall_request.MAX_K)
    min_score = _optional("Nothing below this score.", type="number", minimum=0, maximum=1)
    as_of = _moment("Answer from what was valid then. Default: now.")
    tags = _names("Only grains that carry all of these.", grain_input.MAX_TAG)
    sessions = _names("Only grains of these sessions.", grain_input.MAX_NAME)
    since = _moment("Only what was said from then on.")
    until = _moment("Only what was said before then.")
    origin_floor = _optional("Nothing of less authority.", type="string", enum=list(AUTHORITY))
    statuses = _optional(
        "Only these. Default: active, then dormant and archived where there is room.",
        type="array",
        items={"type": "string", "enum": GrainModel.Status.values},
    )
    explain = _optional("Say why with the answer.", type="boolean")
    caller_id = _optional(
        "A label, no identity.", type="string", maxLength=parsers.LABELS["caller_id"], pattern=parsers.LABEL
    )
    client = _optional(
        "A label, no identity.", type="string", maxLength=parsers.LABELS["client"], pattern=parsers.LABEL
    )
    role = _optional("A label, no identity.", type="string", maxLength=parsers.LABELS["role"], pattern=parsers.LABEL)


class ParticularsSerializer(serializers.Serializer[None]):
    id = serializers.UUIDField()
    content = serializers.CharField()
    provenance = serializers.ChoiceField(choices=common_serializers.ORIGINS)
    decay_class = serializers.ChoiceField(choices=[one.name.lower() for one in DecayClass])
    confidence = serializers.FloatField(help_text="How far this grain is believed.")
    origin = serializers.ChoiceField(choices=common_serializers.ORIGINS)
    authority = serializers.ChoiceField(choices=common_serializers.ORIGINS)
    status = serializers.ChoiceField(choices=GrainModel.Status.choices)
    valid_from = serializers.DateTimeField(allow_null=True)
    valid_to = serializers.DateTimeField(allow_null=True)
    time = serializers.DateTimeField(allow_null=True)
    session = serializers.CharField(allow_null=True)
    speaker = serializers.CharField(allow_null=True)
    tags = serializers.ListField(child=serializers.CharField())
    pinned = serializers.BooleanField()
    recorded_at = serializers.DateTimeField()


class HitSerializer(ParticularsSerializer):
    score = serializers.FloatField(help_text="0 to 1, comparable within one answer.")
    source = serializers.ChoiceField(choices=_SOURCES)  # type: ignore[assignment]  # DRF has an attribute of that name
    writers = serializers.IntegerField(help_text="Distinct writers of this text.")
    said = serializers.IntegerField(help_text="How often it was said in all.")
    same = serializers.ListField(child=serializers.UUIDField(), help_text="Other grains of equal text.")


class BesideSerializer(ParticularsSerializer):
    cluster = serializers.CharField(
        allow_null=True, help_text="Name of the cluster it is typical of. Null: links lead to it, or it came next."
    )


class PartSerializer(serializers.Serializer[None]):
    name = serializers.CharField()
    called = serializers.CharField()
    part = serializers.FloatField()


class WordSerializer(serializers.Serializer[None]):
    term = serializers.CharField(help_text="The stem it was found by.")
    word = serializers.CharField(help_text="As it stands in the question.")
    part = serializers.FloatField()


class StepSerializer(serializers.Serializer[None]):
    conduit = serializers.IntegerField()
    from_entry = serializers.CharField(required=False)
    from_grain = serializers.UUIDField(required=False)
    to_grain = serializers.UUIDField(required=False)
    relation = serializers.IntegerField()
    signal = serializers.FloatField()
    weight = serializers.FloatField()
    hop = serializers.IntegerField()


class WhySerializer(serializers.Serializer[None]):
    place = serializers.IntegerField()
    grain_id = serializers.UUIDField()
    score = serializers.FloatField()
    source = serializers.ChoiceField(choices=_SOURCES)  # type: ignore[assignment]  # DRF has an attribute of that name
    says = serializers.CharField()
    parts = PartSerializer(many=True)
    words = WordSerializer(many=True)
    path = StepSerializer(many=True)
    same = serializers.IntegerField()


class OfferedSerializer(serializers.Serializer[None]):
    grain_id = serializers.UUIDField()
    cluster = serializers.CharField(allow_null=True, help_text="Name of the cluster it was taken from.")
    says = serializers.CharField()


class ExplanationSerializer(serializers.Serializer[None]):
    says = serializers.CharField()
    offered = OfferedSerializer(many=True)
    weights = serializers.DictField()
    caps = serializers.ListField(child=serializers.CharField())
    grains = WhySerializer(many=True)


class FeedbackDueSerializer(serializers.Serializer[None]):
    trace_ids = serializers.ListField(child=serializers.UUIDField(), help_text="Your newest answers without a vote.")
    more = serializers.BooleanField()


def _missing() -> serializers.IntegerField:
    return serializers.IntegerField(allow_null=True, help_text="Grains without a vector yet; null while cold.")


def _truncated() -> serializers.BooleanField:
    return serializers.BooleanField(
        help_text=f"Only the first {recall_request.QUERY_BYTES} bytes of the query were used."
    )


class RetrievedSerializer(serializers.Serializer[None]):
    grains = HitSerializer(many=True)
    trace_id = serializers.UUIDField()
    confidence = serializers.FloatField(help_text="The chance that a right grain is among the first five.")
    hop_count = serializers.IntegerField()
    features = serializers.ListField(child=serializers.CharField())
    fallback_triggered = serializers.BooleanField()
    expansion_candidates = BesideSerializer(many=True)
    rung = serializers.ChoiceField(choices=list(explain.RUNG_SENTENCES))
    vectors_missing = _missing()
    query_truncated = _truncated()
    explanation = ExplanationSerializer(required=False)
    feedback_due = FeedbackDueSerializer(required=False)


class TraceSerializer(ExplanationSerializer):
    trace_id = serializers.UUIDField()
    query = serializers.CharField()
    asked_by = serializers.CharField()
    label = serializers.CharField(allow_null=True)  # type: ignore[assignment]  # DRF has an attribute of that name
    at = serializers.DateTimeField()
    k = serializers.IntegerField()
    bounds = serializers.DictField()
    features = serializers.ListField(child=serializers.CharField())
    confidence = serializers.FloatField()
    hop_count = serializers.IntegerField()
    fallback_triggered = serializers.BooleanField()
    rung = serializers.ChoiceField(choices=list(explain.RUNG_SENTENCES))
    vectors_missing = _missing()
    query_truncated = _truncated()
    reduced = serializers.BooleanField(help_text="Only ids and scores were kept, to save room.")
    texts = serializers.DictField(child=serializers.CharField(), help_text="By grain id, where they may be read.")
