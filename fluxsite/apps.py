"""App configuration of the admin, which requires a second factor."""

from __future__ import annotations

from typing import Any

from django.contrib.admin.apps import SimpleAdminConfig
from django.contrib.admin.checks import check_admin_app, check_dependencies
from django.core import checks as django_checks


class FluxAdminConfig(SimpleAdminConfig):
    """Loads the admin's pages only in the process of the dashboard server; others do not use them."""

    default_site = "accounts.adminsite.site.FluxAdminSite"
    default = False

    def ready(self) -> None:
        from django.conf import settings
        from django.contrib import admin

        django_checks.register(check_dependencies, django_checks.Tags.admin)
        django_checks.register(check_admin_pages, django_checks.Tags.admin)
        if settings.SERVER_ROLE == "people":
            admin.autodiscover()


def check_admin_pages(app_configs: Any, **kwargs: Any) -> Any:
    """Django's check of admin pages, for a process that may not have loaded them."""
    from django.contrib import admin

    admin.autodiscover()
    return check_admin_app(app_configs, **kwargs)
