"""Serializers for storing, extraction, health and grants: they describe calls in the OpenAPI document.

The views check requests by hand, which is faster.
"""

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
# At least one visible character, and no NUL.
NOT_BLANK = rf"^[^\u0000]*[^{texts.BLANK}][^\u0000]*$"
KEY = r"^[\x20-\x7e]+$"
# At least one visible character, and no control or format characters.
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
    """The body of every error response."""

    code = serializers.CharField(help_text="Stable; act on this.")
    message = serializers.CharField(help_text="For people; may change.")
    details = serializers.DictField()
    request_id = serializers.CharField()


def _text(says: str, **shape: Any) -> serializers.CharField:
    """A field for an optional text, with the limits that the code checks."""

    @extend_schema_field({"type": "string", **shape})
    class DescribedText(serializers.CharField):
        pass

    return DescribedText(required=False, allow_null=True, help_text=says)


def _tags() -> serializers.ListField:
    child = {"type": "string", "minLength": 1, "maxLength": grain_input.MAX_TAG, "pattern": NAME}

    @extend_schema_field({"type": "array", "items": child, "maxItems": grain_input.MAX_TAGS, "uniqueItems": True})
    class DescribedTags(serializers.ListField):
        pass

    return DescribedTags(required=False, allow_null=True, help_text="Tags. A recall can be limited to them.")


class ItemSerializer(serializers.Serializer[None]):
    content = serializers.RegexField(NOT_BLANK, help_text="The text, at most 16 KiB (MAX_GRAIN_BYTES).")
    provenance = serializers.ChoiceField(
        choices=CLAIMABLE, required=False, allow_null=True, help_text="Provenance: who states it. Default ai_stated."
    )
    session = _text(
        "The conversation or series that the text belongs to.", maxLength=grain_input.MAX_NAME, pattern=NAME
    )
    speaker = _text("The speaker's name.", maxLength=grain_input.MAX_NAME, pattern=NAME)
    time = _text("When it was said or happened.", pattern=TIME)
    tags = _tags()
    valid_from = _text("Start of the time in which it is true.", pattern=TIME)
    valid_to = _text("End of the time in which it is true; later than valid_from.", pattern=TIME)


def _label(name: str) -> serializers.CharField:
    return _text("A label; it grants no rights.", maxLength=parsers.LABELS[name], pattern=parsers.LABEL)


class LabelledSerializer(serializers.Serializer[None]):
    caller_id = _label("caller_id")
    client = _label("client")
    role = _label("role")
    reason = _text("Kept in the audit chain.", maxLength=MAX_REASON, pattern=NO_NUL)
    idempotency_key = _text("Ignored if the header Idempotency-Key is sent.", maxLength=MAX_KEY, pattern=KEY)


class StoreSerializer(ItemSerializer, LabelledSerializer):
    pass


class StoreBatchSerializer(LabelledSerializer):
    items = serializers.ListField(child=ItemSerializer(), min_length=1, max_length=100)


_REMOVED = ["quarantined", "pending_deletion"]
_STATUS = "quarantined, pending_deletion: this text was removed from the space before. It is stored but not recalled."
_REASON = "Why the text is not recalled; only with status quarantined and pending_deletion."


class StoredSerializer(serializers.Serializer[None]):
    grain_id = serializers.UUIDField()
    status = serializers.ChoiceField(choices=["stored", "corroborated", *_REMOVED], help_text=_STATUS)
    action = serializers.ChoiceField(choices=list(ACTIONS.values()), help_text="The status by its name in flux-memory.")
    provenance = serializers.ChoiceField(choices=ORIGINS)
    provenance_claimed = serializers.ChoiceField(
        choices=ORIGINS,
        required=False,
        help_text="The provenance that a caller without a token claimed, if it was lowered.",
    )
    reason = serializers.CharField(required=False, help_text=_REASON)


class ExtractedSerializer(StoredSerializer):
    extraction = serializers.ChoiceField(
        choices=["waiting", "done", "given_up", "off"],
        help_text="State of the extraction. off: the mode is caller_extracts, and no model reads the text.",
    )


