"""Admin pages of stores: stores, files with their versions, the log of changes, and messages."""

from memory.artifacts.admin import files, messages, stores

__all__ = ["files", "messages", "stores"]
