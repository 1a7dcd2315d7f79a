"""Serializers for recall and traces: they describe calls in the OpenAPI document; the view checks by hand."""

from __future__ import annotations

from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema_field
from rest_framework import serializers

from accounts.origins import AUTHORITY
from memory.api import common_serializers, parsers
from memory.engine.kinds import KINDS
from memory.grains import grain_input
from memory.grains.models import DecayClass
from memory.grains.models import Grain as GrainModel
from memory.recall import explain, recall_request

_SOURCES = ["words", "vector", "link", "learning", "session", "standing"]
TRACE_ID = OpenApiParameter("trace", OpenApiTypes.UUID, OpenApiParameter.PATH)


def _optional(says: str, **shape: Any) -> serializers.Field[Any, Any, Any, Any]:
    """A field that may be left out or null, with the limits that the code checks."""
    kind = shape.pop("type")

    @extend_schema_field({"type": kind, **shape})
    class OptionalValue(serializers.Field[Any, Any, Any, Any]):
        pass

    return OptionalValue(required=False, allow_null=True, help_text=says)


def _moment(says: str) -> serializers.Field[Any, Any, Any, Any]:
    return _optional(says, type="string", pattern=common_serializers.TIME)


def _names(says: str, longest: int) -> serializers.Field[Any, Any, Any, Any]:
    name = {"type": "string", "minLength": 1, "maxLength": longest, "pattern": common_serializers.NAME}
    return _optional(says, type="array", items=name, maxItems=recall_request.MAX_VALUES)


class RetrieveSerializer(serializers.Serializer[None]):
    query = serializers.RegexField(common_serializers.NOT_BLANK, help_text="The question, in natural language.")
    k = _optional("Maximum number of grains. Default 5.", type="integer", minimum=1, maximum=recall_request.MAX_K)
    min_score = _optional("Leave out grains with a lower score.", type="number", minimum=0, maximum=1)
    as_of = _moment("Recall what was valid at this time. Default: now.")
    tags = _names("Only grains with all of these tags.", grain_input.MAX_TAG)
    sessions = _names("Only grains of these sessions.", grain_input.MAX_NAME)
    since = _moment("Only grains from this time on.")
    until = _moment("Only grains from before this time.")
    origin_floor = _optional(
        "Lowest provenance: leave out grains of less authority.", type="string", enum=list(AUTHORITY)
    )
    statuses = _optional(
        "Only grains with these statuses. Default: active first, then dormant and archived up to k.",
        type="array",
        items={"type": "string", "enum": GrainModel.Status.values},
    )
    kinds = _optional(
        "Only these: memories, passages of files, messages of transcripts, values of keys. Default: all you may read.",
        type="array",
        items={"type": "string", "enum": list(KINDS)},
    )
    explain = _optional("Include an explanation in the answer.", type="boolean")
    caller_id = _optional(
        "A label; it grants no rights.", type="string", maxLength=parsers.LABELS["caller_id"], pattern=parsers.LABEL
    )
    client = _optional(
        "A label; it grants no rights.", type="string", maxLength=parsers.LABELS["client"], pattern=parsers.LABEL
    )
    role = _optional(
        "A label; it grants no rights.", type="string", maxLength=parsers.LABELS["role"], pattern=parsers.LABEL
    )


class GrainFieldsSerializer(serializers.Serializer[None]):
    id = serializers.UUIDField()
    content = serializers.CharField()
    provenance = serializers.ChoiceField(choices=common_serializers.ORIGINS)
    decay_class = serializers.ChoiceField(choices=[decay_class.name.lower() for decay_class in DecayClass])
    confidence = serializers.FloatField(help_text="Confidence in this memory, 0 to 1.")
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


