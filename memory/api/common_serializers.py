"""What goes in and out, for the OpenAPI document. The hot views check by hand; these only describe."""

from __future__ import annotations

from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema_field
from rest_framework import serializers

from accounts import grants
from accounts.capabilities import ADDRESSED, OPERATIONS, SCOPED
from accounts.models import Agent, GrantRequest
from accounts.names import NAME as NAME_OF
from accounts.origins import AUTHORITY, CLAIMABLE
from accounts.verbs import MAX_REASON
from fluxcore.writes.idempotency import MAX_KEY
from memory.api import parsers
from memory.grains import grain_input, texts
from memory.grains.store import ACTIONS
from memory.health.signals import ReadingState

ORIGINS = [(name, name) for name in AUTHORITY]
NO_NUL = r"^[^\u0000]*$"
# Something to read in it and no NUL anywhere.
NOT_BLANK = rf"^[^\u0000]*[^{texts.BLANK}][^\u0000]*$"
KEY = r"^[\x20-\x7e]+$"
# Something to read in it and nothing hidden.
NAME = rf"^[^{texts.HIDDEN}]*[^{texts.HIDDEN}{texts.BLANK}][^{texts.HIDDEN}]*$"
# RFC 3339 with an offset, from 1900 on.
TIME = (
    r"^(19[0-9]{2}|[2-9][0-9]{3})-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])[Tt ]([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]"
    r"(\.[0-9]{1,9})?([Zz]|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$"
)


class RootSerializer(serializers.Serializer[None]):
    name = serializers.CharField()
    api = serializers.CharField()
    health = serializers.CharField()
    docs = serializers.CharField()


class ErrorSerializer(serializers.Serializer[None]):
    """Every refusal looks like this."""

    code = serializers.CharField(help_text="Stable; act on this.")
    message = serializers.CharField(help_text="For people; may change.")
    details = serializers.DictField()
    request_id = serializers.CharField()


def _text(says: str, **shape: Any) -> serializers.CharField:
    """An optional text, described by the very rules the code checks."""

    @extend_schema_field({"type": "string", **shape})
    class Text(serializers.CharField):
        pass

    return Text(required=False, allow_null=True, help_text=says)


def _tags() -> serializers.ListField:
    child = {"type": "string", "minLength": 1, "maxLength": grain_input.MAX_TAG, "pattern": NAME}

    @extend_schema_field({"type": "array", "items": child, "maxItems": grain_input.MAX_TAGS, "uniqueItems": True})
    class Tags(serializers.ListField):
        pass

    return Tags(required=False, allow_null=True, help_text="What recall can be bounded by.")


class ItemSerializer(serializers.Serializer[None]):
    content = serializers.RegexField(NOT_BLANK, help_text="The text, at most 16 KiB (MAX_GRAIN_BYTES).")
    provenance = serializers.ChoiceField(
        choices=CLAIMABLE, required=False, allow_null=True, help_text="Who stands behind it. Default ai_stated."
    )
    session = _text("The conversation or series it belongs to.", maxLength=grain_input.MAX_NAME, pattern=NAME)
    speaker = _text("Who said it.", maxLength=grain_input.MAX_NAME, pattern=NAME)
    time = _text("When it was said.", pattern=TIME)
    tags = _tags()
    valid_from = _text("From when on it is true.", pattern=TIME)
    valid_to = _text("Until when it is true; later than valid_from.", pattern=TIME)


def _label(name: str) -> serializers.CharField:
    return _text("A label, no identity.", maxLength=parsers.LABELS[name], pattern=parsers.LABEL)


class LabelledSerializer(serializers.Serializer[None]):
    caller_id = _label("caller_id")
    client = _label("client")
    role = _label("role")
    reason = _text("Kept in the audit chain.", maxLength=MAX_REASON, pattern=NO_NUL)
    idempotency_key = _text("The header Idempotency-Key wins over it.", maxLength=MAX_KEY, pattern=KEY)


class StoreSerializer(ItemSerializer, LabelledSerializer):
    pass


class StoreBatchSerializer(LabelledSerializer):
    items = serializers.ListField(child=ItemSerializer(), min_length=1, max_length=100)


_REMOVED = ["quarantined", "pending_deletion"]
_STATUS = "quarantined, pending_deletion: this text was removed in the space, and what was stored is not recalled."
_WHY = "Why it is not recalled; only with quarantined and pending_deletion."


