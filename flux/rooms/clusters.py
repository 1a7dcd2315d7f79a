"""Client methods for reading clusters."""

from __future__ import annotations

from flux.answers import ClusterMembers, ClusterPage
from flux.core import CallArguments, call


class ClusterCalls:
    @call("GET", "clusters")
    def list_clusters(
        self, layer: str | None = None, limit: int | None = None, *, cursor: str | None = None
    ) -> CallArguments[ClusterPage]:
        """List clusters, largest first, page by page."""
        return CallArguments(query={"layer": layer, "limit": limit, "cursor": cursor})

    @call("GET", "clusters/{cluster}")
    def get_cluster(
        self, cluster: str, limit: int | None = None, *, cursor: str | None = None
    ) -> CallArguments[ClusterMembers]:
        """Read a cluster with its members, most typical first, page by page."""
        return CallArguments(path={"cluster": cluster}, query={"limit": limit, "cursor": cursor})
