"""Memory for agent frameworks."""

from __future__ import annotations

import asyncio
import logging

from flux.client import FluxClient
from flux.memory import MemoryStore

_log = logging.getLogger(__name__)
OPENING = 5.0  # seconds for each request while a memory is opened


def resolve_memory_sync(memory_key: str | None, audit: bool = True, seconds: float = OPENING) -> MemoryStore | None:
    """The store with that key, made if there is none; None if it cannot be opened: a run goes on without memory.

    A server that does not answer a request within `seconds` is not asked again.
    """
    if not memory_key:
        return None
    try:
        with FluxClient(timeout=seconds, retries=0) as impatient:
            store = MemoryStore.get_or_create(key=memory_key, audit=audit, client=impatient)
        store.use_client()
    except Exception as error:  # whatever it is, it is no reason to end a run
        _log.warning("The memory %r cannot be opened, so this run has none: %s", memory_key, error)
        return None
    return store


async def resolve_memory(memory_key: str | None, audit: bool = True, seconds: float = OPENING) -> MemoryStore | None:
    """`resolve_memory_sync` in a thread."""
    return await asyncio.to_thread(resolve_memory_sync, memory_key, audit, seconds)
