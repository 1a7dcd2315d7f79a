from __future__ import annotations

from django.apps import AppConfig


class FluxCoreConfig(AppConfig):
    name = "fluxcore"
    verbose_name = "Core"

    def ready(self) -> None:
        from fluxcore import booth, events

        booth.closer("event", events.write)
