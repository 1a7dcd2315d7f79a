"""Client methods for the server's health and metrics."""

from __future__ import annotations

from flux.answers import Health, Ready, Root
from flux.core import CallArguments, call


class InstanceCalls:
    @call("GET", "")
    def root(self) -> CallArguments[Root]:
        """Name of the server, and addresses of its API, health and documentation."""
        return CallArguments()

    @call("GET", "health")
    def health(self) -> CallArguments[Health]:
        """Health of the server; with `health.read`, details of the space too."""
        return CallArguments()

    @call("GET", "readyz")
    def ready(self) -> CallArguments[Ready]:
        """Whether the server can serve writes now."""
        return CallArguments()

    @call("GET", "metrics", gives="text")
    def metrics(self) -> CallArguments[str]:
        """Metrics as Prometheus text, summed over all processes."""
        return CallArguments()
