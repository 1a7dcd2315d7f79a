from __future__ import annotations

from django.apps import AppConfig


class KeyValueConfig(AppConfig):
    name = "memory.keyvalue"
    label = "keyvalue"
    verbose_name = "Exact memory"