class StoredSerializer(serializers.Serializer[None]):
    grain_id = serializers.UUIDField()
    status = serializers.ChoiceField(choices=["stored", "corroborated", *_REMOVED], help_text=_STATUS)
    action = serializers.ChoiceField(choices=list(ACTIONS.values()), help_text="The status in flux-memory's words.")
    provenance = serializers.ChoiceField(choices=ORIGINS)
    provenance_claimed = serializers.ChoiceField(
        choices=ORIGINS, required=False, help_text="What a caller without a token had claimed, where it was lowered."
    )
    reason = serializers.CharField(required=False, help_text=_WHY)


class ExtractedSerializer(StoredSerializer):
    extraction = serializers.ChoiceField(
        choices=["waiting", "done", "given_up", "off"],
        help_text="Whether a model looks at it. off: the mode is caller_extracts, and the text is stored as any other.",
    )


class RestsOnSerializer(serializers.Serializer[None]):
    grain_id = serializers.UUIDField()
    begins = serializers.IntegerField(help_text="Characters of the text that was handed over.")
    ends = serializers.IntegerField()
    quote = serializers.CharField(allow_null=True, help_text="The words themselves; null while the text is held back.")
    model = serializers.CharField()
    at = serializers.DateTimeField()


class FoundSerializer(serializers.Serializer[None]):
    grain_id = serializers.UUIDField()
    extraction = serializers.ChoiceField(
        choices=["waiting", "done", "given_up"], allow_null=True, help_text="Null: it was stored, not handed over."
    )
    problem = serializers.CharField(allow_null=True, help_text="What the last try met.")
    statements = RestsOnSerializer(many=True, help_text="Grains a model found in this one.")
    rests_on = RestsOnSerializer(many=True, help_text="Texts in which a model found this one.")


class ItemErrorSerializer(serializers.Serializer[None]):
    code = serializers.CharField()
    message = serializers.CharField()
    details = serializers.DictField()


class ItemResultSerializer(serializers.Serializer[None]):
    index = serializers.IntegerField()
    grain_id = serializers.UUIDField(allow_null=True)
    status = serializers.ChoiceField(choices=["stored", "corroborated", *_REMOVED, "refused"], help_text=_STATUS)
    action = serializers.ChoiceField(choices=list(ACTIONS.values()), required=False)
    provenance = serializers.ChoiceField(choices=ORIGINS, required=False)
    provenance_claimed = serializers.ChoiceField(choices=ORIGINS, required=False)
    reason = serializers.CharField(required=False, help_text=_WHY)
    error = ItemErrorSerializer(allow_null=True)


class StoredBatchSerializer(serializers.Serializer[None]):
    results = ItemResultSerializer(many=True)
    grain_ids = serializers.ListField(child=serializers.UUIDField(allow_null=True))
    count = serializers.IntegerField()
    refused = serializers.IntegerField()


class SignalNowSerializer(serializers.Serializer[None]):
    value = serializers.FloatField(allow_null=True)
    healthy = serializers.BooleanField()
    state = serializers.ChoiceField(choices=[(state.value, state.value) for state in ReadingState])
    range = serializers.ListField(child=serializers.FloatField(allow_null=True))
    window_hours = serializers.IntegerField(help_text="0: as it is now.")
    severity = serializers.CharField(allow_null=True, help_text="Of the open warning.")
    suggestion = serializers.CharField(allow_null=True)


class HealthWarningSerializer(serializers.Serializer[None]):
    signal = serializers.CharField()
    severity = serializers.CharField()
    value = serializers.FloatField(allow_null=True)
    range = serializers.ListField(child=serializers.FloatField(allow_null=True))
    times = serializers.IntegerField(help_text="How often it was raised so far.")
    first_seen = serializers.DateTimeField()
    last_seen = serializers.DateTimeField()
    cleared_at = serializers.DateTimeField(allow_null=True)
    acknowledged_by = serializers.CharField(allow_null=True)
    suggestion = serializers.CharField()


class CallerFeedbackSerializer(serializers.Serializer[None]):
    caller = serializers.CharField()
    answers = serializers.IntegerField()
    judged = serializers.IntegerField()
    rate = serializers.FloatField()


class CallerProvenanceSerializer(serializers.Serializer[None]):
    caller = serializers.CharField()
    stores = serializers.IntegerField()
    user_stated = serializers.IntegerField()
    share = serializers.FloatField()


