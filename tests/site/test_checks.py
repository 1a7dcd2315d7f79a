"""System checks, and that servers do not start while one fails."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.contrib import admin
from django.contrib.admin import AdminSite
from django.core.checks import run_checks
from django.core.exceptions import ImproperlyConfigured
from django.db import connection

from fluxsite import checks
from fluxsite.home import DataHome, make_home

ROOT = Path(__file__).resolve().parents[2]


def ids(**options):
    return [message.id for message in run_checks(**options)]


def test_the_admin_demands_a_second_factor():
    assert "flux.E001" not in ids(tags=["security"])


def test_a_replaced_admin_site_is_noticed(monkeypatch):
    monkeypatch.setattr(admin, "site", AdminSite())
    assert "flux.E001" in ids(tags=["security"])


@pytest.mark.parametrize(
    ("door", "kept", "refused"),
    [
        ("rest", False, True),
        ("people", False, True),
        ("shell", False, False),
        ("rest", True, False),
    ],
)
def test_a_door_needs_a_key_that_is_kept(settings, door, kept, refused):
    settings.SERVER_ROLE, settings.SECRET_KEY_IS_KEPT = door, kept
    assert ("flux.E002" in ids(tags=["security"])) is refused


@pytest.mark.django_db
def test_the_database_of_these_tests_is_sound():
    assert ids(tags=["database"], databases=["default"]) == []


@pytest.mark.sqlite_only
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("pragma", "error"), [("synchronous=NORMAL", "flux.E005"), ("journal_mode=DELETE", "flux.E004")]
)
def test_a_weaker_sqlite_is_noticed(pragma, error):
    try:
        connection.cursor().execute(f"PRAGMA {pragma}")
        assert error in ids(tags=["database"], databases=["default"])
    finally:
        connection.close()
    assert ids(tags=["database"], databases=["default"]) == []


@pytest.mark.sqlite_only
@pytest.mark.django_db
def test_a_deferred_transaction_mode_is_noticed(monkeypatch):
    monkeypatch.setitem(connection.settings_dict["OPTIONS"], "transaction_mode", "DEFERRED")
    assert "flux.E006" in ids(tags=["database"], databases=["default"])


@pytest.mark.sqlite_only
@pytest.mark.django_db
def test_an_affected_sqlite_is_said_loudly(monkeypatch):
    monkeypatch.setattr(checks, "wal_is_safe", lambda version: False)
    assert "flux.W003" in ids(tags=["database"], databases=["default"])


@pytest.mark.django_db(transaction=True)
def test_a_door_stays_shut_while_an_error_stands(settings):
    checks.refuse_failed_checks()
    settings.SECRET_KEY_IS_KEPT = False
    with pytest.raises(ImproperlyConfigured, match=r"\(flux\.E002\) There is no secret key"):
        checks.refuse_failed_checks()


def run(code, home, **environment):
    """Run code in another process, without the settings of this one."""
    clean = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith(("FLUX_", "DJANGO_", "DATABASE_", "REDIS_"))
    }
    return subprocess.run(
        [sys.executable, *code],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        env={**clean, "FLUX_HOME": str(home), "FLUX_NAME": "test", **environment},
    )


@pytest.mark.parametrize("door", ["wsgi", "asgi"])
def test_no_door_opens_without_a_key_and_none_is_made_up(tmp_path, door):
    home = DataHome("test", tmp_path / "test")
    home.make()
    done = run(["-c", f"import fluxsite.{door}"], tmp_path)
    assert done.returncode != 0
    assert "flux.E002" in done.stderr
    assert not (home.keys / "secret_key").exists()


@pytest.mark.parametrize("door", ["wsgi", "asgi"])
def test_a_door_opens_with_its_key(tmp_path, door):
    make_home(DataHome("test", tmp_path / "test"))
    done = run(["-c", f"import fluxsite.{door}"], tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("https", ["on", "off"])
def test_check_deploy_is_clean(tmp_path, https):
    make_home(DataHome("test", tmp_path / "test"))
    done = run(
        ["manage.py", "check", "--deploy", "--fail-level", "WARNING", "--database", "default"],
        tmp_path,
        FLUX_HTTPS=https,
        FLUX_ALLOWED_HOSTS="flux.example",
        FLUX_DOOR="people",
    )
    assert done.returncode == 0, done.stderr
    silenced = 0 if https == "on" else 4
    assert f"({silenced} silenced)" in done.stdout


def test_off_silences_exactly_the_four_about_tls(settings):
    assert settings.SILENCED_SYSTEM_CHECKS == ["security.W004", "security.W008", "security.W012", "security.W016"]


@pytest.mark.parametrize(
    ("environment", "says"),
    [
        ({"FLUX_HTTPS": "yes"}, "FLUX_HTTPS must be 'on' or 'off'"),
        ({"DATABASE_URL": "mysql://u:secret-pw@h/d"}, "DATABASE_URL must start with"),
        ({"FLUX_DURABILITY": "ful"}, "FLUX_DURABILITY must be one of full, normal"),
        ({"FLUX_SECRET_KEY_FILE": "/nonexistent"}, "FLUX_SECRET_KEY_FILE points to /nonexistent"),
        ({"FLUX_NAME": "../x"}, "Instance name '../x'"),
        ({"FLUX_SECRET_KEY": "secret-pw"}, "FLUX_SECRET_KEY is too easy to guess. It needs at least 32 bytes"),
    ],
)
def test_unusable_settings_are_one_clear_line(tmp_path, environment, says):
    done = run(["manage.py", "check"], tmp_path, **environment)
    assert done.returncode == 78
    assert done.stderr.startswith("flux: ")
    assert says in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert "secret-pw" not in done.stderr
