"""Jobs of the lifecycle: decay, removal of links, purge, and retention of recalls."""

from __future__ import annotations

from typing import Any

from fluxcore import config
from fluxcore.work.jobs import enqueue
from fluxcore.work.kinds import SLOW, job
from fluxcore.work.schedule import every
from memory.grains.models import Grain
from memory.grains.spaces import in_each_space, numbers

PRUNE = job("grains.prune_links", "memory.grains.lifecycle.cleanup.clean", queue=SLOW, formerly=["grains.clean"])
DECAY = job("grains.decay", "memory.grains.lifecycle.ageing.age", queue=SLOW, formerly=["grains.age"])
RECORD_USE = job(
    "grains.record_use", "memory.grains.lifecycle.last_use.keep_last_recalls", queue=SLOW, formerly=["grains.notice"]
)
PURGE = job("grains.purge", "memory.grains.lifecycle.purge.purge_due", queue=SLOW)
SCRUB = job("grains.scrub", "memory.grains.lifecycle.scrub.scrub", queue=SLOW)
FORGET = job("grains.forget_traces", "memory.recall.trace_retention.forget_traces", queue=SLOW)
HOUR = 3600.0
# Intervals of jobs that config.yaml has no key for, in seconds.
RECORD_USE_SECONDS, PURGE_SECONDS, FORGET_SECONDS = 900.0, 900.0, 600.0


def clean(space: int, **args: Any) -> None:
    enqueue(PRUNE, args, space=space, once_key=f"space:{space}")


def age(space: int, **args: Any) -> None:
    enqueue(DECAY, args, space=space, once_key=f"space:{space}")


def purge(space: int) -> None:
    enqueue(PURGE, space=space, once_key=f"space:{space}")


def scrub() -> None:
    enqueue(SCRUB, once_key="instance")


def _ask_for_purges() -> None:
    """Request purges for spaces with grains marked for deletion: most spaces have none."""
    marked = Grain.objects.filter(status=Grain.Status.PENDING_DELETION).order_by()
    for space in numbers():
        if marked.filter(space=space).exists():
            purge(space)


def _period() -> float:
    return config.current().CLEANUP_INTERVAL_HOURS * HOUR


every(PRUNE, _period, in_each_space(clean))
every(DECAY, _period, in_each_space(age))
every(PURGE, PURGE_SECONDS, _ask_for_purges)
every(RECORD_USE, RECORD_USE_SECONDS, lambda: enqueue(RECORD_USE, once_key="instance"))
every(FORGET, FORGET_SECONDS, lambda: enqueue(FORGET, once_key="instance"))
