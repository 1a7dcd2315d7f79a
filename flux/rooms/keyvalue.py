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
    KeyPage,
    KeyValue,
    Lock,
    Locks,
    MadeBoard,
    Queues,
    Recallable,
    Task,
    Written,
)
from flux.core import CallArguments, call
from flux.rooms.null_arguments import NOT_GIVEN, value_of


class KeyValueCalls:
    """Keys of agents and boards, boards, locks and queues."""

    @call("GET", "agents/{agent}/kv/{key}")
    def memory_get(self, agent: str, key: str) -> CallArguments[KeyValue]:
        """Read a key: its value, version, SHA-256, expiry and writer."""
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
        """Write a value, replacing the current one. If a given expectation does not hold, nothing is written."""
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
        """Delete a key; an absent key is no error. With history=forget its earlier versions are purged too."""
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
        """List keys in order, page by page; only those you may read."""
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
        """Change the current value: incr adds `by` to a number, append adds `value` to a list or text, patch merges
        `patch` into an object, touch sets ttl_secs, restore writes the value of an earlier `version` again.
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
        """List the versions of a key, newest first; with `version`, read the value in that version."""
        return CallArguments(path={"agent": agent, "key": key}, query={"version": version, "limit": limit})

    @call("GET", "agents/{agent}/recallable")
    def memory_recallable(self, agent: str) -> CallArguments[Recallable]:
        """Whether recall finds the values of keys there, and of which."""
        return CallArguments(path={"agent": agent})

    @call("PUT", "agents/{agent}/recallable")
    def memory_make_recallable(
        self,
        agent: str,
        *,
        prefix: str | None = None,
        reason: str | None = None,
        idempotency_key: str | None = None,
    ) -> CallArguments[Recallable]:
        """Have recall find the values of all keys there, or also of those that begin with `prefix`."""
        return CallArguments(
            body={"reason": reason, "idempotency_key": idempotency_key, "prefix": prefix},
            path={"agent": agent},
        )

    @call("DELETE", "agents/{agent}/recallable")
    def memory_end_recallable(
        self,
        agent: str,
        *,
        prefix: str | None = None,
        reason: str | None = None,
        idempotency_key: str | None = None,
    ) -> CallArguments[Recallable]:
        """Have recall find no values there any more, or none for `prefix` if it was made recallable."""
        return CallArguments(
            body={"reason": reason, "idempotency_key": idempotency_key},
            path={"agent": agent},
            query={"prefix": prefix},
        )

    @call("GET", "boards/{board}/kv/{key}")
    def board_get(self, board: str, key: str) -> CallArguments[KeyValue]:
        """Read a key: its value, version, SHA-256, expiry and writer."""
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
        """Write a value, replacing the current one. If a given expectation does not hold, nothing is written."""
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
        """Delete a key; an absent key is no error. With history=forget its earlier versions are purged too."""
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
        """List keys in order, page by page; only those you may read."""
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
        """Change the current value: incr adds `by` to a number, append adds `value` to a list or text, patch merges
        `patch` into an object, touch sets ttl_secs, restore writes the value of an earlier `version` again.
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
        """List the versions of a key, newest first; with `version`, read the value in that version."""
        return CallArguments(path={"board": board, "key": key}, query={"version": version, "limit": limit})

    @call("GET", "boards/{board}/recallable")
    def board_recallable(self, board: str) -> CallArguments[Recallable]:
        """Whether recall finds the values of keys there, and of which."""
        return CallArguments(path={"board": board})

    @call("PUT", "boards/{board}/recallable")
    def board_make_recallable(
        self,
        board: str,
        *,
        prefix: str | None = None,
        reason: str | None = None,
        idempotency_key: str | None = None,
    ) -> CallArguments[Recallable]:
        """Have recall find the values of all keys there, or also of those that begin with `prefix`."""
        return CallArguments(
            body={"reason": reason, "idempotency_key": idempotency_key, "prefix": prefix},
            path={"board": board},
        )

    @call("DELETE", "boards/{board}/recallable")
    def board_end_recallable(
        self,
        board: str,
        *,
        prefix: str | None = None,
        reason: str | None = None,
        idempotency_key: str | None = None,
    ) -> CallArguments[Recallable]:
        """Have recall find no values there any more, or none for `prefix` if it was made recallable."""
        return CallArguments(
            body={"reason": reason, "idempotency_key": idempotency_key},
            path={"board": board},
            query={"prefix": prefix},
        )

    @call("GET", "boards")
    def list_boards(self) -> CallArguments[Boards]:
        """List the boards on which you may read something."""
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
        """Create a board. An ephemeral board is emptied whenever the instance starts."""
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
        """Delete a board that you created, with its keys, their history, its locks and its tasks."""
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
        """Acquire a lock. If it is held, the error names the holder. Send its token as fence with your writes."""
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
        """Extend the lease of a lock you hold. Refused after the lease has expired."""
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
        """Release a lock you hold."""
        return CallArguments(
            body={"reason": reason, "idempotency_key": idempotency_key, "lock": lock, "board": board, "token": token},
        )

    @call("GET", "locks")
    def list_locks(self, board: str | None = None, pattern: str | None = None) -> CallArguments[Locks]:
        """List held locks with holder and token; only those you may read."""
        return CallArguments(query={"board": board, "pattern": pattern})

    @call("GET", "queues")
    def list_queues(self, board: str | None = None) -> CallArguments[Queues]:
        """List the queues of a board with their numbers of waiting and claimed tasks."""
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
        """Add a task to the end of a queue."""
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
        """Claim the oldest waiting task; `task` is null if none is waiting."""
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
        """Finish a claimed task; it is deleted from the queue."""
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
        """Extend the lease of a claimed task."""
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
        """Return a claimed task to its queue."""
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
