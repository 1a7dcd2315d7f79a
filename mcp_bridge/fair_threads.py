"""Threads shared out by space and agent, for doors whose calls wait for a place instead of being refused at once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from fluxcore.errors import Busy
from fluxcore.fair_queue import FairShares, QueueKey
from mcp_bridge.threads import RunInThread

PATIENCE_SECONDS = 10.0  # a call waits for a thread


class FairThreads:
    """Calls in threads, for as many at once as their agent's share (`FairShares`) has room for."""

    def __init__(self, run: RunInThread, places: int) -> None:
        self.shares = FairShares(places)
        self._run = run
        self._freed = asyncio.Event()  # set, and replaced, when a call ends

    def of_session(self, caller: QueueKey, most: int) -> RunInThread:
        """The threads as one session of this agent may use them: at most so many calls wait or run at once."""
        under_way = 0

        async def call(work: Callable[..., Any], *arguments: Any) -> Any:
            nonlocal under_way
            if under_way >= most:
                raise Busy(f"This session has {most} calls under way, as many as it may. Try again.", retry_after=1)
            under_way += 1
            try:
                return await self._call(caller, work, *arguments)
            finally:
                under_way -= 1

        return call

    async def _call(self, caller: QueueKey, work: Callable[..., Any], *arguments: Any) -> Any:
        until = asyncio.get_running_loop().time() + PATIENCE_SECONDS
        while not self.shares.take(*caller):
            await self._wait_for_an_end(until)
        running = asyncio.ensure_future(self._run(work, *arguments))
        running.add_done_callback(lambda _: self._leave(caller))  # a session that ends leaves its threads working
        return await asyncio.shield(running)

    async def _wait_for_an_end(self, until: float) -> None:
        left = until - asyncio.get_running_loop().time()
        try:
            await asyncio.wait_for(self._freed.wait(), max(left, 0.0))
        except TimeoutError:
            raise Busy(
                "Too many calls of this agent or its space at the same time. Try again.", retry_after=1
            ) from None

    def _leave(self, caller: QueueKey) -> None:
        self.shares.leave(*caller)
        freed, self._freed = self._freed, asyncio.Event()
        freed.set()
