"""What the worker is asked to do for the life of grains. The work itself is loaded when one of these runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from accounts.models import Space
from fluxcore import config, jobs, schedule
from memory.grains import chores

CLEAN, AGE, NOTICE, PURGE, SCRUB, FORGET = (
    "grains.clean",
    "grains.age",
    "grains.notice",
    "grains.purge",
    "grains.scrub",
    "grains.forget_traces",
)
HOUR = 3600.0
# How often what is not in config.yaml comes round, in seconds.
NOTICE_SECONDS, PURGE_SECONDS, FORGET_SECONDS = 900.0, 900.0, 600.0


def clean(space: int, **args: Any) -> None:
    jobs.enqueue(CLEAN, args, space=space, once_key=f"space:{space}")


def age(space: int, **args: Any) -> None:
    jobs.enqueue(AGE, args, space=space, once_key=f"space:{space}")


def purge(space: int) -> None:
    jobs.enqueue(PURGE, space=space, once_key=f"space:{space}")


def scrub() -> None:
    jobs.enqueue(SCRUB, once_key="instance")


def in_each_space(ask: Callable[[int], object]) -> Callable[[], None]:
    """Ask for every space of the instance."""

    def each() -> None:
        for space in Space.objects.order_by("id").values_list("id", flat=True):
            ask(space)

    return each


def register() -> None:
    """What comes round for grains."""

    def period() -> float:
        return config.current().CLEANUP_INTERVAL_HOURS * HOUR

    schedule.every(CLEAN, period, in_each_space(clean))
    schedule.every(AGE, period, in_each_space(age))
    # Asked for more often than it is done: the room of clusters says whether enough has changed.
    schedule.every(chores.CLUSTER, HOUR, in_each_space(chores.ask_for_clustering))
    schedule.every(PURGE, PURGE_SECONDS, _ask_for_purges)
    schedule.every(NOTICE, NOTICE_SECONDS, lambda: jobs.enqueue(NOTICE, once_key="instance"))
    schedule.every(FORGET, FORGET_SECONDS, lambda: jobs.enqueue(FORGET, once_key="instance"))


def _ask_for_purges() -> None:
    """Only where something is marked: most spaces have nothing to purge."""
    from memory.grains.models import Grain

    marked = Grain.objects.filter(status=Grain.Status.PENDING_DELETION).order_by()
    for space in Space.objects.order_by("id").values_list("id", flat=True):
        if marked.filter(space=space).exists():
            purge(space)


@jobs.handler(CLEAN)
def _clean(run: jobs.Run) -> jobs.Apply | None:
    from memory.grains.lifecycle import cleanup

    return cleanup.clean(run)


@jobs.handler(AGE)
def _age(run: jobs.Run) -> jobs.Apply | None:
    from memory.grains.lifecycle import ageing

    return ageing.age(run)


@jobs.handler(NOTICE)
def _notice(run: jobs.Run) -> jobs.Apply | None:
    from memory.grains.lifecycle import last_use

    return last_use.keep_last_recalls(run)


@jobs.handler(PURGE)
def _purge(run: jobs.Run) -> jobs.Apply | None:
    from memory.grains.lifecycle import purge

    return purge.purge_due(run)


@jobs.handler(SCRUB)
def _scrub(run: jobs.Run) -> jobs.Apply | None:
    from memory.grains.lifecycle import scrub

    return scrub.scrub(run)


@jobs.handler(FORGET)
def _forget(run: jobs.Run) -> jobs.Apply | None:
    from memory.recall import trace_retention

    return lambda: trace_retention.expire_traces(run)
