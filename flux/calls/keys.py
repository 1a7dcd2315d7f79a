"""Calls on keys: of an agent's exact memory and of boards. The server's half is `memory/keyvalue/verbs.py`."""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from flux.calls.answers import BatchDone, Changed, Deleted, History, Kept, KeyPage, Written
from flux.calls.base import Answers, Call, Declared, Read, Write
from flux.calls.rules import MAX_BATCH, MAX_HISTORY_PAGE, MAX_KEYS_PAGE
from flux.calls.types import Cursor, Glob, Key, Number, Place, Seconds, Sha256, Version, VersionOrNone

_KEY = Field(description="The key; slashes make folders of it.")
_PLACE = Field(description="agents/NAME or boards/NAME.")
_TTL = "Seconds to live. Default: for ever; incr, append and patch keep what there is."


class Fence(Declared):
    """The lock a write is made under, with the token that acquiring it answered."""

    lock: Key
    token: Version


class Expecting(Declared):
    """What a write expects to be there, and the lock it is made under."""

    expected_version: VersionOrNone | None = Field(None, description="The version you saw; 0: nothing is there.")
    expected_sha: Sha256 | None = Field(None, description="The digest you saw; empty: nothing is there.")
    expected_value: Any = Field(None, description="The value you saw; null: nothing is there.")
    fence: Fence | None = Field(None, description="The lock of this board the write is made under.")


class KeyWrite(Expecting, Write):
    """A change of one key."""

    needs: ClassVar[tuple[str, ...]] = ("{domain}.write",)
    tagged: ClassVar[bool] = True

    place: Place = _PLACE
    key: Key = _KEY


class GetKey(Read, Answers[Kept]):
    """The value under a key, with its version, digest, expiry and writer."""

    sdk, verb, rest, tagged = "{word}_get", "kv.get", "GET /{place}/kv/{key}", True
    title, needs = "Read {whose}", ("{domain}.read",)
    shell = ("read {key}",)

    place: Place = _PLACE
    key: Key = _KEY


class ValueWrite(KeyWrite):
    """A change that brings the whole value."""

    value: Any = Field(description="Any JSON, at most 256 kB (MAX_KV_VALUE_BYTES).")
    ttl_secs: Seconds | None = Field(None, description=_TTL)
    keep_ttl: bool | None = Field(None, description="Leave the expiry as it is.")


class SetKey(ValueWrite, Answers[Written]):
    """Write a value. It replaces what was there; with an expectation nothing is written unless it holds."""

    sdk, verb, rest = "{word}_set", "kv.set", "PUT /{place}/kv/{key}"
    title, repeats = "Write {whose}", True
    shell = ("write {key} {value}",)
    by_position = ("ttl_secs",)
    example = {"value": {"any": "thing"}, "ttl_secs": 3600}


class CompareAndSetKey(ValueWrite, Answers[Written]):
    """Write only if the key is as you saw it: by expected_version (0: absent), expected_sha or expected_value
    (null: absent; a null value then deletes). Otherwise nothing changes and you see what is there."""

    sdk, title = "{word}_cas", "Compare and set {whose}"
    shell = ("memory: cas {key} {expected_version} {value}", "board: cas {key} {expected_value} {value}")


class DeleteKey(KeyWrite, Answers[Deleted]):
    """Take a key away; one that is not there is fine. With history=forget its earlier versions are purged too."""

    sdk, rest, tagged = "{word}_delete", "DELETE /{place}/kv/{key}", False
    title, repeats = "Delete a key of {whose}", True
    shell = ("delete {key}", "purge {key} history=forget")
    confirms = {"purge": ("key", "This removes the key's value and all its versions for good.")}
    by_position = ("expected_version",)
    not_over_rest = ("expected_value", "fence")

    history: Literal["keep", "forget"] | None = Field(
        None, description="forget: purge the earlier versions too. It cannot be undone. Default keep."
    )