class HealthSerializer(serializers.Serializer[None]):
    status = serializers.CharField(
        help_text="ok: the door answers. With health.read: healthy, warning or critical, of the caller's space."
    )
    signals = serializers.DictField(child=SignalNowSerializer(), required=False)
    active_warnings = HealthWarningSerializer(many=True, required=False)
    caller_feedback = CallerFeedbackSerializer(many=True, required=False, help_text="Of the last 24 hours.")
    caller_provenance = CallerProvenanceSerializer(many=True, required=False, help_text="Of the last 24 hours.")
    learning = serializers.DictField(required=False, allow_null=True, help_text="What the last evaluation found.")
    model = serializers.DictField(required=False, help_text="How the local model is and what the space spent today.")
    computed_at = serializers.DateTimeField(required=False, allow_null=True)


class ReadySerializer(serializers.Serializer[None]):
    ready = serializers.BooleanField()


def _addressed(operation: str) -> str:
    escaped = operation.replace(".", r"\.")
    return rf"{escaped}(?:@(?:\*|{NAME_OF}))?" if operation in ADDRESSED else escaped


def _capability() -> str:
    """Any operation; those whose targets have names with a glob behind it, the others with `*` at most."""
    named = "|".join(sorted(_addressed(one) for one in OPERATIONS if one.split(".")[0] in SCOPED))
    plain = "|".join(sorted(one.replace(".", r"\.") for one in OPERATIONS if one.split(".")[0] not in SCOPED))
    character = rf"(?:\\[^{grants.HIDDEN}]|[^*\\{grants.HIDDEN}])"
    glob = rf"(?:(?:\*{{0,2}}{character})+\*{{0,2}}|\*{{1,2}})"
    return rf"^(?:(?:{plain})(?::\*)?|(?:{named})(?::{glob})?)$"


class TokenFactsSerializer(serializers.Serializer[None]):
    prefix = serializers.CharField()
    ceiling = serializers.ChoiceField(choices=ORIGINS)
    expires_at = serializers.DateTimeField(allow_null=True)


class GrantFactsSerializer(serializers.Serializer[None]):
    id = serializers.UUIDField()
    capability = serializers.CharField()
    granted_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField(allow_null=True)


class MeSerializer(serializers.Serializer[None]):
    agent = serializers.CharField()
    space = serializers.CharField()
    trust = serializers.ChoiceField(choices=Agent.Trust.choices)
    parent = serializers.CharField(allow_null=True)  # type: ignore[assignment]  # DRF has an attribute of that name
    token = TokenFactsSerializer(allow_null=True, help_text="null: the caller sent none (REST_OPEN_TO_LOOPBACK).")
    capabilities = serializers.ListField(child=serializers.CharField(), help_text="Held now, grants included.")
    grants = GrantFactsSerializer(many=True)


class AskForGrantSerializer(LabelledSerializer):
    capability = serializers.RegexField(
        _capability(), max_length=grants.MAX_CAPABILITY, help_text="For example metrics.read or memory.write:notes/*."
    )


class AskedGrantSerializer(serializers.Serializer[None]):
    id = serializers.UUIDField()
    agent = serializers.CharField()
    space = serializers.CharField()
    capability = serializers.CharField()
    reason = serializers.CharField(allow_blank=True)
    state = serializers.ChoiceField(choices=GrantRequest.State.choices)
    asked_at = serializers.DateTimeField()
    answered_at = serializers.DateTimeField(allow_null=True)
    answer = serializers.CharField(allow_blank=True)
    grant = serializers.UUIDField(allow_null=True)
    expires_at = serializers.DateTimeField(allow_null=True)


class AskedGrantsSerializer(serializers.Serializer[None]):
    requests = AskedGrantSerializer(many=True)
    count = serializers.IntegerField()


def _header(name: str, says: str) -> OpenApiParameter:
    shape = {"type": "string", "maxLength": 128, "pattern": parsers.HEADER}
    return OpenApiParameter(name, shape, OpenApiParameter.HEADER, description=says)


EXTRACTED_GRAIN_ID = OpenApiParameter("grain", OpenApiTypes.UUID, OpenApiParameter.PATH)
WRITE_HEADERS = [
    _header("Idempotency-Key", "Same key, same answer, for 24 hours."),
    _header("X-Caller-Id", "A label inside the token's agent."),
]
REQUEST_PARAMETERS = [
    OpenApiParameter("state", str, enum=GrantRequest.State.values, description="Default: all."),
    OpenApiParameter("limit", {"type": "integer", "minimum": 1, "maximum": grants.MAX_PAGE}, description="Default 50."),
]
