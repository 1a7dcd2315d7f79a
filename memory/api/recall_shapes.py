"""What recall takes and gives, for the OpenAPI document. The view checks by hand; these only describe."""

from __future__ import annotations

from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema_field
from rest_framework import serializers

from accounts.origins import AUTHORITY
from memory.api import parsers, shapes
from memory.grains import ask, explain, items
from memory.grains.models import DecayClass
from memory.grains.models import Grain as GrainModel

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
    return _optional(says, type="string", pattern=shapes.TIME)


def _names(says: str, longest: int) -> serializers.Field[Any, Any, Any, Any]:
    name = {"type": "string", "minLength": 1, "maxLength": longest, "pattern": shapes.NAME}
    return _optional(says, type="array", items=name, maxItems=ask.MAX_VALUES)


class Retrieve(serializers.Serializer[None]):
    query = serializers.RegexField(shapes.NOT_BLANK, help_text="The question, in any words.")
    k = _optional("How many grains at most. Default 5.", type="integer", minimum=1, maximum=ask.MAX_K)
    min_score = _optional("Nothing below this score.", type="number", minimum=0, maximum=1)
    as_of = _moment("Answer from what was valid then. Default: now.")
    tags = _names("Only grains that carry all of these.", items.MAX_TAG)
    sessions = _names("Only grains of these sessions.", items.MAX_NAME)
    since = _moment("Only what was said from then on.")
    until = _moment("Only what was said before then.")
    origin_floor = _optional("Nothing of less authority.", type="string", enum=list(AUTHORITY))
    statuses = _optional(
        "Only these. Default: active, then dormant and archived where there is room.",
        type="array", items={"type": "string", "enum": GrainModel.Status.values},
    )  # fmt: skip
    explain = _optional("Say why with the answer.", type="boolean")
    caller_id = _optional("A label, no identity.", type="string", maxLength=parsers.LABELS["caller_id"],
                          pattern=parsers.LABEL)  # fmt: skip
    client = _optional("A label, no identity.", type="string", maxLength=parsers.LABELS["client"],
                       pattern=parsers.LABEL)  # fmt: skip
    role = _optional("A label, no identity.", type="string", maxLength=parsers.LABELS["role"],
                     pattern=parsers.LABEL)  # fmt: skip


class Particulars(serializers.Serializer[None]):
    id = serializers.UUIDField()
    content = serializers.CharField()
    provenance = serializers.ChoiceField(choices=shapes.ORIGINS)
    decay_class = serializers.ChoiceField(choices=[one.name.lower() for one in DecayClass])
    confidence = serializers.FloatField(help_text="How far this grain is believed.")
    origin = serializers.ChoiceField(choices=shapes.ORIGINS)
    authority = serializers.ChoiceField(choices=shapes.ORIGINS)
    status = serializers.ChoiceField(choices=GrainModel.Status.choices)
    valid_from = serializers.DateTimeField(allow_null=True)
    valid_to = serializers.DateTimeField(allow_null=True)
    time = serializers.DateTimeField(allow_null=True)
    session = serializers.CharField(allow_null=True)
    speaker = serializers.CharField(allow_null=True)
    tags = serializers.ListField(child=serializers.CharField())
    pinned = serializers.BooleanField()
    recorded_at = serializers.DateTimeField()


class Hit(Particulars):
    score = serializers.FloatField(help_text="0 to 1, comparable within one answer.")
    source = serializers.ChoiceField(choices=_SOURCES)  # type: ignore[assignment]  # DRF has an attribute of that name
    writers = serializers.IntegerField(help_text="Distinct writers of this text.")
    said = serializers.IntegerField(help_text="How often it was said in all.")
    same = serializers.ListField(child=serializers.UUIDField(), help_text="Other grains of equal text.")


class Beside(Particulars):
    cluster = serializers.CharField(
        allow_null=True, help_text="Name of the cluster it is typical of. Null: links lead to it, or it came next."
    )


class Part(serializers.Serializer[None]):
    name = serializers.CharField()
    called = serializers.CharField()
    part = serializers.FloatField()


class Word(serializers.Serializer[None]):
    term = serializers.CharField(help_text="The stem it was found by.")
    word = serializers.CharField(help_text="As it stands in the question.")
    part = serializers.FloatField()


class Step(serializers.Serializer[None]):
    conduit = serializers.IntegerField()
    from_entry = serializers.CharField(required=False)
    from_grain = serializers.UUIDField(required=False)
    to_grain = serializers.UUIDField(required=False)
    relation = serializers.IntegerField()
    signal = serializers.FloatField()
    weight = serializers.FloatField()
    hop = serializers.IntegerField()


class Why(serializers.Serializer[None]):
    place = serializers.IntegerField()
    grain_id = serializers.UUIDField()
    score = serializers.FloatField()
    source = serializers.ChoiceField(choices=_SOURCES)  # type: ignore[assignment]  # DRF has an attribute of that name
    says = serializers.CharField()
    parts = Part(many=True)
    words = Word(many=True)
    path = Step(many=True)
    same = serializers.IntegerField()


class Offered(serializers.Serializer[None]):
    grain_id = serializers.UUIDField()
    cluster = serializers.CharField(allow_null=True, help_text="Name of the cluster it was taken from.")
    says = serializers.CharField()


class Explanation(serializers.Serializer[None]):
    says = serializers.CharField()
    offered = Offered(many=True)
    weights = serializers.DictField()
    caps = serializers.ListField(child=serializers.CharField())
    grains = Why(many=True)


class FeedbackDue(serializers.Serializer[None]):
    trace_ids = serializers.ListField(child=serializers.UUIDField(), help_text="Your newest answers without a vote.")
    more = serializers.BooleanField()


def _missing() -> serializers.IntegerField:
    return serializers.IntegerField(allow_null=True, help_text="Grains without a vector yet; null while cold.")


def _truncated() -> serializers.BooleanField:
    return serializers.BooleanField(help_text=f"Only the first {ask.QUERY_BYTES} bytes of the query were used.")


class Retrieved(serializers.Serializer[None]):
    grains = Hit(many=True)
    trace_id = serializers.UUIDField()
    confidence = serializers.FloatField(help_text="The chance that a right grain is among the first five.")
    hop_count = serializers.IntegerField()
    features = serializers.ListField(child=serializers.CharField())
    fallback_triggered = serializers.BooleanField()
    expansion_candidates = Beside(many=True)
    rung = serializers.ChoiceField(choices=list(explain.RUNGS))
    vectors_missing = _missing()
    query_truncated = _truncated()
    explanation = Explanation(required=False)
    feedback_due = FeedbackDue(required=False)


class Trace(Explanation):
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
    rung = serializers.ChoiceField(choices=list(explain.RUNGS))
    vectors_missing = _missing()
    query_truncated = _truncated()
    reduced = serializers.BooleanField(help_text="Only ids and scores were kept, to save room.")
    texts = serializers.DictField(child=serializers.CharField(), help_text="By grain id, where they may be read.")
