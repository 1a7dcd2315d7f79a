"""How the server is."""

from __future__ import annotations

from flux.answers import Health, Ready, Root
from flux.core import CallArguments, call


class InstanceCalls:
    @call("GET", "")
    def root(self) -> CallArguments[Root]:
        """What this server is and where to read on."""
        return CallArguments()

    @call("GET", "health")
    def health(self) -> CallArguments[Health]:
        """How it is; with `health.read`, how the space is."""
        return CallArguments()

    @call("GET", "readyz")
    def ready(self) -> CallArguments[Ready]:
        """Whether it can take writes now."""
        return CallArguments()

    @call("GET", "metrics", text=True)
    def metrics(self) -> CallArguments[str]:
        """Prometheus text, summed over all processes."""
        return CallArguments()
