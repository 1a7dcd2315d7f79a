from __future__ import annotations

from django.apps import AppConfig


class AccountsConfig(AppConfig):
    name = "accounts"
    verbose_name = "People and agents"

    def ready(self) -> None:
        from accounts import audit, checkpoints, guesses, refusals, sessions
        from fluxcore import booth
        from fluxcore.sweep import every_minute

        booth.closer("audit", audit.write)
        every_minute(refusals.forget_old)
        every_minute(guesses.forget_old)
        every_minute(sessions.forget_old)
        every_minute(checkpoints.when_due)
