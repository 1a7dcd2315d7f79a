"""Serializers for reading and changing grains: they describe calls in the OpenAPI document; the views check by hand."""

from __future__ import annotations

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers

from accounts.origins import AUTHORITY
from memory.api import common_serializers
from memory.api.recall_serializers import CitationSerializer, GrainFieldsSerializer
from memory.engine.kinds import KINDS
from memory.grains import grain_input, list_filters, select
from memory.grains.models import Entry, Relation
from memory.grains.models import Grain as GrainModel

_RELATIONS = [relation.name.lower() for relation in Relation]


class GrainSerializer(GrainFieldsSerializer):
    ordinal = serializers.IntegerField(allow_null=True, help_text="Position in the session.")
    writer = serializers.CharField()
    label = serializers.CharField(allow_blank=True)  # type: ignore[assignment]  # DRF has an attribute of that name
    corroborations = serializers.IntegerField()
    digest = serializers.CharField(help_text="Digest of the text; equal texts have equal digests.")
    enriched = serializers.BooleanField(help_text="Whether its vector and nearest neighbours have been computed.")
    content_snippet = serializers.CharField(help_text="The first 120 characters of content.")
    created_at = serializers.DateTimeField(help_text="The same as recorded_at.")


class GrainPageSerializer(serializers.Serializer[None]):
    grains = GrainSerializer(many=True)
    count = serializers.IntegerField()
    next_cursor = serializers.CharField(allow_null=True)


class FeatureSerializer(serializers.Serializer[None]):
    kind = serializers.ChoiceField(choices=Entry.Kind.choices)
    feature = serializers.CharField()


class OtherGrainSerializer(serializers.Serializer[None]):
    id = serializers.UUIDField()
    status = serializers.ChoiceField(choices=GrainModel.Status.choices)
    snippet = serializers.CharField(allow_null=True, help_text="Null if the grain is not shown to the caller now.")


class ConduitSerializer(serializers.Serializer[None]):
    entry = FeatureSerializer(allow_null=True)
    grain = OtherGrainSerializer(allow_null=True)
    relation = serializers.ChoiceField(choices=_RELATIONS)
    weight = serializers.FloatField(help_text="Present strength, after decay.")
    affinity = serializers.FloatField()
    last_used = serializers.DateTimeField()
    use_count = serializers.IntegerField()


# By `type`: a class statement cannot have a field named `in`.
ConduitsSerializer = type(
    "Conduits",
    (serializers.Serializer,),
    {
        "in": ConduitSerializer(many=True),
        "out": ConduitSerializer(many=True),
        "__doc__": "Links to and from the grain: at most 50 in each direction, strongest first.",
    },
)


class EntryLinkSerializer(FeatureSerializer):
    weight = serializers.FloatField(
        allow_null=True, help_text="Weight of the conduit from the entry; null if there is none."
    )
    idf = serializers.FloatField(
        allow_null=True,
        help_text="Inverse document frequency of a term; null if the index of the space is not in memory.",
    )


class GrainRecallSerializer(serializers.Serializer[None]):
    at = serializers.DateTimeField()
    place = serializers.IntegerField()
    trace_id = serializers.UUIDField(allow_null=True, help_text="Null if the trace belongs to another agent.")
    query = serializers.CharField(allow_null=True)
    asked_by = serializers.CharField(allow_null=True)
    confidence = serializers.FloatField(allow_null=True)


LinkSerializer = type(
    "Link",
    (serializers.Serializer,),
    {
        "from": serializers.UUIDField(),
        "relation": serializers.ChoiceField(choices=["supports", "supersedes", "caused_by"]),
        "to": serializers.UUIDField(),
        "depth": serializers.IntegerField(help_text="Number of links from this grain."),
    },
)


class LineageSerializer(serializers.Serializer[None]):
    chain = LinkSerializer(many=True)
    supersedes = serializers.ListField(child=serializers.UUIDField())
    superseded_by = serializers.ListField(child=serializers.UUIDField())
    same_text = serializers.ListField(child=serializers.UUIDField())


class VoteSerializer(serializers.Serializer[None]):
    at = serializers.DateTimeField()
    by = serializers.CharField(
        allow_null=True, help_text="Who voted. Null: another caller, and you lack grains.manage."
    )
    vote = serializers.FloatField(help_text="Strength of the vote, -1 to 1; below 0 is not useful.")
    implied = serializers.BooleanField(help_text="Inferred from later actions, not given as feedback.")
    missed = serializers.BooleanField(help_text="Reported as missing from the answer.")
    trace_id = serializers.UUIDField(allow_null=True)
    query = serializers.CharField(allow_null=True)


