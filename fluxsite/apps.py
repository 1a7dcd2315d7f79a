"""The site's own app (checks) and the admin that demands a second factor."""

from __future__ import annotations

from django.apps import AppConfig
from django.contrib.admin.apps import AdminConfig


class FluxAdminConfig(AdminConfig):
    default_site = "accounts.site.FluxAdminSite"
    default = False


class FluxSiteConfig(AppConfig):
    name = "fluxsite"
    verbose_name = "Flux site"
    default = False

    def ready(self) -> None:
        from django.conf import settings

        from fluxcore.sweep import every_minute
        from fluxsite import checks, logs  # noqa: F401  importing registers the system checks

        def rotate_log() -> bool:
            return logs.rotate(settings.HOME.log)

        every_minute(rotate_log)
