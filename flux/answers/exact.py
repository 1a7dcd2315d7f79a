"""Answers: exact memory, boards, locks, queues and what changed there."""

from __future__ import annotations

from typing import Any, NotRequired, TypedDict


class Written(TypedDict):
    key: str
    version: int
    sha: NotRequired[str]
    expires_at: NotRequired[str | None]
    deleted: NotRequired[bool]


class Changed(Written):
    value: NotRequired[Any]


class Deleted(TypedDict):
    key: str
    deleted: bool
    version: int
    forgotten: NotRequired[int]  # versions that were purged


class BatchDone(TypedDict):
    results: list[Changed]
    count: int


class _KeyParticulars(TypedDict):
    key: str
    version: int
    sha: str
    bytes: int
    expires_at: str | None
    writer: str
    written_at: str


class Kept(_KeyParticulars):
    value: Any


class Listed(_KeyParticulars):
    value: NotRequired[Any]


class KeyPage(TypedDict):
    keys: list[Listed]
    count: int
    next_cursor: str | None


class Earlier(TypedDict):
    version: int
    kind: str
    sha: str
    bytes: int
    writer: str
    at: str
    expires_at: str | None
    expired: bool


class History(TypedDict):
    key: str
    version: int
    current: NotRequired[bool]
    versions: NotRequired[list[Earlier]]
    value: NotRequired[Any]
    sha: NotRequired[str]
    bytes: NotRequired[int]


class Board(TypedDict):
    board: str
    ephemeral: bool
    keys: int | None  # None for who may read only part of it
    bytes: int | None
    created_by: str
    created_at: str


class MadeBoard(Board):
    made: bool


class DeletedBoard(TypedDict):
    board: str
    deleted: bool
    keys: int | None  # None for who may read only part of it
    bytes: int | None
    tasks: int | None


class Boards(TypedDict):
    boards: list[Board]
    count: int


class Lock(TypedDict):
    board: str
    lock: str
    token: int
    expires_at: str | None


class HeldLock(TypedDict):
    lock: str
    holder: str
    token: int
    note: str
    acquired_at: str
    expires_at: str


class Locks(TypedDict):
    locks: list[HeldLock]
    count: int


class Task(TypedDict):
    board: str
    queue: str
    task: str


class Claimed(TypedDict):
    board: str
    queue: str
    task: str | None
    value: NotRequired[Any]
    token: NotRequired[int]
    expires_at: NotRequired[str]


class Finished(TypedDict):
    board: str
    queue: str
    task: str
    token: int
    expires_at: NotRequired[str]


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
        "kind": str,
        "in": str,
        "key": NotRequired[str],
        "version": NotRequired[int],
        "op": NotRequired[str],
        "token": NotRequired[int],
        "holder": NotRequired[str],
        "task": NotRequired[str],
        "ephemeral": NotRequired[bool],
        "expires_at": NotRequired[str | None],
        "actor": str,
        "at": str,
        "position": str,
    },
)


class Watched(TypedDict):
    changes: list[KeyChange]
    count: int
    position: str
