from __future__ import annotations

from django.apps import AppConfig


class PassagesConfig(AppConfig):
    name = "memory.passages"
    label = "passages"
    verbose_name = "Passages"

    def ready(self) -> None:
        from memory.passages import citing, following, value_following, value_sources

        citing.register()
        following.register()
        value_sources.register()
        value_following.register()
