from django.apps import AppConfig


class ArtifactsConfig(AppConfig):
    name = "memory.artifacts"
    label = "artifacts"
    verbose_name = "Stores"
