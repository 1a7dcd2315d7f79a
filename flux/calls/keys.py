"""Declared calls on keys of agents and of boards. Handlers: `memory/keyvalue/{verbs,reads,listing,purging}.py`."""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from flux.calls.answers import BatchDone, Changed, Deleted, History, KeyPage, KeyValue, Recallable, Written
from flux.calls.base import Answers, Call, Declared, Read, Write
from flux.calls.rules import FIELDS_OF_OP, MAX_BATCH, MAX_HISTORY_PAGE, MAX_KEYS_PAGE
from flux.calls.types import Cursor, Glob, Key, Number, Place, Seconds, Sha256, Version, VersionOrNone

_KEY = Field(description="The key. Slashes separate folders.")
_PLACE = Field(description="agents/NAME or boards/NAME.")
_TTL = "Lifetime in seconds. Default: none; incr, append and patch keep the current one."


class Fence(Declared):
    """A lock the writer must still hold, with the token returned by acquire."""

    lock: Key
    token: Version


class Expecting(Declared):
    """Conditions of a write: expected version, digest or value of the key, and a lock that must be held."""

    expected_version: VersionOrNone | None = Field(None, description="Expected current version; 0: no such key.")
    expected_sha: Sha256 | None = Field(None, description="Expected SHA-256 of the current value; empty: no such key.")
    expected_value: Any = Field(None, description="Expected current value; null: no such key.")
    fence: Fence | None = Field(None, description="Lock of this board that you must still hold.")


class KeyWrite(Expecting, Write):
    """A call that changes one key."""

    needs: ClassVar[tuple[str, ...]] = ("{domain}.write",)
    tagged: ClassVar[bool] = True

    place: Place = _PLACE
    key: Key = _KEY


class GetKey(Read, Answers[KeyValue]):
    """Read a key: its value, version, SHA-256, expiry and writer."""

    sdk, verb, rest, tagged = "{word}_get", "kv.get", "GET /{place}/kv/{key}", True
    title, needs = "Read {whose}", ("{domain}.read",)
    shell = ("read {key}",)

    place: Place = _PLACE
    key: Key = _KEY


class ValueWrite(KeyWrite):
    """A call that replaces the whole value of a key."""

    value: Any = Field(description="Any JSON, at most 256 kB (MAX_KV_VALUE_BYTES).")
    ttl_secs: Seconds | None = Field(None, description=_TTL)
    keep_ttl: bool | None = Field(None, description="Keep the current expiry.")


class SetKey(ValueWrite, Answers[Written]):
    """Write a value, replacing the current one. If a given expectation does not hold, nothing is written."""

    sdk, verb, rest = "{word}_set", "kv.set", "PUT /{place}/kv/{key}"
    title, repeats = "Write {whose}", True
    shell = ("write {key} {value}",)
    by_position = ("ttl_secs",)
    example = {"value": {"any": "thing"}, "ttl_secs": 3600}


class CompareAndSetKey(ValueWrite, Answers[Written]):
    """Write only if the key is as expected: by expected_version (0: absent), expected_sha or expected_value
    (null: absent; a null value then deletes). Otherwise nothing changes and the error has the current value."""

    sdk, title = "{word}_cas", "Compare and set {whose}"
    shell = ("memory: cas {key} {expected_version} {value}", "board: cas {key} {expected_value} {value}")


class DeleteKey(KeyWrite, Answers[Deleted]):
    """Delete a key; an absent key is no error. With history=forget its earlier versions are purged too."""

    sdk, rest, tagged = "{word}_delete", "DELETE /{place}/kv/{key}", False
    title, repeats = "Delete a key of {whose}", True
    shell = ("delete {key}", "purge {key} history=forget")
    confirms = {"purge": ("key", "This permanently removes the key's value and all its versions.")}
    by_position = ("expected_version",)
    not_over_rest = ("expected_value", "fence")

    history: Literal["keep", "forget"] | None = Field(
        None, description="forget: also purge the earlier versions, which cannot be undone. Default keep."
    )


class ListKeys(Read, Answers[KeyPage]):
    """List keys in order, page by page; only those you may read."""

    sdk, verb, rest = "{word}_list", "kv.list", "GET /{place}/kv"
    title, needs = "List {whose}", ("{domain}.read",)
    shell = ("list",)
    by_position = ("pattern", "limit")

    place: Place = _PLACE
    pattern: Glob | None = Field(None, description="Glob: ** matches across /, * does not; a lone * matches all.")
    limit: Annotated[int, Field(ge=1, le=MAX_KEYS_PAGE)] | None = Field(None, description="Keys per page. Default 100.")
    cursor: Cursor | None = Field(None, description="next_cursor of the previous page.")
    values: bool | None = Field(None, description="Include the values. Default false.")


