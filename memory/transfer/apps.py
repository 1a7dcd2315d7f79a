from __future__ import annotations

from django.apps import AppConfig


class TransferConfig(AppConfig):
    name = "memory.transfer"
    label = "transfer"
    verbose_name = "Import and export"

    def ready(self) -> None:
        from fluxcore.sweep import every_minute
        from memory.transfer import chores

        every_minute(chores.forget_old)
