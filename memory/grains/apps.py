from __future__ import annotations

from django.apps import AppConfig


class GrainsConfig(AppConfig):
    name = "memory.grains"
    label = "grains"
    verbose_name = "Grains"
