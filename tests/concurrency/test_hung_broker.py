"""Workers are woken after a commit, so a broker that hangs must not hold up the writers behind it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.instances import ROOT, Instance

_WAKE = """
import sys, time
import django
django.setup()
from fluxsite import celery
celery.wake(["grains.enrich"])
print("woken", flush=True)
sys.stdin.readline()
began = time.monotonic()
try:
    celery.wake(["grains.enrich"])
    print("answered", end=" ")
except Exception as error:
    print(type(error).__name__, end=" ")
print(time.monotonic() - began, flush=True)
os._exit(0)
"""


@pytest.mark.redis
def test_a_wakeup_over_a_hung_redis_gives_up_soon(tmp_path: Path, redis_server: Any) -> None:
    environment = Instance(tmp_path, "hung", REDIS_URL=redis_server.url).environment
    sender = subprocess.Popen(
        [sys.executable, "-c", "import os" + _WAKE],
        env={**environment, "DJANGO_SETTINGS_MODULE": "fluxsite.settings", "PYTHONPATH": os.fspath(ROOT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )
    try:
        assert sender.stdout is not None
        assert sender.stdout.readline() == "woken\n"
        redis_server.hang()
        outcome, seconds = sender.communicate("\n", timeout=20)[0].split()
    finally:
        redis_server.go_on()
        sender.kill()
        sender.wait()
    assert outcome == "OperationalError"
    assert float(seconds) < 10
