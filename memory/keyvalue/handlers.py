"""The handlers of all declared calls of this room: importing them registers them."""

from __future__ import annotations

from memory.keyvalue import boards, listing, locks, purging, queues, reads, verbs

__all__ = ["boards", "listing", "locks", "purging", "queues", "reads", "verbs"]