class CitationSerializer(serializers.Serializer[None]):
    """Where a passage, message or value is from."""

    store = serializers.UUIDField(required=False, help_text="Of a passage or message.")
    reference = serializers.CharField(
        required=False, help_text="How calls name the store: its key, or its id if its key alone does not name it."
    )
    place = serializers.CharField(required=False, help_text="Of a value: agents/NAME or boards/NAME.")
    key = serializers.CharField(help_text="Key of the store, or of the value.")
    path = serializers.CharField(required=False, help_text="Of a passage: the file.")
    version = serializers.IntegerField(required=False)
    first_line = serializers.IntegerField(required=False)
    last_line = serializers.IntegerField(required=False)
    heading = serializers.CharField(required=False)
    message = serializers.IntegerField(required=False, help_text="Of a message: its number in the transcript.")
    session = serializers.CharField(required=False)
    address = serializers.CharField(required=False, help_text="Of a single grain: where it is read.")


class RecallResultSerializer(GrainFieldsSerializer):
    kind = serializers.ChoiceField(choices=KINDS)
    citation = CitationSerializer(required=False)
    score = serializers.FloatField(help_text="Relevance, 0 to 1; comparable only within one answer.")
    source = serializers.ChoiceField(choices=_SOURCES)  # type: ignore[assignment]  # DRF has an attribute of that name
    writers = serializers.IntegerField(help_text="How many writers stored this text.")
    said = serializers.IntegerField(help_text="How often this text was stored.")
    same = serializers.ListField(child=serializers.UUIDField(), help_text="Other grains with the same text.")


class NeighbourSerializer(GrainFieldsSerializer):
    cluster = serializers.CharField(
        allow_null=True,
        help_text="Name of the cluster it belongs to. Null: it is linked to a result, or follows one in its session.",
    )


class ScorePartSerializer(serializers.Serializer[None]):
    name = serializers.CharField()
    called = serializers.CharField()
    part = serializers.FloatField()


class MatchedTermSerializer(serializers.Serializer[None]):
    term = serializers.CharField(help_text="The stem that matched.")
    word = serializers.CharField(help_text="The word in the question.")
    part = serializers.FloatField()


class PathStepSerializer(serializers.Serializer[None]):
    conduit = serializers.IntegerField()
    from_entry = serializers.CharField(required=False)
    from_grain = serializers.UUIDField(required=False)
    to_grain = serializers.UUIDField(required=False)
    relation = serializers.IntegerField()
    signal = serializers.FloatField()
    weight = serializers.FloatField()
    hop = serializers.IntegerField()


class GrainExplanationSerializer(serializers.Serializer[None]):
    place = serializers.IntegerField()
    grain_id = serializers.UUIDField()
    score = serializers.FloatField()
    source = serializers.ChoiceField(choices=_SOURCES)  # type: ignore[assignment]  # DRF has an attribute of that name
    says = serializers.CharField()
    parts = ScorePartSerializer(many=True)
    words = MatchedTermSerializer(many=True)
    path = PathStepSerializer(many=True)
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
    grains = GrainExplanationSerializer(many=True)


class FeedbackDueSerializer(serializers.Serializer[None]):
    trace_ids = serializers.ListField(child=serializers.UUIDField(), help_text="Your newest recalls without feedback.")
    more = serializers.BooleanField()


def _missing() -> serializers.IntegerField:
    return serializers.IntegerField(
        allow_null=True, help_text="Grains without a vector; null while the index is not loaded."
    )


def _truncated() -> serializers.BooleanField:
    return serializers.BooleanField(
        help_text=f"True: only the first {recall_request.QUERY_BYTES} bytes of the query were used."
    )


class RetrievedSerializer(serializers.Serializer[None]):
    grains = RecallResultSerializer(many=True)
    trace_id = serializers.UUIDField()
    confidence = serializers.FloatField(help_text="Probability that a right grain is among the first five.")
    hop_count = serializers.IntegerField()
    features = serializers.ListField(child=serializers.CharField())
    fallback_triggered = serializers.BooleanField()
    expansion_candidates = NeighbourSerializer(many=True)
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
    reduced = serializers.BooleanField(help_text="True: only ids and scores are left of this trace, to save space.")
    texts = serializers.DictField(
        child=serializers.CharField(), help_text="Texts by grain id, as far as the caller may read them."
    )
