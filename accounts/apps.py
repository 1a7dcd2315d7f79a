from __future__ import annotations

from django.apps import AppConfig


class AccountsConfig(AppConfig):
    name = "accounts"
    verbose_name = "People and agents"

    def ready(self) -> None:
        from accounts import audit, refusals
        from fluxcore import booth
        from fluxcore.sweep import every_minute

        booth.closer("audit", audit.write)
        every_minute(refusals.forget_old)
