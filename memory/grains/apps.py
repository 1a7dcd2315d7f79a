from __future__ import annotations

from django.apps import AppConfig


class GrainsConfig(AppConfig):
    name = "memory.grains"
    label = "grains"
    verbose_name = "Grains"

    def ready(self) -> None:
        from fluxcore.sweep import every_minute
        from memory.grains import chores
        from memory.grains.lifecycle import asking

        every_minute(chores.ask_for_what_is_left)
        every_minute(chores.forgive_what_nobody_judged)
        asking.register()