class ChangeKey(KeyWrite, Answers[Changed]):
    """Change the current value: incr adds `by` to a number, append adds `value` to a list or text, patch merges
    `patch` into an object, touch sets ttl_secs, restore writes the value of an earlier `version` again."""

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
    fields_of_op = FIELDS_OF_OP

    op: Literal["incr", "append", "patch", "touch", "restore"]
    by: Number | None = Field(None, description="Number that incr adds. Default 1.")
    value: Any = Field(None, description="Value that append adds.")
    patch: Any = Field(None, description="Object that patch merges: null removes a member, other values replace it.")
    version: Version | None = Field(None, description="Version that restore writes again.")
    ttl_secs: Seconds | None = Field(None, description=_TTL)


class PatchKey(KeyWrite, Answers[Changed]):
    """Change an object by JSON merge patch (RFC 7396)."""

    sdk, verb, rest, tool = "{word}_patch", "kv.patch", "PATCH /{place}/kv/{key}", None
    example = {"patch": {"more": 1}}

    patch: Any = Field(description="Object to merge: null removes a member, other values replace it.")
    ttl_secs: Seconds | None = Field(None, description=_TTL)


class Operation(Expecting):
    """One operation of a batch, with the fields of its `op`."""

    op: Literal["set", "delete", "touch", "incr", "append", "patch", "restore"]
    key: Key
    value: Any = Field(None, description="For set and append.")
    by: Number | None = Field(None, description="For incr.")
    patch: Any = Field(None, description="For patch.")
    version: Version | None = Field(None, description="For restore.")
    ttl_secs: Seconds | None = Field(None, description="For all operations except delete.")
    keep_ttl: bool | None = Field(None, description="For set.")


class ChangeKeys(Write, Answers[BatchDone]):
    """Up to 100 operations in one transaction, all or none: each has op (set, delete, incr, append, patch, touch,
    restore), key and the fields of that op."""

    sdk, verb, rest = "{word}_batch", "kv.batch", "POST /{place}/batch"
    title, needs = "Change many keys of {whose}", ("{domain}.write",)
    example = {"operations": [{"op": "set", "key": "kept/by the table", "value": 1}]}

    place: Place = _PLACE
    operations: Annotated[list[Operation], Field(min_length=1, max_length=MAX_BATCH)]


class GetHistory(Read, Answers[History]):
    """List the versions of a key, newest first; with `version`, read the value in that version."""

    sdk, rest = "{word}_history", "GET /{place}/history/{key}"
    title, needs = "History of a key of {whose}", ("{domain}.read",)
    shell = ("history {key} limit=100",)
    by_position = ("version",)

    place: Place = _PLACE
    key: Key = _KEY
    version: Version | None = Field(None, description="Version whose value is read.")
    limit: Annotated[int, Field(ge=1, le=MAX_HISTORY_PAGE)] | None = Field(None, description="Page size. Default 20.")


class GetRecallable(Read, Answers[Recallable]):
    """Whether recall finds the values of keys there, and of which."""

    sdk, verb, rest, tool = "{word}_recallable", "kv.recallable", "GET /{place}/recallable", None
    needs, shell = ("{domain}.read",), ("recallable",)

    place: Place = _PLACE


class MakeRecallable(Write, Answers[Recallable]):
    """Have recall find the values of all keys there, or also of those that begin with `prefix`."""

    sdk, verb, rest, tool = "{word}_make_recallable", "kv.make_recallable", "PUT /{place}/recallable", None
    needs, shell = ("{domain}.write",), ("make-recallable",)

    place: Place = _PLACE
    prefix: Key | None = Field(None, description="Beginning of keys, for example notes/. Default: all keys.")


class EndRecallable(Write, Answers[Recallable]):
    """Have recall find no values there any more, or none for `prefix` if it was made recallable."""

    sdk, verb, rest, tool = "{word}_end_recallable", "kv.end_recallable", "DELETE /{place}/recallable", None
    needs, shell = ("{domain}.write",), ("end-recallable",)

    place: Place = _PLACE
    prefix: Key | None = Field(None, description="A prefix that was made recallable. Default: all.")


HANDLERS = "memory.keyvalue.handlers"  # module of the server, imported with the first call
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
    GetRecallable,
    MakeRecallable,
    EndRecallable,
)
