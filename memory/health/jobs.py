"""Jobs of health: events are counted, spaces measured, learning replayed, alerts sent."""

from __future__ import annotations

from fluxcore import config
from fluxcore.work.jobs import enqueue
from fluxcore.work.kinds import HEAVY, SLOW, job
from fluxcore.work.schedule import every
from memory.health.models import SpaceHealth

GATHER = job("health.gather", "memory.health.gather.gather", queue=HEAVY)
MEASURE = job("health.measure", "memory.health.measure.measure", queue=HEAVY)
REPLAY = job("health.replay", "memory.health.replay.replay_space", queue=HEAVY)
ALERT = job("health.alert", "memory.health.alerts.send_alert", queue=SLOW)
WEEK_SECONDS = 7 * 86_400.0


def tick_seconds() -> float:
    return config.current().HEALTH_TICK_MINUTES * 60


def ask_to_gather() -> None:
    enqueue(GATHER, once_key="all")


def ask_to_measure(space: int) -> None:
    enqueue(MEASURE, space=space, once_key=f"space:{space}")


def ask_to_replay_all() -> None:
    for space in SpaceHealth.objects.order_by("space").values_list("space_id", flat=True):
        enqueue(REPLAY, space=space, once_key=f"space:{space}")


every(GATHER, tick_seconds, ask_to_gather)
every(REPLAY, WEEK_SECONDS, ask_to_replay_all)
