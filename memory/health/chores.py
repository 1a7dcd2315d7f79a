"""What the worker does for health. The heavy parts are loaded when one of these runs, not when a process starts."""

from __future__ import annotations

from fluxcore import config, jobs

GATHER, MEASURE, REPLAY, ALERT = "health.gather", "health.measure", "health.replay", "health.alert"
WEEK_SECONDS = 7 * 86_400.0


def tick_seconds() -> float:
    return config.current().HEALTH_TICK_MINUTES * 60


def ask_to_gather() -> None:
    jobs.enqueue(GATHER, once_key="all")


def ask_to_measure(space: int) -> None:
    jobs.enqueue(MEASURE, space=space, once_key=f"space:{space}")


def ask_to_replay_all() -> None:
    from memory.health.models import SpaceHealth

    for space in SpaceHealth.objects.order_by("space").values_list("space_id", flat=True):
        jobs.enqueue(REPLAY, space=space, once_key=f"space:{space}")


@jobs.handler(GATHER)
def gather(run: jobs.Run) -> jobs.Apply | None:
    from memory.health import gather as work

    return work.gather(run)


@jobs.handler(MEASURE)
def measure(run: jobs.Run) -> jobs.Apply | None:
    from memory.health import measure as work

    return work.measure(run)


@jobs.handler(ALERT)
def alert(run: jobs.Run) -> jobs.Apply | None:
    from memory.health import alerts

    return alerts.send_alert(run)


@jobs.handler(REPLAY)
def replay(run: jobs.Run) -> jobs.Apply | None:
    from memory.health import replay as work

    return work.replay_space(run)
