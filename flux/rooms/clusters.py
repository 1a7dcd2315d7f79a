"""What hangs together in a space."""

from __future__ import annotations

from flux.answers import ClusterMembers, ClusterPage
from flux.core import CallArguments, call


class ClusterCalls:
    @call("GET", "clusters")
    def list_clusters(
        self, layer: str | None = None, limit: int | None = None, *, cursor: str | None = None
    ) -> CallArguments[ClusterPage]:
        """Clusters, the largest first, a page at a time."""
        return CallArguments(query={"layer": layer, "limit": limit, "cursor": cursor})

    @call("GET", "clusters/{cluster}")
    def get_cluster(
        self, cluster: str, limit: int | None = None, *, cursor: str | None = None
    ) -> CallArguments[ClusterMembers]:
        """One cluster with its members, the most typical first, a page at a time."""
        return CallArguments(path={"cluster": cluster}, query={"limit": limit, "cursor": cursor})
