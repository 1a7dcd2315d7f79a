"""Verb that recomputes clusters now instead of waiting for the worker."""

from __future__ import annotations

from typing import Any

from accounts.verbs import Change, RunningCall, verb
from fluxcore.errors import Conflict, Invalid
from memory.clusters import compute


@verb("clusters.recompute", needs="grains.manage")
def recompute(call: RunningCall) -> Change:
    """Recompute the clusters of a space, whether or not much has changed, and return the changes."""
    space = call.principal.space
    if space is None:
        raise Invalid("The space is missing.", field="space")
    prepared = compute.prepare_clusters(space, call.principal.actor)

    def change() -> dict[str, Any]:
        changes = prepared()
        if changes is None:
            raise Conflict("Another run finished first. Nothing was changed.")
        call.record("clusters", run=changes["run"])
        return changes

    return change
