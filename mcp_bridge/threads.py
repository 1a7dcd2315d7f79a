"""Work that may use the database, off the event loop."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from asgiref.sync import sync_to_async
from django.db import close_old_connections

RunInThread = Callable[..., Awaitable[Any]]


def in_threads(executor: ThreadPoolExecutor | None = None) -> RunInThread:
    """In the threads of `executor`, each with a connection of its own; without one, in the thread Django gives us."""
    run = (
        sync_to_async(_fresh, thread_sensitive=False, executor=executor)
        if executor is not None
        else sync_to_async(_fresh, thread_sensitive=True)
    )

    async def call(work: Callable[..., Any], *arguments: Any) -> Any:
        return await run(partial(work, *arguments))

    return call


def _fresh(work: Callable[[], Any]) -> Any:
    close_old_connections()
    try:
        return work()
    finally:
        close_old_connections()  # a pooled one goes back to its pool
