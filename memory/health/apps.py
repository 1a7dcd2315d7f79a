from __future__ import annotations

from django.apps import AppConfig


class HealthConfig(AppConfig):
    name = "memory.health"
    label = "health"
    verbose_name = "Health"

    def ready(self) -> None:
        from fluxcore.schedule import every
        from memory.health import chores

        every("health.gather", chores.tick_seconds, chores.ask_to_gather)
        every("health.replay", chores.WEEK_SECONDS, chores.ask_to_replay_all)
