"""Declared calls on boards, locks and queues. Handlers: `memory/keyvalue/{boards,locks,queues}.py`."""

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

_BOARD = Field(None, description="Name of the board. Default main.")
_LOCK_TOKEN = Field(description="Token returned by acquire.")
_CLAIM_TOKEN = Field(description="Token returned by claim.")
_LOCK_TTL = Field(None, description="Lease in seconds, at most a day. Default 30.")
_TTL = Field(None, description="Lease in seconds. Default 30.")


class BoardRead(Read):
    """A call that reads boards, locks or queues."""

    needs: ClassVar[tuple[str, ...]] = ("bb.read",)
    group: ClassVar[str] = "board"


class BoardWrite(Write):
    """A call that changes boards, locks or queues."""

    needs: ClassVar[tuple[str, ...]] = ("bb.write",)
    group: ClassVar[str] = "board"


class ListBoards(BoardRead, Answers[Boards]):
    """List the boards on which you may read something."""

    sdk, verb, rest, tool = "list_boards", "boards.list", "GET /boards", "board_boards"
    title, shell = "List boards", ("boards",)


class MakeBoard(BoardWrite, Answers[MadeBoard]):
    """Create a board. An ephemeral board is emptied whenever the instance starts."""

    sdk, verb, rest, tool = "make_board", "boards.make", "POST /boards", "board_make"
    title, repeats, shell = "Create a board", True, ("make {board}",)
    by_position = ("ephemeral",)
    example = {"board": "made-by-the-table"}

    board: Name
    ephemeral: bool | None = Field(None, description="Emptied whenever the instance starts.")


class DeleteBoard(BoardWrite, Answers[DeletedBoard]):
    """Delete a board that you created, with its keys, their history, its locks and its tasks."""

    sdk, verb, rest, tool = "delete_board", "boards.delete", "DELETE /boards/{board}", "board_remove"
    title, destroys, shell = "Delete a board", True, ("remove {board}",)

    board: Name


class LockWrite(BoardWrite):
    """A call that changes a lock."""

    lock: Key = Field(description="Name of the lock. Capabilities match it like a key of the board.")
    board: Name | None = _BOARD


class AcquireLock(LockWrite, Answers[Lock]):
    """Acquire a lock. If it is held, the error names the holder. Send its token as fence with your writes."""

    sdk, verb, rest, tool = "acquire_lock", "locks.acquire", "POST /locks", "board_lock"
    title, shell, by_position = "Acquire a lock", ("lock {lock}",), ("ttl_secs",)

    ttl_secs: LockSeconds | None = _LOCK_TTL
    note: Note | None = Field(None, description="Shown to callers who find the lock held.")


class RenewLock(LockWrite, Answers[Lock]):
    """Extend the lease of a lock you hold. Refused after the lease has expired."""

    sdk, verb, rest, tool = "renew_lock", "locks.renew", "POST /locks/renew", "board_renew"
    title, shell, by_position = "Renew a lock", ("renew {lock} {token}",), ("ttl_secs",)

    token: Version = _LOCK_TOKEN
    ttl_secs: LockSeconds | None = _LOCK_TTL


class ReleaseLock(LockWrite, Answers[Lock]):
    """Release a lock you hold."""

    sdk, verb, rest, tool = "release_lock", "locks.release", "POST /locks/release", "board_unlock"
    title, shell = "Release a lock", ("unlock {lock} {token}",)

    token: Version = _LOCK_TOKEN


class BreakLock(LockWrite, Answers[Lock]):
    """Release a lock that somebody else holds. For people, when the holder is known to be gone."""

    sdk, verb, tool, shell = "break_lock", "locks.break", None, ("break {lock}",)


class ListLocks(BoardRead, Answers[Locks]):
    """List held locks with holder and token; only those you may read."""

    sdk, verb, rest, tool = "list_locks", "locks.list", "GET /locks", "board_locks"
    title, shell, by_position = "List locks", ("locks",), ("board", "pattern")

    board: Name | None = _BOARD
    pattern: Glob | None = Field(None, description="Glob of lock names. Default: all.")


class ListQueues(BoardRead, Answers[Queues]):
    """List the queues of a board with their numbers of waiting and claimed tasks."""

    sdk, verb, rest, tool = "list_queues", "queues.list", "GET /queues", "board_queues"
    title, shell, by_position = "List queues", ("queues",), ("board",)

    board: Name | None = _BOARD


class QueueWrite(BoardWrite):
    """A call that changes a queue."""

    queue: Key = Field(description="Name of the queue. Capabilities match it like a key of the board.")
    board: Name | None = _BOARD


class AddTask(QueueWrite, Answers[Task]):
    """Add a task to the end of a queue."""

    sdk, verb, rest, tool = "add_task", "queues.add", "POST /queues", "board_add_task"
    title, shell = "Add a task", ("add {queue} {value}",)
    example = {"value": 1}

    value: Any = Field(description="Any JSON.")


class ClaimTask(QueueWrite, Answers[Claimed]):
    """Claim the oldest waiting task; `task` is null if none is waiting."""

    sdk, verb, rest, tool = "claim_task", "queues.claim", "POST /queues/claim", "board_claim_task"
    title, shell, needs = "Claim a task", ("claim {queue}",), ("bb.read", "bb.write")
    by_position = ("ttl_secs",)

    ttl_secs: Seconds | None = _TTL


class ClaimedTask(QueueWrite):
    """A call on a task you have claimed."""

    task: TaskId = Field(description="Id returned by claim.")
    token: Version = _CLAIM_TOKEN


class FinishTask(ClaimedTask, Answers[Finished]):
    """Finish a claimed task; it is deleted from the queue."""

    sdk, verb, rest, tool = "finish_task", "queues.done", "POST /queues/done", "board_finish_task"
    title, shell = "Finish a task", ("done {queue} {task} {token}",)


class RenewTask(ClaimedTask, Answers[Finished]):
    """Extend the lease of a claimed task."""

    sdk, verb, rest, tool = "renew_task", "queues.renew", "POST /queues/renew", "board_renew_task"
    title, by_position = "Renew a claim", ("ttl_secs",)

    ttl_secs: Seconds | None = _TTL


class ReleaseTask(ClaimedTask, Answers[Finished]):
    """Return a claimed task to its queue."""

    sdk, verb, rest, tool = "release_task", "queues.release", "POST /queues/release", "board_release_task"
    title = "Release a claim"


HANDLERS = "memory.keyvalue.handlers"  # module of the server, imported with the first call
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
