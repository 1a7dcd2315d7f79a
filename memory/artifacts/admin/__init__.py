"""Admin pages of stores: stores, files with their versions, the log of changes, and messages."""

from __future__ import annotations

# Importing registers the pages; the index lists them in this order.
from memory.artifacts.admin import stores, files, messages  # noqa: F401  # isort: skip
