"""Calls on boards, their locks and their queues. The server's half is `memory/keyvalue/{boards,locks,queues}.py`."""

from typing import Any, ClassVar

from pydantic import Field

from flux.calls.answers import (
    Boards,
    Claimed,
    DeletedBoard,
    Finished,
    Lock,
    Locks,
    MadeBoard,
    Queues,
    Task,
)
from flux.calls.base import Answers, Call, Read, Write
from flux.calls.types import Glob, Key, LockSeconds, Name, Note, Seconds, TaskId, Version

_BOARD = Field(None, description="Which board. Default main.")
_TOKEN = Field(description="As taking it answered it.")
_LOCK_TTL = Field(None, description="How long it is yours, seconds, at most a day. Default 30.")
_TTL = Field(None, description="How long it is yours, seconds. Default 30.")


class BoardRead(Read):
    """A call that looks at boards."""

    needs: ClassVar[tuple[str, ...]] = ("bb.read",)
    group: ClassVar[str] = "board"


class BoardWrite(Write):
    """A call that changes a board."""

    needs: ClassVar[tuple[str, ...]] = ("bb.write",)
    group: ClassVar[str] = "board"


class ListBoards(BoardRead, Answers[Boards]):
    """The boards on which you may read something."""

    sdk, verb, rest, tool = "list_boards", "boards.list", "GET /boards", "board_boards"
    title, shell = "Boards", ("boards",)


class MakeBoard(BoardWrite, Answers[MadeBoard]):
    """A new board; an ephemeral one is emptied whenever the instance starts."""

    sdk, verb, rest, tool = "make_board", "boards.make", "POST /boards", "board_make"
    title, repeats, shell = "Make a board", True, ("make {board}",)
    by_position = ("ephemeral",)
    example = {"board": "made-by-the-table"}

    board: Name
    ephemeral: bool | None = Field(None, description="Emptied whenever the instance starts.")


class DeleteBoard(BoardWrite, Answers[DeletedBoard]):
    """Delete a board that you made, with its keys, their history, its locks and its tasks."""

    sdk, verb, rest, tool = "delete_board", "boards.delete", "DELETE /boards/{board}", "board_remove"
    title, destroys, shell = "Delete a board", True, ("remove {board}",)

    board: Name


class LockWrite(BoardWrite):
    """A change of a lock."""

    lock: Key = Field(description="The lock's name; capabilities see it like a key of the board.")
    board: Name | None = _BOARD


class AcquireLock(LockWrite, Answers[Lock]):
    """Take a lock, or hear who holds it. Its token grows with each holder: send it as fence with what you write."""

    sdk, verb, rest, tool = "acquire_lock", "locks.acquire", "POST /locks", "board_lock"
    title, shell, by_position = "Take a lock", ("lock {lock}",), ("ttl_secs",)

    ttl_secs: LockSeconds | None = _LOCK_TTL
    note: Note | None = Field(None, description="Shown to who finds it held.")


class RenewLock(LockWrite, Answers[Lock]):
    """Hold a lock longer, while it is still yours. Refused once somebody else could have taken it."""

    sdk, verb, rest, tool = "renew_lock", "locks.renew", "POST /locks/renew", "board_renew"
    title, shell, by_position = "Keep a lock", ("renew {lock} {token}",), ("ttl_secs",)

    token: Version = _TOKEN
    ttl_secs: LockSeconds | None = _LOCK_TTL


class ReleaseLock(LockWrite, Answers[Lock]):
    """Let a lock go that is yours."""

    sdk, verb, rest, tool = "release_lock", "locks.release", "POST /locks/release", "board_unlock"
    title, shell = "Let a lock go", ("unlock {lock} {token}",)

    token: Version = _TOKEN


class BreakLock(LockWrite, Answers[Lock]):
    """Take a lock from whoever holds it: for people, when its holder is known to be gone."""

    sdk, verb, tool, shell = "break_lock", "locks.break", None, ("break {lock}",)


class ListLocks(BoardRead, Answers[Locks]):
    """The locks somebody holds, with holder and token: only those you may read."""

    sdk, verb, rest, tool = "list_locks", "locks.list", "GET /locks", "board_locks"
    title, shell, by_position = "Who holds what", ("locks",), ("board", "pattern")

    board: Name | None = _BOARD
    pattern: Glob | None = Field(None, description="Default: all.")


class ListQueues(BoardRead, Answers[Queues]):
    """The queues of a board, with what waits in them."""

    sdk, verb, rest, tool = "list_queues", "queues.list", "GET /queues", "board_queues"
    title, shell, by_position = "Queues", ("queues",), ("board",)

    board: Name | None = _BOARD


class QueueWrite(BoardWrite):
    """A change of a queue."""

    queue: Key = Field(description="The queue's name; capabilities see it like a key of the board.")
    board: Name | None = _BOARD


class AddTask(QueueWrite, Answers[Task]):
    """Put a task at the end of a queue."""

    sdk, verb, rest, tool = "add_task", "queues.add", "POST /queues", "board_add_task"
    title, shell = "Add a task", ("add {queue} {value}",)
    example = {"value": 1}

    value: Any = Field(description="Any JSON.")


class ClaimTask(QueueWrite, Answers[Claimed]):
    """Take the oldest task nobody has; `task` is null where none waits."""

    sdk, verb, rest, tool = "claim_task", "queues.claim", "POST /queues/claim", "board_claim_task"
    title, shell, needs = "Claim a task", ("claim {queue}",), ("bb.read", "bb.write")
    by_position = ("ttl_secs",)

    ttl_secs: Seconds | None = _TTL


class ClaimedTask(QueueWrite):
    """A call on a task that was claimed."""

    task: TaskId = Field(description="As claiming answered it.")
    token: Version = _TOKEN


class FinishTask(ClaimedTask, Answers[Finished]):
    """A claimed task is done and gone."""

    sdk, verb, rest, tool = "finish_task", "queues.done", "POST /queues/done", "board_finish_task"
    title, shell = "Finish a task", ("done {queue} {task} {token}",)


class RenewTask(ClaimedTask, Answers[Finished]):
    """Keep a claimed task for longer."""

    sdk, verb, rest, tool = "renew_task", "queues.renew", "POST /queues/renew", "board_renew_task"
    title, by_position = "Keep a task", ("ttl_secs",)

    ttl_secs: Seconds | None = _TTL


class ReleaseTask(ClaimedTask, Answers[Finished]):
    """Give a claimed task back; it waits for the next."""

    sdk, verb, rest, tool = "release_task", "queues.release", "POST /queues/release", "board_release_task"
    title = "Give a task back"


HANDLERS = "memory.keyvalue.handlers"  # of the server, imported with the first call
CALLS: tuple[type[Call], ...] = (
    ListBoards,
    MakeBoard,
    DeleteBoard,
    AcquireLock,
    RenewLock,
    ReleaseLock,
    BreakLock,
    ListLocks,
    ListQueues,
    AddTask,
    ClaimTask,
    FinishTask,
    RenewTask,
    ReleaseTask,
)
