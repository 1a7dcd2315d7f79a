from __future__ import annotations

from django.apps import AppConfig


class AccountsConfig(AppConfig):
    name = "accounts"
    verbose_name = "People and agents"

    def ready(self) -> None:
        from accounts import anonymous_refusals, audit
        from accounts.audit import checkpoints
        from accounts.signin import lockout, sessions
        from fluxcore.work.sweep import every_minute
        from fluxcore.writes import batch

        batch.register_row_writer("audit", audit.write)
        every_minute(anonymous_refusals.forget_old)
        every_minute(lockout.forget_old)
        every_minute(sessions.forget_old)
        every_minute(checkpoints.checkpoint_if_due)
