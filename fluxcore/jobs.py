"""Background work of the core: what killed processes left of uploads and blobs is removed."""

from __future__ import annotations

from fluxcore.work.jobs import enqueue
from fluxcore.work.kinds import SLOW, job
from fluxcore.work.schedule import every

REMOVE_LEFTOVERS = job("blobs.remove_leftovers", "fluxcore.blob_leftovers.remove_leftovers", queue=SLOW)
DAY_SECONDS = 86_400.0


def ask_to_remove_leftovers() -> None:
    enqueue(REMOVE_LEFTOVERS, once_key="all")


every(REMOVE_LEFTOVERS, DAY_SECONDS, ask_to_remove_leftovers)
