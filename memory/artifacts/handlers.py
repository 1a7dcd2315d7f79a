"""Imports all modules with handlers of declared calls on stores, which registers the handlers."""

from __future__ import annotations

from memory.artifacts import files, listing, moving, reading, search, stores, transcripts, versions

__all__ = ["files", "listing", "moving", "reading", "search", "stores", "transcripts", "versions"]
