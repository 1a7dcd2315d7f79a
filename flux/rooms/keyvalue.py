"""Keys of agents and boards, boards, locks and queues.

Written by `make docs` from `flux/calls/`; change the declarations there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from flux.calls.answers import (
    BatchDone,
    Boards,
    Changed,
    Claimed,
    Deleted,
    DeletedBoard,
    Finished,
    History,
    Kept,
    KeyPage,
    Lock,
    Locks,
    MadeBoard,
    Queues,
    Task,
    Written,
)
from flux.core import CallArguments, call
from flux.rooms.null_arguments import NOT_GIVEN, value_of


class KeyValue:
    """Keys of agents and boards, boards, locks and queues."""

    @call("GET", "agents/{agent}/kv/{key}")
    def memory_get(self, agent: str, key: str) -> CallArguments[Kept]:
        """The value under a key, with its version, digest, expiry and writer."""
        return CallArguments(path={"agent": agent, "key": key})

    @call("PUT", "agents/{agent}/kv/{key}")
    def memory_set(
        self,
        agent: str,
        key: str,
        value: Any,
        ttl_secs: float | None = None,
        *,
        expected_version: int | None = None,
        expected_sha: str | None = None,
        expected_value: Any = NOT_GIVEN,
        fence: Mapping[str, Any] | None = None,
        keep_ttl: bool | None = None,
        reason: str | None = None,
        idempotency_key: str | None = None,
    ) -> CallArguments[Written]:
        """Write a value. It replaces what was there; with an expectation nothing is written unless it holds."""
        return CallArguments(
            body={
                "reason": reason,
                "idempotency_key": idempotency_key,
                "expected_version": expected_version,
                "expected_sha": expected_sha,
                "expected_value": value_of(expected_value),
                "fence": dict(fence) if fence is not None else None,
                "value": value_of(value),
                "ttl_secs": ttl_secs,
                "keep_ttl": keep_ttl,
            },
            path={"agent": agent, "key": key},
        )

    @call("DELETE", "agents/{agent}/kv/{key}")
    def memory_delete(
        self,
        agent: str,
        key: str,
        expected_version: int | None = None,
        *,
        expected_sha: str | None = None,
        history: str | None = None,
        reason: str | None = None,
        idempotency_key: str | None = None,
    ) -> CallArguments[Deleted]:
        """Take a key away; one that is not there is fine. With history=forget its earlier versions are purged too."""
        return CallArguments(
            body={"reason": reason, "idempotency_key": idempotency_key},
            path={"agent": agent, "key": key},
            query={"expected_version": expected_version, "expected_sha": expected_sha, "history": history},
        )

    @call("GET", "agents/{agent}/kv")
    def memory_list(
        self,
        agent: str,
        pattern: str | None = None,
        limit: int | None = None,
        *,
        cursor: str | None = None,
        values: bool | None = None,
    ) -> CallArguments[KeyPage]:
        """Keys in order, page by page: only those you may read."""
        return CallArguments(
            path={"agent": agent},
            query={"pattern": pattern, "limit": limit, "cursor": cursor, "values": values},
        )

    @call("POST", "agents/{agent}/kv/{key}")
    def memory_change(
        self,
        agent: str,
        key: str,
        op: str,
        *,
        expected_version: int | None = None,
        expected_sha: str | None = None,
        expected_value: Any = NOT_GIVEN,
        fence: Mapping[str, Any] | None = None,
        by: float | None = None,
        value: Any = NOT_GIVEN,
        patch: Any = NOT_GIVEN,
        version: int | None = None,
        ttl_secs: float | None = None,
        reason: str | None = None,
        idempotency_key: str | None = None,
    ) -> CallArguments[Changed]:
        """One step on what is there: incr adds `by` to a number, append adds `value` to a list or text, patch merges
        `patch` into an object, touch sets ttl_secs, restore writes an earlier `version` anew.
        """
        return CallArguments(
            body={
                "reason": reason,
                "idempotency_key": idempotency_key,
                "expected_version": expected_version,
                "expected_sha": expected_sha,
                "expected_value": value_of(expected_value),
                "fence": dict(fence) if fence is not None else None,
                "op": op,
                "by": by,
                "value": value_of(value),
                "patch": value_of(patch),
                "version": version,
                "ttl_secs": ttl_secs,
            },
            path={"agent": agent, "key": key},
        )

    @call("PATCH", "agents/{agent}/kv/{key}")
    def memory_patch(
        self,
        agent: str,
        key: str,
        patch: Any,
        *,
        expected_version: int | None = None,
        expected_sha: str | None = None,
        expected_value: Any = NOT_GIVEN,
        fence: Mapping[str, Any] | None = None,
        ttl_secs: float | None = None,
        reason: str | None = None,
        idempotency_key: str | None = None,
    ) -> CallArguments[Changed]:
        """Change an object by JSON merge patch (RFC 7396)."""
        return CallArguments(
            body={
                "reason": reason,
                "idempotency_key": idempotency_key,
                "expected_version": expected_version,
                "expected_sha": expected_sha,
                "expected_value": value_of(expected_value),
                "fence": dict(fence) if fence is not None else None,
                "patch": value_of(patch),
                "ttl_secs": ttl_secs,
            },
            path={"agent": agent, "key": key},
        )

    @call("POST", "agents/{agent}/batch")
    def memory_batch(
        self,
        agent: str,
        operations: Sequence[Mapping[str, Any]],
        *,
        reason: str | None = None,
        idempotency_key: str | None = None,
    ) -> CallArguments[BatchDone]:
        """Up to 100 operations in one transaction, all or none: each has op (set, delete, incr, append, patch, touch,
        restore), key and the fields of that op.
        """
        return CallArguments(
            body={
                "reason": reason,
                "idempotency_key": idempotency_key,
                "operations": [dict(one) for one in operations],
            },
            path={"agent": agent},
        )

    @call("GET", "agents/{agent}/history/{key}")
    def memory_history(
        self,
        agent: str,
        key: str,
        version: int | None = None,
        *,
        limit: int | None = None,
    ) -> CallArguments[History]:
        """What became of a key, newest first; with `version` the value it had then."""
        return CallArguments(path={"agent": agent, "key": key}, query={"version": version, "limit": limit})

    @call("GET", "boards/{board}/kv/{key}")
    def board_get(self, board: str, key: str) -> CallArguments[Kept]:
        """The value under a key, with its version, digest, expiry and writer."""
        return CallArguments(path={"board": board, "key": key})

    @call("PUT", "boards/{board}/kv/{key}")
    def board_set(
        self,
        board: str,
        key: str,
        value: Any,
        ttl_secs: float | None = None,
        *,
        expected_version: int | None = None,
        expected_sha: str | None = None,
        expected_value: Any = NOT_GIVEN,
        fence: Mapping[str, Any] | None = None,
        keep_ttl: bool | None = None,
        reason: str | None = None,
        idempotency_key: str | None = None,
    ) -> CallArguments[Written]:
        """Write a value. It replaces what was there; with an expectation nothing is written unless it holds."""
        return CallArguments(
            body={
                "reason": reason,
                "idempotency_key": idempotency_key,
                "expected_version": expected_version,
                "expected_sha": expected_sha,
                "expected_value": value_of(expected_value),
                "fence": dict(fence) if fence is not None else None,
                "value": value_of(value),
                "ttl_secs": ttl_secs,
                "keep_ttl": keep_ttl,
            },
            path={"board": board, "key": key},
        )

    @call("DELETE", "boards/{board}/kv/{key}")
    def board_delete(
        self,
        board: str,
        key: str,
        expected_version: int | None = None,
        *,
        expected_sha: str | None = None,
        history: str | None = None,
        reason: str | None = None,
        idempotency_key: str | None = None,
    ) -> CallArguments[Deleted]:
        """Take a key away; one that is not there is fine. With history=forget its earlier versions are purged too."""
        return CallArguments(
            body={"reason": reason, "idempotency_key": idempotency_key},
            path={"board": board, "key": key},
            query={"expected_version": expected_version, "expected_sha": expected_sha, "history": history},
        )

    @call("GET", "boards/{board}/kv")
    def board_list(
        self,
        board: str,
        pattern: str | None = None,
        limit: int | None = None,
        *,
        cursor: str | None = None,
        values: bool | None = None,
    ) -> CallArguments[KeyPage]:
        """Keys in order, page by page: only those you may read."""
        return CallArguments(
            path={"board": board},
            query={"pattern": pattern, "limit": limit, "cursor": cursor, "values": values},
        )

    @call("POST", "boards/{board}/kv/{key}")
    def board_change(
        self,
        board: str,
        key: str,
        op: str,
        *,
        expected_version: int | None = None,
        expected_sha: str | None = None,
        expected_value: Any = NOT_GIVEN,
        fence: Mapping[str, Any] | None = None,
        by: float | None = None,
        value: Any = NOT_GIVEN,
        patch: Any = NOT_GIVEN,
        version: int | None = None,
        ttl_secs: float | None = None,
        reason: str | None = None,
        idempotency_key: str | None = None,
    ) -> CallArguments[Changed]:
        """One step on what is there: incr adds `by` to a number, append adds `value` to a list or text, patch merges
        `patch` into an object, touch sets ttl_secs, restore writes an earlier `version` anew.
        """
        return CallArguments(
            body={
                "reason": reason,
                "idempotency_key": idempotency_key,
                "expected_version": expected_version,
                "expected_sha": expected_sha,
                "expected_value": value_of(expected_value),
                "fence": dict(fence) if fence is not None else None,
                "op": op,
                "by": by,
                "value": value_of(value),
                "patch": value_of(patch),
                "version": version,
                "ttl_secs": ttl_secs,
            },
            path={"board": board, "key": key},
        )

    @call("PATCH", "boards/{board}/kv/{key}")
    def board_patch(
        self,
        board: str,
        key: str,
        patch: Any,
        *,
        expected_version: int | None = None,
        expected_sha: str | None = None,
        expected_value: Any = NOT_GIVEN,
        fence: Mapping[str, Any] | None = None,
        ttl_secs: float | None = None,
        reason: str | None = None,
        idempotency_key: str | None = None,
    ) -> CallArguments[Changed]:
        """Change an object by JSON merge patch (RFC 7396)."""
        return CallArguments(
            body={
                "reason": reason,
                "idempotency_key": idempotency_key,
                "expected_version": expected_version,
                "expected_sha": expected_sha,
                "expected_value": value_of(expected_value),
                "fence": dict(fence) if fence is not None else None,
                "patch": value_of(patch),
                "ttl_secs": ttl_secs,
            },
            path={"board": board, "key": key},
        )

    @call("POST", "boards/{board}/batch")
    def board_batch(
        self,
        board: str,
        operations: Sequence[Mapping[str, Any]],
        *,
        reason: str | None = None,
        idempotency_key: str | None = None,
    ) -> CallArguments[BatchDone]:
        """Up to 100 operations in one transaction, all or none: each has op (set, delete, incr, append, patch, touch,
        restore), key and the fields of that op.
        """
        return CallArguments(
            body={
                "reason": reason,
                "idempotency_key": idempotency_key,
                "operations": [dict(one) for one in operations],
            },
            path={"board": board},
        )

    @call("GET", "boards/{board}/history/{key}")
    def board_history(
        self,
        board: str,
        key: str,
        version: int | None = None,
        *,
        limit: int | None = None,
    ) -> CallArguments[History]:
        """What became of a key, newest first; with `version` the value it had then."""
        return CallArguments(path={"board": board, "key": key}, query={"version": version, "limit": limit})

    @call("GET", "boards")
    def list_boards(self) -> CallArguments[Boards]:
        """The boards on which you may read something."""
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
            body={"reason": reason, "idempotency_key": idempotency_key, "board": board, "ephemeral": ephemeral},
        )

    @call("DELETE", "boards/{board}")
    def delete_board(
        self,
        board: str,
        *,
        reason: str | None = None,
        idempotency_key: str | None = None,
    ) -> CallArguments[DeletedBoard]:
        """Delete a board that you made, with its keys, their history, its locks and its tasks."""
        return CallArguments(body={"reason": reason, "idempotency_key": idempotency_key}, path={"board": board})

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
        """Take a lock, or hear who holds it. Its token grows with each holder: send it as fence with what you write."""
        return CallArguments(
            body={
                "reason": reason,
                "idempotency_key": idempotency_key,
                "lock": lock,
                "board": board,
                "ttl_secs": ttl_secs,
                "note": note,
            },
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
        """Hold a lock longer, while it is still yours. Refused once somebody else could have taken it."""
        return CallArguments(
            body={
                "reason": reason,
                "idempotency_key": idempotency_key,
                "lock": lock,
                "board": board,
                "token": token,
                "ttl_secs": ttl_secs,
            },
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
        """Let a lock go that is yours."""
        return CallArguments(
            body={"reason": reason, "idempotency_key": idempotency_key, "lock": lock, "board": board, "token": token},
        )

    @call("GET", "locks")
    def list_locks(self, board: str | None = None, pattern: str | None = None) -> CallArguments[Locks]:
        """The locks somebody holds, with holder and token: only those you may read."""
        return CallArguments(query={"board": board, "pattern": pattern})

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
            body={
                "reason": reason,
                "idempotency_key": idempotency_key,
                "queue": queue,
                "board": board,
                "value": value_of(value),
            },
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
        """Take the oldest task nobody has; `task` is null where none waits."""
        return CallArguments(
            body={
                "reason": reason,
                "idempotency_key": idempotency_key,
                "queue": queue,
                "board": board,
                "ttl_secs": ttl_secs,
            },
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
        return CallArguments(
            body={
                "reason": reason,
                "idempotency_key": idempotency_key,
                "queue": queue,
                "board": board,
                "task": task,
                "token": token,
            },
        )

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
        """Keep a claimed task for longer."""
        return CallArguments(
            body={
                "reason": reason,
                "idempotency_key": idempotency_key,
                "queue": queue,
                "board": board,
                "task": task,
                "token": token,
                "ttl_secs": ttl_secs,
            },
        )

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
        return CallArguments(
            body={
                "reason": reason,
                "idempotency_key": idempotency_key,
                "queue": queue,
                "board": board,
                "task": task,
                "token": token,
            },
        )
