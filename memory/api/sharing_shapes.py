"""What boards, locks, queues and watching take and give, for the OpenAPI document."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers

from accounts.names import NAME
from memory.api.common_serializers import LabelledSerializer, _text
from memory.api.exact_shapes import GLOB, KEY_PATTERN, any_value, seconds, shaped, whole
from memory.keyvalue import locks, watching
from memory.keyvalue.given import MAX_LOCK_SECONDS
from memory.keyvalue.models import MAX_KEY

_BOARD = {"type": "string", "pattern": f"^{NAME}$"}


def _name(says: str) -> serializers.RegexField:
    return serializers.RegexField(KEY_PATTERN, max_length=MAX_KEY, help_text=says)


def _board() -> serializers.Field[Any, Any, Any, Any]:
    return shaped(_BOARD, "Default main.", required=False, allow_null=True)


class MakeBoard(LabelledSerializer):
    board = serializers.RegexField(f"^{NAME}$")
    ephemeral = serializers.BooleanField(required=False, help_text="Emptied whenever the instance starts.")


class Board(serializers.Serializer[None]):
    board = serializers.CharField()
    ephemeral = serializers.BooleanField()
    keys = serializers.IntegerField(allow_null=True, help_text="null for who may read only part of the board.")
    bytes = serializers.IntegerField(allow_null=True, help_text="null for who may read only part of the board.")
    created_by = serializers.CharField()
    created_at = serializers.DateTimeField()


class MadeBoard(Board):
    made = serializers.BooleanField(help_text="False: it was there already.")


class DeletedBoard(serializers.Serializer[None]):
    board = serializers.CharField()
    deleted = serializers.BooleanField()
    keys = serializers.IntegerField(allow_null=True, help_text="null for who may read only part of the board.")
    bytes = serializers.IntegerField(allow_null=True, help_text="Of values and their history.")
    tasks = serializers.IntegerField(allow_null=True)


class Boards(serializers.Serializer[None]):
    boards = Board(many=True)
    count = serializers.IntegerField()


class Acquire(LabelledSerializer):
    lock = _name("The lock's name; capabilities see it like a key of the board.")
    board = _board()
    ttl_secs = seconds("How long it is yours, at most a day. Default 30.", most=MAX_LOCK_SECONDS)
    note = _text("Shown to who finds it held.", maxLength=locks.MAX_NOTE, pattern=r"^[\x20-\x7e]*$")


class Release(LabelledSerializer):
    lock = _name("The lock's name.")
    token = whole("As acquiring answered it.", 1, required=True)
    board = _board()


class Renew(Release):
    ttl_secs = seconds("How long from now, at most a day. Default 30.", most=MAX_LOCK_SECONDS)


class Lock(serializers.Serializer[None]):
    board = serializers.CharField()
    lock = serializers.CharField()
    token = serializers.IntegerField(help_text="The fencing token: higher than any holder's before.")
    expires_at = serializers.DateTimeField(allow_null=True)


class HeldLock(serializers.Serializer[None]):
    lock = serializers.CharField()
    holder = serializers.CharField()
    token = serializers.IntegerField()
    note = serializers.CharField(allow_blank=True)
    acquired_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField()


class Locks(serializers.Serializer[None]):
    locks = HeldLock(many=True)
    count = serializers.IntegerField()


class AddTask(LabelledSerializer):
    queue = _name("The queue's name; capabilities see it like a key of the board.")
    value = any_value("Any JSON.")
    board = _board()


class Task(serializers.Serializer[None]):
    board = serializers.CharField()
    queue = serializers.CharField()
    task = serializers.UUIDField()


class Claim(LabelledSerializer):
    queue = _name("The queue's name.")
    board = _board()
    ttl_secs = seconds("How long it is yours. Default 30.")


class Claimed(serializers.Serializer[None]):
    board = serializers.CharField()
    queue = serializers.CharField()
    task = serializers.UUIDField(allow_null=True, help_text="Null: nothing waits.")
    value = any_value("What was added.", required=False)
    token = serializers.IntegerField(required=False)
    expires_at = serializers.DateTimeField(required=False)


class OfTask(LabelledSerializer):
    queue = _name("The queue's name.")
    task = serializers.UUIDField()
    token = whole("As claiming answered it.", 1, required=True)
    board = _board()


class RenewTask(OfTask):
    ttl_secs = seconds("How long from now. Default 30.")


class Finished(serializers.Serializer[None]):
    board = serializers.CharField()
    queue = serializers.CharField()
    task = serializers.UUIDField()
    token = serializers.IntegerField()
    expires_at = serializers.DateTimeField(required=False)


class Queue(serializers.Serializer[None]):
    queue = serializers.CharField()
    waiting = serializers.IntegerField()
    claimed = serializers.IntegerField()


class Queues(serializers.Serializer[None]):
    queues = Queue(many=True)
    count = serializers.IntegerField()


# "in" is no name a class can give a field.
KeyChange = type(
    "KeyChange",
    (serializers.Serializer,),
    {
        "kind": serializers.CharField(
            help_text="kv.set, kv.deleted, kv.forgotten, kv.expired, kv.touched, lock.*, queue.*, board.*"
        ),
        "in": serializers.CharField(),
        "key": serializers.CharField(required=False),
        "version": serializers.IntegerField(required=False),
        "op": serializers.CharField(required=False),
        "token": serializers.IntegerField(required=False),
        "holder": serializers.CharField(required=False, allow_blank=True),
        "task": serializers.UUIDField(required=False),
        "ephemeral": serializers.BooleanField(required=False),
        "expires_at": serializers.DateTimeField(required=False, allow_null=True),
        "actor": serializers.CharField(),
        "at": serializers.DateTimeField(),
        "position": serializers.CharField(),
    },
)


class Watched(serializers.Serializer[None]):
    changes = KeyChange(many=True)
    count = serializers.IntegerField()
    position = serializers.CharField(help_text="Where to go on: since.")


BOARD = [OpenApiParameter("board", _BOARD, description="Default main.")]
LOCK_PARAMETERS = [*BOARD, OpenApiParameter("pattern", GLOB, description="Default: all.")]
WATCH_PARAMETERS = [
    OpenApiParameter(
        "place",
        {"type": "string", "pattern": f"^(agents|boards)/{NAME}$"},
        required=True,
        description="agents/NAME or boards/NAME.",
    ),
    OpenApiParameter("pattern", GLOB, description="Only keys that match. Default: all."),
    OpenApiParameter(
        "since", {"type": "string", "pattern": r"^[0-9]{1,18}\.[0-9]{1,18}$"}, description="A position; default: now."
    ),
    OpenApiParameter(
        "wait",
        {"type": "integer", "minimum": 0, "maximum": int(watching.MAX_WAIT_SECONDS)},
        description="Seconds to wait for a change. Default 25.",
    ),
]
