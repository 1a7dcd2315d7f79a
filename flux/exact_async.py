"""Exact memory as objects for asyncio; the same as in `flux/exact.py`."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from flux import errors
from flux.answers import BatchDone, Changed, Deleted, History, KeyPage, KeyValue, Lock, Written
from flux.client import AsyncFluxClient
from flux.errors import FluxError
from flux.exact import PAUSE_SECONDS, TRIES
from flux.rooms.null_arguments import NOT_GIVEN, must_expect


class _AsyncKeys:
    """Operations on the keys of one namespace."""

    _prefix: str

    def __init__(self, client: AsyncFluxClient) -> None:
        self.client = client

    async def name(self) -> str:
        raise NotImplementedError

    async def _call(self, what: str, *given: Any, **named: Any) -> Any:
        return await getattr(self.client, f"{self._prefix}_{what}")(await self.name(), *given, **named)

    async def entry(self, key: str) -> KeyValue | None:
        try:
            found: KeyValue = await self._call("get", key)
        except errors.NotFound:
            return None
        return found

    async def get(self, key: str, default: Any = None) -> Any:
        found = await self.entry(key)
        return default if found is None else found["value"]

    async def set(self, key: str, value: Any, *, ttl_secs: float | None = None, **named: Any) -> Written:
        done: Written = await self._call("set", key, value, ttl_secs, **named)
        return done

    async def cas(
        self,
        key: str,
        expected_version: int | None,
        value: Any,
        *,
        expected_value: Any = NOT_GIVEN,
        ttl_secs: float | None = None,
        **named: Any,
    ) -> Written:
        must_expect(expected_version, expected_value, named)
        done: Written = await self._call(
            "set", key, value, ttl_secs, expected_version=expected_version, expected_value=expected_value, **named
        )
        return done

    async def cas_retry(
        self, key: str, change: Callable[[Any], Any], *, default: Any = None, tries: int = TRIES
    ) -> Any:
        for left in range(tries, 0, -1):
            found = await self.entry(key)
            value = change(found["value"] if found else default)
            try:
                await self.cas(key, found["version"] if found else 0, value)
            except errors.Conflict as refusal:
                if left == 1 or type(refusal) is not errors.Conflict:
                    raise
            else:
                return value
        raise ValueError("tries must be at least 1")

    async def delete(self, key: str, expected_version: int | None = None, *, history: str | None = None) -> Deleted:
        """Delete a key; `history="forget"` purges its earlier versions too."""
        done: Deleted = await self._call("delete", key, expected_version, history=history)
        return done

    async def list(self, pattern: str | None = None, **named: Any) -> KeyPage:
        found: KeyPage = await self._call("list", pattern, **named)
        return found

    async def keys(self, pattern: str | None = None) -> AsyncIterator[str]:
        """All of them, however many pages they take."""
        cursor: str | None = None
        while True:
            page = await self.list(pattern, cursor=cursor)
            for one in page["keys"]:
                yield one["key"]
            cursor = page["next_cursor"]
            if cursor is None:
                return

    async def touch(self, key: str, ttl_secs: float | None) -> Changed:
        return await self._step("touch", key, ttl_secs=ttl_secs)

    async def incr(self, key: str, by: float = 1) -> Any:
        return (await self._step("incr", key, by=by))["value"]

    async def append(self, key: str, value: Any) -> Changed:
        return await self._step("append", key, value=value)

    async def restore(self, key: str, version: int) -> Changed:
        return await self._step("restore", key, version=version)

    async def patch(self, key: str, patch: Any) -> Changed:
        done: Changed = await self._call("patch", key, patch)
        return done

    async def history(self, key: str, version: int | None = None) -> History:
        found: History = await self._call("history", key, version)
        return found

    async def batch(self, operations: Sequence[Mapping[str, Any]]) -> BatchDone:
        """Change up to 100 keys in one transaction: all, or none."""
        done: BatchDone = await self._call("batch", operations)
        return done

    async def _step(self, op: str, key: str, **named: Any) -> Changed:
        done: Changed = await self._call("change", key, op, **named)
        return done


class AsyncAgentMemory(_AsyncKeys):
    """An agent's own exact memory."""

    _prefix = "memory"

    def __init__(self, client: AsyncFluxClient, agent: str | None = None) -> None:
        super().__init__(client)
        self._agent = agent

    async def name(self) -> str:
        if self._agent is None:
            self._agent = (await self.client.me())["agent"]
        return self._agent

    async def memory_get(self, key: str) -> Any:
        return await self.get(key)

    async def memory_set(self, key: str, value: Any, ttl_secs: float | None = None) -> Written:
        return await self.set(key, value, ttl_secs=ttl_secs)


class AsyncBlackboard(_AsyncKeys):
    """A board that agents share, with its locks."""

    _prefix = "board"

    def __init__(self, client: AsyncFluxClient, board: str = "main") -> None:
        super().__init__(client)
        self.board = board

    async def name(self) -> str:
        return self.board

    async def cas_value(self, key: str, expected: Any, value: Any, *, ttl_secs: float | None = None) -> Written:
        return await self.cas(key, None, value, expected_value=expected, ttl_secs=ttl_secs)

    @asynccontextmanager
    async def lock(
        self, name: str, ttl_secs: float = 30.0, *, wait: float | None = 0.0, renew: bool = True
    ) -> AsyncIterator[AsyncLockHandle]:
        held = AsyncLockHandle(self, await self._acquire(name, ttl_secs, wait), ttl_secs)
        renewing = asyncio.create_task(held.keep()) if renew else None
        try:
            yield held
        finally:
            if renewing is not None:
                renewing.cancel()
                await asyncio.gather(renewing, return_exceptions=True)
            await held.release()

    async def _acquire(self, name: str, ttl_secs: float, wait: float | None) -> Lock:
        until = None if wait is None else time.monotonic() + wait
        while True:
            try:
                return await self.client.acquire_lock(name, ttl_secs, board=self.board)
            except errors.Held:
                if until is not None and time.monotonic() + PAUSE_SECONDS > until:
                    raise
                await asyncio.sleep(PAUSE_SECONDS)


class AsyncLockHandle:
    """A held lock; `lost` is set when another agent may hold it."""

    def __init__(self, board: AsyncBlackboard, lock: Lock, ttl_secs: float) -> None:
        self.board, self.name, self.token, self._ttl = board, lock["lock"], lock["token"], ttl_secs
        self.lost = asyncio.Event()

    @property
    def fence(self) -> dict[str, Any]:
        return {"lock": self.name, "token": self.token}

    async def set(self, key: str, value: Any, **named: Any) -> Written:
        return await self.board.set(key, value, fence=self.fence, **named)

    async def renew(self) -> None:
        await self.board.client.renew_lock(self.name, self.token, self._ttl, board=self.board.board)

    async def keep(self) -> None:
        while True:
            await asyncio.sleep(self._ttl / 3)
            try:
                await self.renew()
            except errors.Fenced:
                self.lost.set()
                return
            except FluxError:
                continue  # the server may answer again before the lock expires

    async def release(self) -> None:
        try:
            await self.board.client.release_lock(self.name, self.token, board=self.board.board)
        except errors.Fenced:
            self.lost.set()
