from __future__ import annotations

from django.apps import AppConfig


class FluxCoreConfig(AppConfig):
    name = "fluxcore"
    verbose_name = "Core"

    def ready(self) -> None:
        from fluxcore import events
        from fluxcore.work import kinds
        from fluxcore.writes import batch

        batch.register_row_writer("event", events.write)
        kinds.discover()
