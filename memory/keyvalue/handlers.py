"""Imports all modules with handlers of declared calls on keys and boards, which registers the handlers."""

from __future__ import annotations

from memory.keyvalue import boards, listing, locks, purging, queues, reads, recallable, verbs

__all__ = ["boards", "listing", "locks", "purging", "queues", "reads", "recallable", "verbs"]
