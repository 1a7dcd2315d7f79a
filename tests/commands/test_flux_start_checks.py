"""flux_start opens no door while a serious system check fails"""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time

import pytest

from tests.instances import ROOT
from tests.servers import free_port

DOORS = ("rest", "people", "mcp")


@pytest.fixture
def configured(instance, tmp_path):
    """An instance whose operator has settings of their own on top of ours."""

    def make(lines: str):
        (tmp_path / "own_settings.py").write_text(f"from fluxsite.settings import *\n\n{lines}\n")
        return instance(DJANGO_SETTINGS_MODULE="own_settings", PYTHONPATH=str(tmp_path)).with_tables()

    return make


def _listens(port: int) -> bool:
    with socket.socket() as line:
        return line.connect_ex(("127.0.0.1", port)) == 0


@pytest.mark.parametrize(
    ("lines", "check"),
    [
        # One of Django's, one of ours, and one that only a look into the database finds.
        ('CSRF_TRUSTED_ORIGINS = ["flux.example"]', "4_0.E001"),
        ("INSTALLED_APPS[1] = 'django.contrib.admin'", "flux.E001"),
        ('DATABASES["default"]["OPTIONS"]["transaction_mode"] = "DEFERRED"', "flux.E006"),
    ],
    ids=["django", "ours", "database"],
)
def test_it_names_the_check_and_nothing_ever_listens(configured, lines, check):
    one = configured(lines)
    ports = {door: free_port() for door in DOORS}
    one.process = subprocess.Popen(
        [
            sys.executable,
            str(ROOT / "manage.py"),
            "flux_start",
            "--json",
            *(word for door, port in ports.items() for word in (f"--{door}-port", str(port))),
        ],
        env=one.environment,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    while one.process.poll() is None:
        assert [door for door, port in ports.items() if _listens(port)] == []
        time.sleep(0.02)
    said, noted = one.process.communicate()
    refusal = json.loads(said)["error"]
    assert (one.process.returncode, refusal["code"]) == (75, "conflict")
    assert "system checks" in refusal["message"]
    assert f"{check}: " in noted
    assert not any(_listens(port) for port in ports.values())
    assert not (one.folder / "run" / "running.json").exists()


@pytest.mark.proof
def test_a_warning_is_said_and_the_doors_open(configured):
    one = configured('STATICFILES_DIRS = [HOME.path / "nowhere"]').start()
    assert "staticfiles.W004: " in one.output.read_text()
    assert one.call("GET", "/health").status == 200
