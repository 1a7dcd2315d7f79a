"""How the server is."""

from __future__ import annotations

from flux.answers import Health, Ready, Root
from flux.core import Said, call


class Instance:
    @call("GET", "")
    def root(self) -> Said[Root]:
        """What this server is and where to read on."""
        return Said()

    @call("GET", "health")
    def health(self) -> Said[Health]:
        """How it is; with `health.read`, how the space is."""
        return Said()

    @call("GET", "readyz")
    def ready(self) -> Said[Ready]:
        """Whether it can take writes now."""
        return Said()

    @call("GET", "metrics", text=True)
    def metrics(self) -> Said[str]:
        """Prometheus text, summed over all processes."""
        return Said()
