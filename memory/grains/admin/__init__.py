"""What the administration shows of memory: grains, how they hang together, and the receipts of recalling them."""

from __future__ import annotations

from memory.grains.admin import clusters, grains, lifecycle, links, removals, traces, vectors, votes  # noqa: F401  importing registers the pages
