"""System checks of Flux Memory; a server process does not start while one of the errors stands."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib import admin
from django.core.checks import CheckMessage, Error, Tags, Warning, register, run_checks
from django.core.exceptions import ImproperlyConfigured
from django.db import connection
from django_otp.admin import OTPAdminSite

from fluxcore.command_names import typed_command
from fluxsite import env
from fluxsite.databases import wal_is_safe


@register(Tags.security, "servers")
def check_second_factor(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    if isinstance(admin.site, OTPAdminSite):
        return []
    return [
        Error(
            "The admin site does not require a second factor.",
            hint="A theme or app has replaced admin.site. fluxsite.apps.FluxAdminConfig must be the only admin app.",
            id="flux.E001",
        )
    ]


@register(Tags.security, "servers")
def check_secret_key(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    if settings.SECRET_KEY_IS_KEPT or settings.SERVER_ROLE in ("shell", "stdio"):
        return []
    return [
        Error(
            "There is no secret key.",
            hint=f"Run `{typed_command('flux_init')}`, or set FLUX_SECRET_KEY_FILE.",
            id="flux.E002",
        )
    ]


@register("configuration")
def check_unused_settings(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    return [
        *(Warning(f"{text.rstrip('.')}.", id="flux.W007") for text in settings.CONFIG_WARNINGS),
        *(Warning(text, id="flux.W008") for text in env.unread()),
    ]


@register(Tags.database, "servers")
def check_sqlite(app_configs: Any, databases: Any = None, **kwargs: Any) -> list[CheckMessage]:
    if connection.vendor != "sqlite" or not databases:
        return []
    import sqlite3

    found: list[CheckMessage] = []
    if not wal_is_safe(sqlite3.sqlite_version_info[:3]):
        found.append(
            Warning(
                f"SQLite {sqlite3.sqlite_version} has the WAL-reset bug; the slower DELETE journal is used instead.",
                hint="Install pysqlite3 (it is in requirements.txt) or use PostgreSQL through DATABASE_URL.",
                id="flux.W003",
            )
        )
    if ":memory:" in str(connection.settings_dict["NAME"]) or "mode=memory" in str(connection.settings_dict["NAME"]):
        return found
    with connection.cursor() as cursor:
        journal = cursor.execute("PRAGMA journal_mode").fetchone()[0]
        synchronous = cursor.execute("PRAGMA synchronous").fetchone()[0]
    wanted = "wal" if wal_is_safe(sqlite3.sqlite_version_info[:3]) else "delete"
    if journal != wanted:
        found.append(Error(f"SQLite's journal is {journal}, not {wanted}.", id="flux.E004"))
    if settings.DURABILITY == "full" and synchronous != 2:
        found.append(Error("SQLite does not wait for the disk (synchronous is not FULL).", id="flux.E005"))
    if connection.settings_dict["OPTIONS"].get("transaction_mode") != "IMMEDIATE":
        found.append(Error("SQLite transactions are not IMMEDIATE.", id="flux.E006"))
    return found


def refuse_failed_checks() -> None:
    """Raise ImproperlyConfigured if a check fails. Called by servers, for which Django runs no checks itself."""
    found = [message for message in run_checks(tags=["servers"], databases=["default"]) if message.is_serious()]
    connection.close()
    if found:
        raise ImproperlyConfigured(" ".join(f"({message.id}) {message.msg} {message.hint or ''}" for message in found))
