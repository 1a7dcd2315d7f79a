from __future__ import annotations

from django.apps import AppConfig


class ArtifactsConfig(AppConfig):
    name = "memory.artifacts"
    label = "artifacts"
    verbose_name = "Stores"

    def ready(self) -> None:
        from memory.artifacts import proposals

        proposals.register()
