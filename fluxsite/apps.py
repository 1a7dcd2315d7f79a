"""The site's own app (checks) and the admin that demands a second factor."""

from __future__ import annotations

from django.apps import AppConfig
from django.contrib.admin.apps import AdminConfig


class FluxAdminConfig(AdminConfig):
    default_site = "django_otp.admin.OTPAdminSite"
    default = False


class FluxSiteConfig(AppConfig):
    name = "fluxsite"
    verbose_name = "Flux site"
    default = False

    def ready(self) -> None:
        from fluxsite import checks  # noqa: F401  registers the system checks
