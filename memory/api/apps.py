from __future__ import annotations

from django.apps import AppConfig


class ApiConfig(AppConfig):
    name = "memory.api"
    label = "api"
    verbose_name = "REST server"
