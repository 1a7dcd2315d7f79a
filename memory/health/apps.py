from __future__ import annotations

from django.apps import AppConfig


class HealthConfig(AppConfig):
    name = "memory.health"
    label = "health"
    verbose_name = "Health"
