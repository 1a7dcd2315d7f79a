"""MemoryStore: a transcript and files under one key, with the names of `flyte.ai.agents.memory`.

With a key the store is on the server; without one it is a local folder in flyte's layout. Neither imports Django.
"""

from flux.memory.copying import Dir
from flux.memory.errors import AccessDenied, ConcurrencyError, MemoryStoreError
from flux.memory.store import MemoryStore
from flux.memory.tree import MemoryMeta

__all__ = ["AccessDenied", "ConcurrencyError", "Dir", "MemoryMeta", "MemoryStore", "MemoryStoreError"]
