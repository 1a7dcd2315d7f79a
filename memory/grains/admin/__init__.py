"""Admin pages of memory: memories (grains), links (conduits), clusters, traces of recalls, feedback."""

from __future__ import annotations

# Importing registers the pages; the index lists them in this order.
from memory.grains.admin import grains, links, clusters, traces, votes, lifecycle, removals, vectors  # noqa: F401  # isort: skip
