"""App configuration of the site: system checks and log rotation. It imports nothing of the dashboard."""

from __future__ import annotations

from django.apps import AppConfig


class FluxSiteConfig(AppConfig):
    name = "fluxsite"
    verbose_name = "Flux site"
    default = False

    def ready(self) -> None:
        from django.conf import settings

        from fluxcore.work.sweep import every_minute
        from fluxsite import logs
        from fluxsite.run import gc_pause

        if settings.SERVER_ROLE != "stdio":
            from fluxsite import checks  # noqa: F401  importing registers the system checks

        def rotate_log() -> bool:
            return logs.rotate(settings.HOME.log)

        every_minute(rotate_log)
        gc_pause.freeze_and_resume_gc()
