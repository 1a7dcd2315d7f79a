"""Runs functions that use the database in threads, off the event loop."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from asgiref.sync import sync_to_async
from django.db import close_old_connections

RunInThread = Callable[..., Awaitable[Any]]


def run_in_threads(executor: ThreadPoolExecutor | None = None) -> RunInThread:
    """A function that runs others in the threads of `executor`, or by default in Django's synchronous thread."""
    run = (
        sync_to_async(_with_fresh_connection, thread_sensitive=False, executor=executor)
        if executor is not None
        else sync_to_async(_with_fresh_connection, thread_sensitive=True)
    )

    async def call(work: Callable[..., Any], *arguments: Any) -> Any:
        return await run(partial(work, *arguments))

    return call


def _with_fresh_connection(work: Callable[[], Any]) -> Any:
    close_old_connections()
    try:
        return work()
    finally:
        close_old_connections()  # returns a pooled connection to its pool
