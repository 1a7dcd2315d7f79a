"""Answer types of calls on keys, boards, locks and queues.

`Annotated[type, "sentence"]` describes a key; `flux/calls/schema.py` makes JSON schemas of these types. They do
without pydantic, which would slow down the import of the client.
"""

from typing import Annotated, Any, Literal, NotRequired, TypedDict

Moment = Annotated[str, ("format", "date-time")]  # RFC 3339
Identifier = Annotated[str, ("format", "uuid")]
ValueOmitted = Annotated[bool, "Of a retry: true in place of a large value that is not stored any more."]
IfWhole = Annotated[int | None, "null unless you may read the whole board."]


class Written(TypedDict):
    key: str
    version: int
    sha: NotRequired[str]
    expires_at: NotRequired[Moment | None]
    deleted: NotRequired[Annotated[bool, "true after a compare-and-set to null, which deletes the key."]]


class Changed(Written):
    value: NotRequired[Annotated[Any, "The new value."]]
    value_omitted: NotRequired[ValueOmitted]


class Deleted(TypedDict):
    key: str
    deleted: Annotated[bool, "false: there was no such key."]
    version: Annotated[int, "Last version of the key; 0 if nothing was deleted."]
    forgotten: NotRequired[Annotated[int, "With history=forget: number of versions purged."]]


class BatchDone(TypedDict):
    results: list[Changed]
    count: int


class KeyFacts(TypedDict):
    key: str
    version: int
    sha: Annotated[str, "SHA-256 of the value as canonical JSON."]
    bytes: int
    expires_at: Moment | None
    writer: str
    written_at: Moment


class KeyValue(KeyFacts):
    value: Any


class KeyEntry(KeyFacts):
    value: NotRequired[Annotated[Any, "Only with values=true."]]


class KeyPage(TypedDict):
    keys: list[KeyEntry]
    count: int
    next_cursor: str | None


class EarlierVersion(TypedDict):
    version: int
    kind: Literal["written", "deleted"]
    sha: str
    bytes: int
    writer: str
    at: Moment
    expires_at: Moment | None
    expired: bool


class History(TypedDict):
    key: str
    version: Annotated[int, "The newest version, or the requested one."]
    current: NotRequired[Annotated[bool, "Whether the key has a value now."]]
    versions: NotRequired[list[EarlierVersion]]
    value: NotRequired[Annotated[Any, "With version: the value in that version."]]
    sha: NotRequired[str]
    bytes: NotRequired[int]


class Recallable(TypedDict):
    recallable: Annotated[bool, "Whether recall finds values there."]
    prefixes: Annotated[list[str], "Beginnings of the keys whose values it finds; empty: all keys, or none."]


class Board(TypedDict):
    board: str
    ephemeral: bool
    keys: IfWhole
    bytes: IfWhole
    created_by: str
    created_at: Moment


class MadeBoard(Board):
    made: Annotated[bool, "false: the board already existed."]


class DeletedBoard(TypedDict):
    board: str
    deleted: bool
    keys: IfWhole
    bytes: IfWhole
    tasks: IfWhole


class Boards(TypedDict):
    boards: list[Board]
    count: int


class Lock(TypedDict):
    board: str
    lock: str
    token: Annotated[int, "Fencing token, higher than that of any earlier holder."]
    expires_at: Moment | None


class HeldLock(TypedDict):
    lock: str
    holder: str
    token: int
    note: str
    acquired_at: Moment
    expires_at: Moment


class Locks(TypedDict):
    locks: list[HeldLock]
    count: int


class Task(TypedDict):
    board: str
    queue: str
    task: Identifier


class Claimed(TypedDict):
    board: str
    queue: str
    task: Annotated[Identifier | None, "null: no task is waiting."]
    value: NotRequired[Annotated[Any, "The value that was added."]]
    value_omitted: NotRequired[ValueOmitted]
    token: NotRequired[int]
    expires_at: NotRequired[Moment]


class Finished(TypedDict):
    board: str
    queue: str
    task: Identifier
    token: int
    expires_at: NotRequired[Moment]


class Queue(TypedDict):
    queue: str
    waiting: int
    claimed: int


class Queues(TypedDict):
    queues: list[Queue]
    count: int


# In this form because "in" is a keyword and no name of a class attribute.
KeyChange = TypedDict(
    "KeyChange",
    {
        "kind": Annotated[str, "kv.set, kv.deleted, kv.forgotten, kv.expired, kv.touched, lock.*, queue.*, board.*"],
        "in": str,
        "key": NotRequired[str],
        "version": NotRequired[int],
        "op": NotRequired[str],
        "token": NotRequired[int],
        "holder": NotRequired[str],
        "task": NotRequired[Identifier],
        "ephemeral": NotRequired[bool],
        "expires_at": NotRequired[Moment | None],
        "actor": str,
        "at": Moment,
        "position": str,
    },
)


class Watched(TypedDict):
    changes: list[KeyChange]
    count: int
    position: Annotated[str, "Pass it as since to continue."]