class RestsOnSerializer(serializers.Serializer[None]):
    grain_id = serializers.UUIDField()
    begins = serializers.IntegerField(help_text="First character of the quote in the submitted text.")
    ends = serializers.IntegerField(help_text="Character after the last one of the quote.")
    quote = serializers.CharField(allow_null=True, help_text="The quoted text; null if the caller may not read it now.")
    model = serializers.CharField()
    at = serializers.DateTimeField()


class ExtractionResultSerializer(serializers.Serializer[None]):
    grain_id = serializers.UUIDField()
    extraction = serializers.ChoiceField(
        choices=["waiting", "done", "given_up"],
        allow_null=True,
        help_text="State of the extraction. Null: the text was stored without extraction.",
    )
    problem = serializers.CharField(allow_null=True, help_text="Error of the last attempt.")
    statements = RestsOnSerializer(many=True, help_text="Grains that a model extracted from this one.")
    rests_on = RestsOnSerializer(many=True, help_text="Texts from which a model extracted this one.")


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
    reason = serializers.CharField(required=False, help_text=_REASON)
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
    window_hours = serializers.IntegerField(help_text="Length of the time it is measured over. 0: the present value.")
    severity = serializers.CharField(allow_null=True, help_text="Severity of the open warning, if there is one.")
    suggestion = serializers.CharField(allow_null=True)


class HealthWarningSerializer(serializers.Serializer[None]):
    signal = serializers.CharField()
    severity = serializers.CharField()
    value = serializers.FloatField(allow_null=True)
    range = serializers.ListField(child=serializers.FloatField(allow_null=True))
    times = serializers.IntegerField(help_text="How often the warning was raised.")
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
        help_text="ok: the server answers. With health.read: healthy, warning or critical, for the caller's space."
    )
    signals = serializers.DictField(child=SignalNowSerializer(), required=False)
    active_warnings = HealthWarningSerializer(many=True, required=False)
    caller_feedback = CallerFeedbackSerializer(many=True, required=False, help_text="Of the last 24 hours.")
    caller_provenance = CallerProvenanceSerializer(many=True, required=False, help_text="Of the last 24 hours.")
    learning = serializers.DictField(required=False, allow_null=True, help_text="Result of the last evaluation.")
    model = serializers.DictField(
        required=False, help_text="State of the local model, and what the space used of its budget today."
    )
    computed_at = serializers.DateTimeField(required=False, allow_null=True)


class ReadySerializer(serializers.Serializer[None]):
    ready = serializers.BooleanField()


def _addressed(operation: str) -> str:
    escaped = operation.replace(".", r"\.")
    return rf"{escaped}(?:@(?:\*|{NAME_OF}))?" if operation in ADDRESSED else escaped


def _capability() -> str:
    """Regular expression of a capability: an operation, and a glob where its targets have names (else only `*`)."""
    named = "|".join(sorted(_addressed(operation) for operation in OPERATIONS if operation.split(".")[0] in SCOPED))
    plain = "|".join(sorted(name.replace(".", r"\.") for name in OPERATIONS if name.split(".")[0] not in SCOPED))
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
    token = TokenFactsSerializer(allow_null=True, help_text="Null: the caller sent none (REST_OPEN_TO_LOOPBACK).")
    capabilities = serializers.ListField(
        child=serializers.CharField(), help_text="All capabilities the agent has now, grants included."
    )
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
    state = serializers.ChoiceField(choices=GrantRequest.RequestState.choices)
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
    _header("Idempotency-Key", "A repeated request with the same key gets the first answer, for 24 hours."),
    _header("X-Caller-Id", "A label for callers that share the token's agent."),
]
REQUEST_PARAMETERS = [
    OpenApiParameter("state", str, enum=GrantRequest.RequestState.values, description="Default: all."),
    OpenApiParameter("limit", {"type": "integer", "minimum": 1, "maximum": grants.MAX_PAGE}, description="Default 50."),
]