TransitionSerializer = type(
    "Transition",
    (serializers.Serializer,),
    {
        "at": serializers.DateTimeField(),
        "from": serializers.CharField(help_text="The status or decay class before the change."),
        "to": serializers.CharField(help_text="The status or decay class after it."),
        "why": serializers.CharField(),
        "numbers": serializers.DictField(child=serializers.FloatField(), help_text="The values behind the decision."),
        "by": serializers.CharField(help_text="Who changed it. worker: a rule."),
        "reason": serializers.CharField(allow_blank=True),
    },
)


class StatusChangedSerializer(serializers.Serializer[None]):
    grain_id = serializers.UUIDField()
    before = serializers.CharField()
    status = serializers.ChoiceField(choices=GrainModel.Status.choices)
    changed = serializers.BooleanField(help_text="False: nothing had to be changed.")
    purged_after = serializers.DateTimeField(
        required=False, allow_null=True, help_text="When a deleted grain is purged. Null: when a person confirms it."
    )
    same_text = serializers.IntegerField(
        required=False, help_text="How many other grains with the same text got the status too."
    )


class ClusterReferenceSerializer(serializers.Serializer[None]):
    id = serializers.UUIDField()
    name = serializers.CharField(allow_blank=True)


class DossierSerializer(GrainSerializer):
    kind = serializers.ChoiceField(choices=KINDS)
    citation = CitationSerializer(required=False)
    conduits = ConduitsSerializer()
    found_by = EntryLinkSerializer(many=True)
    recalls = GrainRecallSerializer(many=True)
    transitions = TransitionSerializer(many=True)
    votes = VoteSerializer(many=True)
    cluster = ClusterReferenceSerializer(
        allow_null=True, help_text="Null: not in a cluster, or newer than the clusters."
    )
    lineage = LineageSerializer()


class PinnedSerializer(serializers.Serializer[None]):
    grain_id = serializers.UUIDField()
    pinned = serializers.BooleanField()
    changed = serializers.BooleanField(help_text="False: nothing had to be changed.")


class CloseSerializer(common_serializers.LabelledSerializer):
    at = common_serializers._text(
        "End of the time in which it was true. Default: now.", pattern=common_serializers.TIME
    )


class ClosedSerializer(serializers.Serializer[None]):
    grain_id = serializers.UUIDField()
    valid_to = serializers.DateTimeField()
    changed = serializers.BooleanField(help_text="False: nothing had to be changed.")


def _name(name: str, says: str, longest: int) -> OpenApiParameter:
    shape = {"type": "string", "minLength": 1, "maxLength": longest, "pattern": common_serializers.NAME}
    return OpenApiParameter(name, shape, description=says)


def _moment(name: str, says: str) -> OpenApiParameter:
    return OpenApiParameter(name, {"type": "string", "pattern": common_serializers.TIME}, description=says)


LIST_PARAMETERS = [
    OpenApiParameter("status", str, enum=GrainModel.Status.values, description="Default active."),
    _name("session", "Only grains of this session.", grain_input.MAX_NAME),
    _name("speaker", "Only grains of this speaker.", grain_input.MAX_NAME),
    _name("tag", "Only grains with this tag.", grain_input.MAX_TAG),
    OpenApiParameter("origin", str, enum=list(AUTHORITY), description="Only grains of this provenance."),
    _name("writer", "Only grains stored by this writer, for example agent:alice.", list_filters.MAX_WRITER),
    OpenApiParameter("pinned", {"type": "string", "enum": ["true", "false"]}, description="Default: both."),
    _moment("since", "Only grains from this time on; those without a time count by when they were stored."),
    _moment("until", "Only grains from before this time; those without a time count by when they were stored."),
    OpenApiParameter("limit", {"type": "integer", "minimum": 1, "maximum": select.MAX_PAGE}, description="Default 50."),
    OpenApiParameter(
        "cursor", {"type": "string", "pattern": select.CURSOR}, description="next_cursor of the previous page."
    ),
]
GRAIN_ID = OpenApiParameter("grain", OpenApiTypes.UUID, OpenApiParameter.PATH)
