"""What exact memory takes and gives, for the OpenAPI document. The verbs check by hand; these only describe."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import OpenApiParameter, extend_schema_field
from rest_framework import serializers

from accounts.names import NAME
from memory.api import common_serializers
from memory.api.common_serializers import WRITE_HEADERS, LabelledSerializer
from memory.keyvalue import forgetting, given, history, keeping, listing, orders
from memory.keyvalue.models import MAX_KEY, Revision

__all__ = ["WRITE_HEADERS"]

# No controls, and nothing that Unicode has not assigned.
KEY_PATTERN = r"^[^\u0000-\u001f\u007f-\u009f]+$"
_NUMBER = {"type": "integer", "minimum": 0, "maximum": given.MAX_VERSION}
GLOB = {"type": "string", "minLength": 1, "maxLength": 512}


def shaped(shape: dict[str, Any], says: str, **options: Any) -> serializers.Field[Any, Any, Any, Any]:
    @extend_schema_field(shape)
    class Shaped(serializers.JSONField):
        pass

    return Shaped(help_text=says, **options)


def any_value(says: str, **options: Any) -> serializers.Field[Any, Any, Any, Any]:
    return shaped({}, says, **options)


def seconds(says: str, *, most: int = given.MAX_TTL_SECONDS) -> serializers.Field[Any, Any, Any, Any]:
    shape = {"type": "number", "exclusiveMinimum": 0, "maximum": most}
    return shaped(shape, says, required=False, allow_null=True)


def whole(says: str, low: int = 0, *, required: bool = False) -> serializers.Field[Any, Any, Any, Any]:
    return shaped({**_NUMBER, "minimum": low}, says, required=required, allow_null=not required)


class Fence(serializers.Serializer[None]):
    lock = serializers.RegexField(KEY_PATTERN, max_length=MAX_KEY)
    token = whole("As acquiring the lock answered it.", 1, required=True)


class Expecting(LabelledSerializer):
    expected_version = whole("The version you saw; 0: nothing is there.")
    expected_sha = common_serializers._text("The digest you saw; empty: nothing is there.", pattern="^([0-9a-f]{64})?$")
    expected_value = any_value("The value you saw; null: nothing is there.", required=False)
    fence = Fence(required=False, allow_null=True, help_text="The lock of this board the write is made under.")
    ttl_secs = seconds("Seconds to live. Default: for ever; incr, append and patch keep what there is.")


class Set(Expecting):
    value = any_value("Any JSON, at most 256 kB (MAX_KV_VALUE_BYTES).", allow_null=True)
    keep_ttl = serializers.BooleanField(required=False, help_text="Leave the expiry as it is.")


class Patch(Expecting):
    patch = any_value("Null takes a member away, objects merge, anything else replaces.")


class Change(Expecting):
    op = serializers.ChoiceField(choices=["incr", "append", "touch", "restore"])
    by = shaped({"type": "number"}, "incr: default 1.", required=False)
    value = any_value("append: what is added.", required=False)
    version = whole("restore: which one.", 1)


class Operation(serializers.Serializer[None]):
    op = serializers.ChoiceField(choices=list(orders.FIELDS))
    key = serializers.RegexField(KEY_PATTERN, max_length=MAX_KEY)
    value = any_value("set, append.", required=False)
    by = shaped({"type": "number"}, "incr.", required=False)
    patch = any_value("patch.", required=False)
    version = whole("restore.", 1)
    ttl_secs = seconds("All but delete.")
    keep_ttl = serializers.BooleanField(required=False, help_text="set.")
    expected_version = whole("0: nothing is there.")
    expected_sha = common_serializers._text("Empty: nothing is there.", pattern="^([0-9a-f]{64})?$")
    expected_value = any_value("null: nothing is there.", required=False)
    fence = Fence(required=False, allow_null=True)


class Batch(LabelledSerializer):
    operations = serializers.ListField(child=Operation(), min_length=1, max_length=keeping.MAX_BATCH)


class Written(serializers.Serializer[None]):
    key = serializers.CharField()
    version = serializers.IntegerField()
    sha = serializers.CharField(required=False)
    expires_at = serializers.DateTimeField(allow_null=True, required=False)
    deleted = serializers.BooleanField(required=False, help_text="Of a compare-and-set to null, which deletes.")


class Changed(Written):
    value = any_value("What came of it.", required=False)


class Deleted(serializers.Serializer[None]):
    key = serializers.CharField()
    deleted = serializers.BooleanField(help_text="False: there was nothing.")
    version = serializers.IntegerField(help_text="The last one; 0 where nothing was deleted.")
    forgotten = serializers.IntegerField(required=False, help_text="With history=forget: versions that were purged.")


class BatchDone(serializers.Serializer[None]):
    results = Changed(many=True)
    count = serializers.IntegerField()


class Particulars(serializers.Serializer[None]):
    key = serializers.CharField()
    version = serializers.IntegerField()
    sha = serializers.CharField(help_text="SHA-256 of the value as canonical JSON.")
    bytes = serializers.IntegerField()
    expires_at = serializers.DateTimeField(allow_null=True)
    writer = serializers.CharField()
    written_at = serializers.DateTimeField()


class Kept(Particulars):
    value = any_value("The value.")


class Listed(Particulars):
    value = any_value("With values=true.", required=False)


class KeyPage(serializers.Serializer[None]):
    keys = Listed(many=True)
    count = serializers.IntegerField()
    next_cursor = serializers.CharField(allow_null=True)


class Earlier(serializers.Serializer[None]):
    version = serializers.IntegerField()
    kind = serializers.ChoiceField(choices=Revision.Kind.choices)
    sha = serializers.CharField(allow_blank=True)
    bytes = serializers.IntegerField()
    writer = serializers.CharField()
    at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField(allow_null=True)
    expired = serializers.BooleanField()


class History(serializers.Serializer[None]):
    key = serializers.CharField()
    version = serializers.IntegerField(help_text="The newest, or the one that was asked for.")
    current = serializers.BooleanField(required=False, help_text="Whether the key holds something now.")
    versions = Earlier(many=True, required=False)
    value = any_value("With version: what it held.", required=False)
    sha = serializers.CharField(required=False)
    bytes = serializers.IntegerField(required=False)


def named(kind: str) -> list[OpenApiParameter]:
    shape = {"type": "string", "pattern": f"^{NAME}$"}
    return [OpenApiParameter(kind, shape, OpenApiParameter.PATH, description=f"The {kind}'s name.")]


def keyed(kind: str) -> list[OpenApiParameter]:
    shape = {"type": "string", "minLength": 1, "maxLength": MAX_KEY, "pattern": KEY_PATTERN}
    says = "The key; it may hold slashes."
    return [*named(kind), OpenApiParameter("key", shape, OpenApiParameter.PATH, description=says)]


EXPECTING = [
    OpenApiParameter("If-Match", str, OpenApiParameter.HEADER, description='"v3", or the SHA-256 of the value.'),
    OpenApiParameter(
        "If-None-Match", {"type": "string", "enum": ["*"]}, OpenApiParameter.HEADER, description="*: nothing is there."
    ),
    *WRITE_HEADERS,
]
DELETE_PARAMETERS = [
    OpenApiParameter("expected_version", {**_NUMBER, "maximum": 999_999_999}, description="0: nothing is there."),
    OpenApiParameter("expected_sha", {"type": "string", "pattern": "^([0-9a-f]{64})?$"}),
    OpenApiParameter(
        "history",
        {"type": "string", "enum": list(forgetting.HISTORIES)},
        description="forget: purge the earlier versions too. It cannot be undone. Default keep.",
    ),
]
LIST_PARAMETERS = [
    OpenApiParameter("pattern", GLOB, description="* stops at /, ** does not; * alone is everything."),
    OpenApiParameter("limit", {**_NUMBER, "minimum": 1, "maximum": listing.MAX_PAGE}, description="Default 100."),
    OpenApiParameter("cursor", {"type": "string", "pattern": "^[0-9]{1,18}$"}, description="next_cursor."),
    OpenApiParameter("values", {"type": "string", "enum": ["true", "false"]}, description="Default false."),
]
HISTORY_PARAMETERS = [
    OpenApiParameter("version", {"type": "integer", "minimum": 1, "maximum": 999_999_999}),
    OpenApiParameter(
        "limit", {"type": "integer", "minimum": 1, "maximum": history.MAX_PAGE}, description="Default 20."
    ),
]
