"""Boards, locks, queues, and watching what changes."""

from __future__ import annotations

from typing import Any

from flux.answers import Boards, Claimed, DeletedBoard, Finished, Lock, Locks, MadeBoard, Queues, Task, Watched
from flux.core import CallArguments, call
from flux.rooms.saying import value_of


class Sharing:
    @call("GET", "boards")
    def list_boards(self) -> CallArguments[Boards]:
        """The boards on which one may read something."""
        return CallArguments()

    @call("POST", "boards")
    def make_board(
        self,
        board: str,
        ephemeral: bool | None = None,
        *,
        reason: str | None = None,
        idempotency_key: str | None = None,
    ) -> CallArguments[MadeBoard]:
        """A new board; an ephemeral one is emptied whenever the instance starts."""
        return CallArguments(
            {"board": board, "ephemeral": ephemeral, "reason": reason, "idempotency_key": idempotency_key}
        )

    @call("DELETE", "boards/{board}")
    def delete_board(
        self, board: str, *, reason: str | None = None, idempotency_key: str | None = None
    ) -> CallArguments[DeletedBoard]:
        """Delete a board this agent made, with its keys, their history, its locks and tasks."""
        return CallArguments({"reason": reason, "idempotency_key": idempotency_key}, path={"board": board})

    @call("GET", "locks")
    def list_locks(self, board: str | None = None, pattern: str | None = None) -> CallArguments[Locks]:
        """The locks somebody holds."""
        return CallArguments(query={"board": board, "pattern": pattern})

    @call("POST", "locks")
    def acquire_lock(
        self,
        lock: str,
        ttl_secs: float | None = None,
        *,
        board: str | None = None,
        note: str | None = None,
        reason: str | None = None,
        idempotency_key: str | None = None,
    ) -> CallArguments[Lock]:
        """Take a lock, or be refused with `Held`."""
        return CallArguments(
            {
                "lock": lock,
                "ttl_secs": ttl_secs,
                "board": board,
                "note": note,
                "reason": reason,
                "idempotency_key": idempotency_key,
            }
        )

    @call("POST", "locks/renew")
    def renew_lock(
        self,
        lock: str,
        token: int,
        ttl_secs: float | None = None,
        *,
        board: str | None = None,
        reason: str | None = None,
        idempotency_key: str | None = None,
    ) -> CallArguments[Lock]:
        """Hold a lock longer, or be refused with `Fenced`."""
        return CallArguments(
            {
                "lock": lock,
                "token": token,
                "ttl_secs": ttl_secs,
                "board": board,
                "reason": reason,
                "idempotency_key": idempotency_key,
            }
        )

    @call("POST", "locks/release")
    def release_lock(
        self,
        lock: str,
        token: int,
        *,
        board: str | None = None,
        reason: str | None = None,
        idempotency_key: str | None = None,
    ) -> CallArguments[Lock]:
        """Let a lock go."""
        return CallArguments(
            {"lock": lock, "token": token, "board": board, "reason": reason, "idempotency_key": idempotency_key}
        )

    @call("GET", "queues")
    def list_queues(self, board: str | None = None) -> CallArguments[Queues]:
        """The queues of a board, with what waits in them."""
        return CallArguments(query={"board": board})

    @call("POST", "queues")
    def add_task(
        self,
        queue: str,
        value: Any,
        *,
        board: str | None = None,
        reason: str | None = None,
        idempotency_key: str | None = None,
    ) -> CallArguments[Task]:
        """Put a task at the end of a queue."""
        return CallArguments(
            {
                "queue": queue,
                "value": value_of(value),
                "board": board,
                "reason": reason,
                "idempotency_key": idempotency_key,
            }
        )

    @call("POST", "queues/claim")
    def claim_task(
        self,
        queue: str,
        ttl_secs: float | None = None,
        *,
        board: str | None = None,
        reason: str | None = None,
        idempotency_key: str | None = None,
    ) -> CallArguments[Claimed]:
        """Take the oldest task nobody has; `task` is None where none waits."""
        return CallArguments(
            {
                "queue": queue,
                "ttl_secs": ttl_secs,
                "board": board,
                "reason": reason,
                "idempotency_key": idempotency_key,
            }
        )

    @call("POST", "queues/done")
    def finish_task(
        self,
        queue: str,
        task: str,
        token: int,
        *,
        board: str | None = None,
        reason: str | None = None,
        idempotency_key: str | None = None,
    ) -> CallArguments[Finished]:
        """A claimed task is done and gone."""
        return CallArguments(_task(queue, task, token, board, reason, idempotency_key))

    @call("POST", "queues/renew")
    def renew_task(
        self,
        queue: str,
        task: str,
        token: int,
        ttl_secs: float | None = None,
        *,
        board: str | None = None,
        reason: str | None = None,
        idempotency_key: str | None = None,
    ) -> CallArguments[Finished]:
        """Keep a claimed task longer."""
        return CallArguments({"ttl_secs": ttl_secs, **_task(queue, task, token, board, reason, idempotency_key)})

    @call("POST", "queues/release")
    def release_task(
        self,
        queue: str,
        task: str,
        token: int,
        *,
        board: str | None = None,
        reason: str | None = None,
        idempotency_key: str | None = None,
    ) -> CallArguments[Finished]:
        """Give a claimed task back; it waits for the next."""
        return CallArguments(_task(queue, task, token, board, reason, idempotency_key))


def _task(queue: str, task: str, token: int, board: str | None, reason: str | None, key: str | None) -> dict[str, Any]:
    return {"queue": queue, "task": task, "token": token, "board": board, "reason": reason, "idempotency_key": key}


class Watching:
    @call("GET", "watch")
    def watch(
        self, place: str, pattern: str | None = None, *, since: str | None = None, wait: int | None = None
    ) -> CallArguments[Watched]:
        """What changed in `agents/NAME` or `boards/NAME` since a position, waiting up to `wait` seconds for it."""
        return CallArguments(query={"place": place, "pattern": pattern, "since": since, "wait": wait})
