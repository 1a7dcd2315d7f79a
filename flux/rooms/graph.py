"""Client method that exports the graph for other programs."""

from __future__ import annotations

from flux.core import CallArguments, call


class GraphCalls:
    @call("GET", "graph/export", gives="text")
    def export_graph(
        self, format: str | None = None, around: str | None = None, hops: int | None = None, limit: int | None = None
    ) -> CallArguments[str]:
        """Export grains, entries and conduits as text: node-link `json` (default), `graphml` or `dot`."""
        return CallArguments(query={"format": format, "around": around, "hops": hops, "limit": limit})
