"""What reading grains takes and gives, for the OpenAPI document. The views check by hand; these only describe."""

from __future__ import annotations

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers

from accounts.origins import AUTHORITY
from memory.api import common_serializers
from memory.api.recall_serializers import ParticularsSerializer
from memory.grains import grain_input, list_filters, select
from memory.grains.models import Entry, Relation
from memory.grains.models import Grain as GrainModel

_RELATIONS = [one.name.lower() for one in Relation]


class GrainSerializer(ParticularsSerializer):
    ordinal = serializers.IntegerField(allow_null=True, help_text="Its place in the session.")
    writer = serializers.CharField()
    label = serializers.CharField(allow_blank=True)  # type: ignore[assignment]  # DRF has an attribute of that name
    corroborations = serializers.IntegerField()
    digest = serializers.CharField(help_text="Equal texts have equal ones.")
    enriched = serializers.BooleanField(help_text="Whether its vector and nearest neighbours are there.")
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
    snippet = serializers.CharField(allow_null=True, help_text="Null while the grain is held back.")


class ConduitSerializer(serializers.Serializer[None]):
    entry = FeatureSerializer(allow_null=True)
    grain = OtherGrainSerializer(allow_null=True)
    relation = serializers.ChoiceField(choices=_RELATIONS)
    weight = serializers.FloatField(help_text="What is left of it now, after decay.")
    affinity = serializers.FloatField()
    last_used = serializers.DateTimeField()
    use_count = serializers.IntegerField()


# "in" is no name a class can give a field.
ConduitsSerializer = type(
    "Conduits",
    (serializers.Serializer,),
    {
        "in": ConduitSerializer(many=True),
        "out": ConduitSerializer(many=True),
        "__doc__": "At most 50 each way, strongest first.",
    },
)


class DoorSerializer(FeatureSerializer):
    weight = serializers.FloatField(allow_null=True, help_text="Of the entry's conduit, if it has one.")
    idf = serializers.FloatField(allow_null=True, help_text="Of a term, while an index of the space is in memory.")


class UseSerializer(serializers.Serializer[None]):
    at = serializers.DateTimeField()
    place = serializers.IntegerField()
    trace_id = serializers.UUIDField(allow_null=True, help_text="Null where the trace is another agent's.")
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
        "depth": serializers.IntegerField(help_text="Steps from this grain."),
    },
)


class LineageSerializer(serializers.Serializer[None]):
    chain = LinkSerializer(many=True)
    supersedes = serializers.ListField(child=serializers.UUIDField())
    superseded_by = serializers.ListField(child=serializers.UUIDField())
    same_text = serializers.ListField(child=serializers.UUIDField())


class VoteSerializer(serializers.Serializer[None]):
    at = serializers.DateTimeField()
    by = serializers.CharField(allow_null=True, help_text="Null: somebody else's, and you do not manage grains.")
    vote = serializers.FloatField(help_text="-1 to 1.")
    implied = serializers.BooleanField(help_text="Nobody said so: what was done next did.")
    missed = serializers.BooleanField(help_text="It was not in the answer and should have been.")
    trace_id = serializers.UUIDField(allow_null=True)
    query = serializers.CharField(allow_null=True)


TransitionSerializer = type(
    "Transition",
    (serializers.Serializer,),
    {
        "at": serializers.DateTimeField(),
        "from": serializers.CharField(help_text="A status or a decay class."),
        "to": serializers.CharField(),
        "why": serializers.CharField(),
        "numbers": serializers.DictField(child=serializers.FloatField(), help_text="What it was decided by."),
        "by": serializers.CharField(help_text="worker: a rule did it."),
        "reason": serializers.CharField(allow_blank=True),
    },
)


class MovedSerializer(serializers.Serializer[None]):
    grain_id = serializers.UUIDField()
    before = serializers.CharField()
    status = serializers.ChoiceField(choices=GrainModel.Status.choices)
    changed = serializers.BooleanField(help_text="False: it was so already.")
    purged_after = serializers.DateTimeField(
        required=False, allow_null=True, help_text="Of a deletion. Null: it waits for a person."
    )
    same_text = serializers.IntegerField(
        required=False, help_text="Other grains of the same text that moved with it: a person decides about the text."
    )


class HomeSerializer(serializers.Serializer[None]):
    id = serializers.UUIDField()
    name = serializers.CharField(allow_blank=True)


class DossierSerializer(GrainSerializer):
    conduits = ConduitsSerializer()
    found_by = DoorSerializer(many=True)
    recalls = UseSerializer(many=True)
    transitions = TransitionSerializer(many=True)
    votes = VoteSerializer(many=True)
    cluster = HomeSerializer(
        allow_null=True, help_text="Null: it hangs together with too few, or is newer than the clusters."
    )
    lineage = LineageSerializer()


class PinnedSerializer(serializers.Serializer[None]):
    grain_id = serializers.UUIDField()
    pinned = serializers.BooleanField()
    changed = serializers.BooleanField(help_text="False: it was so already.")


class CloseSerializer(common_serializers.LabelledSerializer):
    at = common_serializers._text("Until when it was true. Default: now.", pattern=common_serializers.TIME)


class ClosedSerializer(serializers.Serializer[None]):
    grain_id = serializers.UUIDField()
    valid_to = serializers.DateTimeField()
    changed = serializers.BooleanField(help_text="False: it was so already.")


def _name(name: str, says: str, longest: int) -> OpenApiParameter:
    shape = {"type": "string", "minLength": 1, "maxLength": longest, "pattern": common_serializers.NAME}
    return OpenApiParameter(name, shape, description=says)


def _moment(name: str, says: str) -> OpenApiParameter:
    return OpenApiParameter(name, {"type": "string", "pattern": common_serializers.TIME}, description=says)


LIST_PARAMETERS = [
    OpenApiParameter("status", str, enum=GrainModel.Status.values, description="Default active."),
    _name("session", "Only grains of this session.", grain_input.MAX_NAME),
    _name("speaker", "Only what this speaker said.", grain_input.MAX_NAME),
    _name("tag", "Only grains that carry it.", grain_input.MAX_TAG),
    OpenApiParameter("origin", str, enum=list(AUTHORITY), description="Only of this provenance."),
    _name("writer", "Only what this one stored, for example agent:alice.", list_filters.MAX_WRITER),
    OpenApiParameter("pinned", {"type": "string", "enum": ["true", "false"]}, description="Default: both."),
    _moment("since", "Only what was said, or else recorded, from then on."),
    _moment("until", "Only what was said, or else recorded, before then."),
    OpenApiParameter("limit", {"type": "integer", "minimum": 1, "maximum": select.MAX_PAGE}, description="Default 50."),
    OpenApiParameter(
        "cursor", {"type": "string", "pattern": select.CURSOR}, description="next_cursor of the page before."
    ),
]
GRAIN_ID = OpenApiParameter("grain", OpenApiTypes.UUID, OpenApiParameter.PATH)
