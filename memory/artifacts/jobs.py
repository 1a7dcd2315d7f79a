"""Kinds of background jobs of stores: end what can no longer be restored, prune versions, collect blobs."""

from __future__ import annotations

from fluxcore.work.jobs import enqueue
from fluxcore.work.kinds import SLOW, job
from fluxcore.work.schedule import every

SWEEP = job("artifacts.sweep", "memory.artifacts.upkeep.sweep", queue=SLOW)
COLLECT = job("artifacts.collect_blobs", "memory.artifacts.upkeep.collect_blobs", queue=SLOW)
SWEEP_SECONDS, COLLECT_SECONDS = 3_600.0, 86_400.0


def ask_to_sweep() -> None:
    enqueue(SWEEP, once_key="all")


def ask_to_collect() -> None:
    enqueue(COLLECT, once_key="all")


every(SWEEP, SWEEP_SECONDS, ask_to_sweep)
every(COLLECT, COLLECT_SECONDS, ask_to_collect)
