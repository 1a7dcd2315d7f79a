from __future__ import annotations

from django.apps import AppConfig


class TransferConfig(AppConfig):
    name = "memory.transfer"
    label = "transfer"
    verbose_name = "Import and export"