class ListKeys(Read, Answers[KeyPage]):
    """Keys in order, page by page: only those you may read."""

    sdk, verb, rest = "{word}_list", "kv.list", "GET /{place}/kv"
    title, needs = "List {whose}", ("{domain}.read",)
    shell = ("list",)
    by_position = ("pattern", "limit")

    place: Place = _PLACE
    pattern: Glob | None = Field(None, description="* stops at /, ** does not; * alone is everything.")
    limit: Annotated[int, Field(ge=1, le=MAX_KEYS_PAGE)] | None = Field(None, description="Default 100.")
    cursor: Cursor | None = Field(None, description="next_cursor of the page before.")
    values: bool | None = Field(None, description="With the values. Default false.")


class ChangeKey(KeyWrite, Answers[Changed]):
    """One step on what is there: incr adds `by` to a number, append adds `value` to a list or text, patch merges
    `patch` into an object, touch sets ttl_secs, restore writes an earlier `version` anew."""

    sdk, rest = "{word}_change", "POST /{place}/kv/{key}"
    title = "Change {whose}"
    shell = (
        "touch {key} op=touch",
        "incr {key} {by} op=incr",
        "append {key} {value} op=append",
        "patch {key} {patch} op=patch",
        "restore {key} {version} op=restore",
    )
    example = {"op": "incr", "by": 2}

    op: Literal["incr", "append", "patch", "touch", "restore"]
    by: Number | None = Field(None, description="incr: default 1.")
    value: Any = Field(None, description="append: what is added.")
    patch: Any = Field(None, description="patch: null takes a member away, objects merge, anything else replaces.")
    version: Version | None = Field(None, description="restore: which one.")
    ttl_secs: Seconds | None = Field(None, description=_TTL)


class PatchKey(KeyWrite, Answers[Changed]):
    """Change an object by JSON merge patch (RFC 7396)."""

    sdk, verb, rest, tool = "{word}_patch", "kv.patch", "PATCH /{place}/kv/{key}", None
    example = {"patch": {"more": 1}}

    patch: Any = Field(description="Null takes a member away, objects merge, anything else replaces.")
    ttl_secs: Seconds | None = Field(None, description=_TTL)


class Operation(Expecting):
    """One change of a batch: the fields of its `op`."""

    op: Literal["set", "delete", "touch", "incr", "append", "patch", "restore"]
    key: Key
    value: Any = Field(None, description="set, append.")
    by: Number | None = Field(None, description="incr.")
    patch: Any = Field(None, description="patch.")
    version: Version | None = Field(None, description="restore.")
    ttl_secs: Seconds | None = Field(None, description="All but delete.")
    keep_ttl: bool | None = Field(None, description="set.")


class ChangeKeys(Write, Answers[BatchDone]):
    """Up to 100 operations in one transaction, all or none: each has op (set, delete, incr, append, patch, touch,
    restore), key and the fields of that op."""

    sdk, verb, rest = "{word}_batch", "kv.batch", "POST /{place}/batch"
    title, needs = "Change many keys of {whose}", ("{domain}.write",)
    example = {"operations": [{"op": "set", "key": "kept/by the table", "value": 1}]}

    place: Place = _PLACE
    operations: Annotated[list[Operation], Field(min_length=1, max_length=MAX_BATCH)]


class GetHistory(Read, Answers[History]):
    """What became of a key, newest first; with `version` the value it had then."""

    sdk, rest = "{word}_history", "GET /{place}/history/{key}"
    title, needs = "What {whose} held", ("{domain}.read",)
    shell = ("history {key} limit=100",)
    by_position = ("version",)

    place: Place = _PLACE
    key: Key = _KEY
    version: Version | None = Field(None, description="The value it had in this version.")
    limit: Annotated[int, Field(ge=1, le=MAX_HISTORY_PAGE)] | None = Field(None, description="Default 20.")


HANDLERS = "memory.keyvalue.handlers"  # of the server, imported with the first call
CALLS: tuple[type[Call], ...] = (
    GetKey,
    SetKey,
    CompareAndSetKey,
    DeleteKey,
    ListKeys,
    ChangeKey,
    PatchKey,
    ChangeKeys,
    GetHistory,
)
