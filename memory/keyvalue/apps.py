from __future__ import annotations

from django.apps import AppConfig


class KeyValueConfig(AppConfig):
    name = "memory.keyvalue"
    label = "keyvalue"
    verbose_name = "Exact memory"

    def ready(self) -> None:
        from fluxcore.schedule import every
        from memory.keyvalue import chores

        every("keyvalue.sweep", chores.SWEEP_SECONDS, chores.ask_to_sweep)
        every("keyvalue.bury", chores.BURY_SECONDS, chores.ask_to_bury)
