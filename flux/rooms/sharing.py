"""Boards, locks, queues, and watching what changes."""

from __future__ import annotations

from typing import Any

from flux.answers import Boards, Claimed, DeletedBoard, Finished, Lock, Locks, MadeBoard, Queues, Task, Watched
from flux.core import Said, call
from flux.rooms.saying import value_of


class Sharing:
    @call("GET", "boards")
    def list_boards(self) -> Said[Boards]:
        """The boards on which one may read something."""
        return Said()

    @call("POST", "boards")
    def make_board(
        self,
        board: str,
        ephemeral: bool | None = None,
        *,
        reason: str | None = None,
        idempotency_key: str | None = None,
    ) -> Said[MadeBoard]:
        """A new board; an ephemeral one is emptied whenever the instance starts."""
        return Said({"board": board, "ephemeral": ephemeral, "reason": reason, "idempotency_key": idempotency_key})

    @call("DELETE", "boards/{board}")
    def delete_board(
        self, board: str, *, reason: str | None = None, idempotency_key: str | None = None
    ) -> Said[DeletedBoard]:
        """Delete a board this agent made, with its keys, their history, its locks and tasks."""
        return Said({"reason": reason, "idempotency_key": idempotency_key}, path={"board": board})

    @call("GET", "locks")
    def list_locks(self, board: str | None = None, pattern: str | None = None) -> Said[Locks]:
        """The locks somebody holds."""
        return Said(query={"board": board, "pattern": pattern})

    @call("POST", "locks")
    def acquire_lock(
        self, lock: str, ttl_secs: float | None = None, *, board: str | None = None, note: str | None = None,
        reason: str | None = None, idempotency_key: str | None = None,
    ) -> Said[Lock]:  # fmt: skip
        """Take a lock, or be refused with `Held`."""
        return Said({
            "lock": lock, "ttl_secs": ttl_secs, "board": board, "note": note, "reason": reason,
            "idempotency_key": idempotency_key,
        })  # fmt: skip

    @call("POST", "locks/renew")
    def renew_lock(
        self, lock: str, token: int, ttl_secs: float | None = None, *, board: str | None = None,
        reason: str | None = None, idempotency_key: str | None = None,
    ) -> Said[Lock]:  # fmt: skip
        """Hold a lock longer, or be refused with `Fenced`."""
        return Said({
            "lock": lock, "token": token, "ttl_secs": ttl_secs, "board": board, "reason": reason,
            "idempotency_key": idempotency_key,
        })  # fmt: skip

    @call("POST", "locks/release")
    def release_lock(
        self, lock: str, token: int, *, board: str | None = None, reason: str | None = None,
        idempotency_key: str | None = None,
    ) -> Said[Lock]:  # fmt: skip
        """Let a lock go."""
        return Said(
            {"lock": lock, "token": token, "board": board, "reason": reason, "idempotency_key": idempotency_key}
        )

    @call("GET", "queues")
    def list_queues(self, board: str | None = None) -> Said[Queues]:
        """The queues of a board, with what waits in them."""
        return Said(query={"board": board})

    @call("POST", "queues")
    def add_task(
        self, queue: str, value: Any, *, board: str | None = None, reason: str | None = None,
        idempotency_key: str | None = None,
    ) -> Said[Task]:  # fmt: skip
        """Put a task at the end of a queue."""
        return Said({
            "queue": queue, "value": value_of(value), "board": board, "reason": reason,
            "idempotency_key": idempotency_key,
        })  # fmt: skip

    @call("POST", "queues/claim")
    def claim_task(
        self, queue: str, ttl_secs: float | None = None, *, board: str | None = None, reason: str | None = None,
        idempotency_key: str | None = None,
    ) -> Said[Claimed]:  # fmt: skip
        """Take the oldest task nobody has; `task` is None where none waits."""
        return Said({
            "queue": queue, "ttl_secs": ttl_secs, "board": board, "reason": reason, "idempotency_key": idempotency_key,
        })  # fmt: skip

    @call("POST", "queues/done")
    def finish_task(
        self, queue: str, task: str, token: int, *, board: str | None = None, reason: str | None = None,
        idempotency_key: str | None = None,
    ) -> Said[Finished]:  # fmt: skip
        """A claimed task is done and gone."""
        return Said(_task(queue, task, token, board, reason, idempotency_key))

    @call("POST", "queues/renew")
    def renew_task(
        self, queue: str, task: str, token: int, ttl_secs: float | None = None, *, board: str | None = None,
        reason: str | None = None, idempotency_key: str | None = None,
    ) -> Said[Finished]:  # fmt: skip
        """Keep a claimed task longer."""
        return Said({"ttl_secs": ttl_secs, **_task(queue, task, token, board, reason, idempotency_key)})

    @call("POST", "queues/release")
    def release_task(
        self, queue: str, task: str, token: int, *, board: str | None = None, reason: str | None = None,
        idempotency_key: str | None = None,
    ) -> Said[Finished]:  # fmt: skip
        """Give a claimed task back; it waits for the next."""
        return Said(_task(queue, task, token, board, reason, idempotency_key))


def _task(queue: str, task: str, token: int, board: str | None, reason: str | None, key: str | None) -> dict[str, Any]:
    return {"queue": queue, "task": task, "token": token, "board": board, "reason": reason, "idempotency_key": key}


class Watching:
    @call("GET", "watch")
    def watch(
        self, place: str, pattern: str | None = None, *, since: str | None = None, wait: int | None = None
    ) -> Said[Watched]:
        """What changed in `agents/NAME` or `boards/NAME` since a position, waiting up to `wait` seconds for it."""
        return Said(query={"place": place, "pattern": pattern, "since": since, "wait": wait})
