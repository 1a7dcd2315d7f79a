"""An agent's exact memory: values under keys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from flux.answers import BatchDone, Changed, Deleted, History, Kept, KeyPage, Written
from flux.core import CallArguments, call
from flux.rooms.saying import NOT_SAID, expecting, value_of


class Memory:
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
        keep_ttl: bool | None = None,
        expected_version: int | None = None,
        expected_sha: str | None = None,
        expected_value: Any = NOT_SAID,
        fence: Mapping[str, Any] | None = None,
        reason: str | None = None,
        idempotency_key: str | None = None,
    ) -> CallArguments[Written]:
        """Write a value; with an expectation only if it holds."""
        said = expecting(expected_version, expected_sha, expected_value, fence, reason, idempotency_key)
        return CallArguments(
            {"value": value_of(value), "ttl_secs": ttl_secs, "keep_ttl": keep_ttl, **said},
            path={"agent": agent, "key": key},
        )

    @call("PATCH", "agents/{agent}/kv/{key}")
    def memory_patch(
        self,
        agent: str,
        key: str,
        patch: Any,
        *,
        ttl_secs: float | None = None,
        expected_version: int | None = None,
        expected_sha: str | None = None,
        expected_value: Any = NOT_SAID,
        fence: Mapping[str, Any] | None = None,
        reason: str | None = None,
        idempotency_key: str | None = None,
    ) -> CallArguments[Changed]:
        """Change an object by JSON merge patch."""
        said = expecting(expected_version, expected_sha, expected_value, fence, reason, idempotency_key)
        return CallArguments(
            {"patch": value_of(patch), "ttl_secs": ttl_secs, **said}, path={"agent": agent, "key": key}
        )

    @call("POST", "agents/{agent}/kv/{key}")
    def memory_change(
        self,
        agent: str,
        key: str,
        op: str,
        *,
        by: float | None = None,
        value: Any = NOT_SAID,
        version: int | None = None,
        ttl_secs: float | None = None,
        expected_version: int | None = None,
        expected_sha: str | None = None,
        expected_value: Any = NOT_SAID,
        fence: Mapping[str, Any] | None = None,
        reason: str | None = None,
        idempotency_key: str | None = None,
    ) -> CallArguments[Changed]:
        """One step on what is there: incr, append, touch or restore."""
        said = expecting(expected_version, expected_sha, expected_value, fence, reason, idempotency_key)
        body = {"op": op, "by": by, "value": value_of(value), "version": version, "ttl_secs": ttl_secs, **said}
        return CallArguments(body, path={"agent": agent, "key": key})

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
        """Take a key away; one that is not there is fine. `history="forget"` purges its earlier versions too."""
        return CallArguments(
            {"reason": reason, "idempotency_key": idempotency_key},
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
        """Keys in order, a page at a time: only those one may read."""
        query = {"pattern": pattern, "limit": limit, "cursor": cursor, "values": values}
        return CallArguments(path={"agent": agent}, query=query)

    @call("POST", "agents/{agent}/batch")
    def memory_batch(
        self,
        agent: str,
        operations: Sequence[Mapping[str, Any]],
        *,
        reason: str | None = None,
        idempotency_key: str | None = None,
    ) -> CallArguments[BatchDone]:
        """Up to a hundred operations in one transaction: all of them or none."""
        return CallArguments(
            {"operations": [dict(one) for one in operations], "reason": reason, "idempotency_key": idempotency_key},
            path={"agent": agent},
        )

    @call("GET", "agents/{agent}/history/{key}")
    def memory_history(
        self, agent: str, key: str, version: int | None = None, *, limit: int | None = None
    ) -> CallArguments[History]:
        """What became of a key; with a version the value it had then."""
        return CallArguments(path={"agent": agent, "key": key}, query={"version": version, "limit": limit})
