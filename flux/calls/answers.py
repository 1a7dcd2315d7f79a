"""Answers of exact memory, boards, locks and queues, key for key.

`Annotated[type, "sentence"]` describes a key; `flux/calls/schema.py` makes JSON schemas of these types. Without
pydantic, so that the client can import them at once.
"""

from typing import Annotated, Any, Literal, NotRequired, TypedDict

Moment = Annotated[str, ("format", "date-time")]  # RFC 3339
Identifier = Annotated[str, ("format", "uuid")]
ValueOmitted = Annotated[bool, "Of a retry: true in the place of a large value that is not stored any more."]
IfWhole = Annotated[int | None, "null for who may read only part of the board."]


class Written(TypedDict):
    key: str
    version: int
    sha: NotRequired[str]
    expires_at: NotRequired[Moment | None]
    deleted: NotRequired[Annotated[bool, "Of a compare-and-set to null, which deletes."]]


class Changed(Written):
    value: NotRequired[Annotated[Any, "What came of it."]]
    value_omitted: NotRequired[ValueOmitted]


class Deleted(TypedDict):
    key: str
    deleted: Annotated[bool, "False: there was nothing."]
    version: Annotated[int, "The last one; 0 where nothing was deleted."]
    forgotten: NotRequired[Annotated[int, "With history=forget: versions that were purged."]]


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


class Kept(KeyFacts):
    value: Any


class Listed(KeyFacts):
    value: NotRequired[Annotated[Any, "With values=true."]]


class KeyPage(TypedDict):
    keys: list[Listed]
    count: int
    next_cursor: str | None


class Earlier(TypedDict):
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
    version: Annotated[int, "The newest, or the one that was asked for."]
    current: NotRequired[Annotated[bool, "Whether the key holds something now."]]
    versions: NotRequired[list[Earlier]]
    value: NotRequired[Annotated[Any, "With version: what it held."]]
    sha: NotRequired[str]
    bytes: NotRequired[int]


class Board(TypedDict):
    board: str
    ephemeral: bool
    keys: IfWhole
    bytes: IfWhole
    created_by: str
    created_at: Moment


class MadeBoard(Board):
    made: Annotated[bool, "False: it was there already."]


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
    token: Annotated[int, "The fencing token: higher than any holder's before."]
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
    task: Annotated[Identifier | None, "Null: nothing waits."]
    value: NotRequired[Annotated[Any, "What was added."]]
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


# "in" is no name a class can give a key.
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
    position: Annotated[str, "Where to go on: since."]
