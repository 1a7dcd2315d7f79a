"""Jobs of clusters: recomputed when enough has changed."""

from __future__ import annotations

from fluxcore.work.jobs import enqueue
from fluxcore.work.kinds import HEAVY, job
from fluxcore.work.schedule import every
from memory.clusters import recompute_due
from memory.grains.spaces import in_each_space

COMPUTE = job("clusters.compute", "memory.clusters.compute.cluster", queue=HEAVY, formerly=["grains.cluster"])
LOOK_SECONDS = 3600.0  # between two checks; `recompute_due` decides whether enough has changed


def ask_for_clustering(space: int, *, anyway: bool = False) -> bool:
    """Request clustering of a space if enough has changed, or `anyway`; returns whether it was requested."""
    if not anyway and not recompute_due.is_due(space):
        return False
    enqueue(COMPUTE, space=space, once_key=f"space:{space}")
    return True


every(COMPUTE, LOOK_SECONDS, in_each_space(ask_for_clustering))
