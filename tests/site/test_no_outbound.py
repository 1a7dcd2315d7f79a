"""No outbound connections: a working instance connects only to this machine"""

from __future__ import annotations

import ipaddress
import json
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.concurrency.databases import connect
from tests.instances import Instance
from tests.live_feeds import agents_feed, next_event, next_message, peoples_feed
from tests.servers import missing

_ADDRESS = re.compile(r'inet_addr\("([^"]+)"\)|inet_pton\(AF_INET6, "([^"]+)"')

# Python's own word on every connection and every name it looks up, from inside each process.
_HOOK = """
import json, os, sys

def witness(event, arguments):
    if event in ("socket.connect", "socket.sendto", "socket.sendmsg"):
        found = arguments[1]
    elif event in ("socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr"):
        found = (arguments[0],)
    else:
        return
    if isinstance(found, tuple):
        line = json.dumps(str(found[0])) + "\\n"
        file = os.open({path!r}, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        os.write(file, line.encode())
        os.close(file)

sys.addaudithook(witness)
"""


class Inside:
    """Sees what Python code does, on any system."""

    def __init__(self, folder: Path) -> None:
        self.said = folder / "inside.jsonl"
        hooks = folder / "hooks"
        hooks.mkdir()
        (hooks / "sitecustomize.py").write_text(_HOOK.replace("{path!r}", repr(str(self.said))))
        self.environment = {"PYTHONPATH": str(hooks)}
        self.python = sys.executable

    def contacted(self) -> set[str]:
        found = {json.loads(line) for line in self.said.read_text().splitlines()}
        return {name for name in found if name not in ("None", "")}


class Outside:
    """Sees what the kernel is asked to do, by whatever code: strace around every process."""

    def __init__(self, folder: Path) -> None:
        found = shutil.which("strace")
        # With a filter in the kernel a process stops at these four calls alone, not at each it makes.
        strace = f"{found} -f --seccomp-bpf"
        probe = [*strace.split(), "-o", str(folder / "probe"), "true"]
        if found is None or subprocess.run(probe, capture_output=True).returncode != 0:
            pytest.skip(missing("strace", "it is not there, or this system lets nobody trace"))
        self.folder = folder / "traces"
        self.folder.mkdir()
        self.environment: dict[str, str] = {}
        python = folder / "python"
        python.write_text(
            f"#!/bin/sh\nexec {strace} -qq -e trace=connect,sendto,sendmsg,sendmmsg -e signal=none "
            f'-o {self.folder}/$$ {sys.executable} "$@"\n'
        )
        python.chmod(0o700)
        self.python = str(python)

    def contacted(self) -> set[str]:
        lines = "\n".join(file.read_text(errors="replace") for file in self.folder.iterdir())
        return {first or second for first, second in _ADDRESS.findall(lines)}


def is_here(address: str) -> bool:
    try:
        found = ipaddress.ip_address("127.0.0.1" if address == "localhost" else address)
    except ValueError:
        return False  # a name that would have to be looked up
    return found.is_loopback or found.is_unspecified  # the latter is what a door is bound to


@pytest.fixture(params=[Inside, Outside])
def witness(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    made = request.param(tmp_path)
    monkeypatch.setattr("tests.instances.sys", SimpleNamespace(executable=made.python))
    return made


@pytest.fixture
def witnesses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Inside, and outside where that can be: the test of the witness itself says if it cannot."""
    made: list[Any] = [Inside(tmp_path)]
    try:
        made.append(Outside(tmp_path))
    except pytest.skip.Exception:
        pass
    monkeypatch.setattr("tests.instances.sys", SimpleNamespace(executable=made[-1].python))
    return made


@pytest.mark.proof
def test_a_whole_instance_at_work_speaks_to_this_machine_alone(witnesses, instance):
    running: Instance = instance(**witnesses[0].environment).with_tables().start("--broadcast")
    for number in range(5):
        assert running.call("POST", "/store", {"content": f"kept here {number}"}).status == 200
    assert running.call("GET", "/grains").status == 200
    enrolment = urlsplit(running.state["enrolment"]).path
    assert running.call("GET", enrolment, door="people").status == 200
    cookie = everybody_signs_in(running)
    pages = ("/", "/sign-in", "/health", "/nothing", "/static/dashboard/flux.css")
    assert {running.call("GET", page, door="people").status for page in pages} <= {200, 404}
    for page in ("/account", "/admin/"):
        assert running.call("GET", page, door="people", headers={"Cookie": cookie}).status == 200
    with agents_feed(running, running.token) as one, peoples_feed(running, cookie) as two:
        running.call("POST", "/store", {"content": "seen by both"})
        assert next_message(one)["kind"] == next_event(two, "grain.stored")["kind"] == "grain.stored"
    the_worker_has_its_minute(running)
    running.commands("flux_backup create", "flux_audit verify", "flux_status", "flux_stop")
    assert running.process is not None and running.process.wait(20) == 0
    for witness in witnesses:
        contacted = witness.contacted()
        assert "127.0.0.1" in contacted, f"{witness} saw nothing at all"
        assert {address for address in contacted if not is_here(address)} == set()


def test_the_witness_would_see_a_connection_and_a_datagram(witness, instance):
    one: Instance = instance(**witness.environment)
    code = """
import socket
def attempt(kind, ask):
    line = socket.socket(socket.AF_INET, kind)
    line.settimeout(0.05)
    try:
        ask(line)
    except OSError:
        pass
    line.close()
attempt(socket.SOCK_STREAM, lambda line: line.connect(("198.51.100.1", 80)))
attempt(socket.SOCK_DGRAM, lambda line: line.sendto(b"hello", ("198.51.100.2", 80)))
"""
    one.command("shell", "-v", "0", "-c", code)
    assert {"198.51.100.1", "198.51.100.2"} <= {address for address in witness.contacted() if not is_here(address)}


def everybody_signs_in(running: Instance) -> str:
    said = running.command(
        "shell",
        "-v",
        "0",
        "-c",
        """
import json
from django.conf import settings
from tests.dashboard.conftest import Person
name = settings.SESSION_COOKIE_NAME
print(json.dumps(f"{name}={Person('ada').sign_in().cookies[name].value}"))
""",
    ).stdout
    return str(json.loads(said.strip().splitlines()[-1]))


def the_worker_has_its_minute(running: Instance) -> None:
    """Send the message of a sweep by hand and wait until the worker has let go of a row that is too old."""
    running.command(
        "shell",
        "-v",
        "0",
        "-c",
        """
from datetime import timedelta
from fluxcore import clock
from fluxcore.models import IdempotencyKey
from fluxsite import celery
IdempotencyKey.objects.create(
    owner="x", key="old", request="", answer="{}", created_at=clock.now() - timedelta(days=3)
)
celery.send(celery.SWEEP)
""",
    )
    line, until = connect(running), time.monotonic() + 30
    try:
        while line.execute("SELECT count(*) FROM fluxcore_idempotencykey WHERE key = 'old'").fetchone()[0]:
            assert time.monotonic() < until, "the worker did not sweep"
            time.sleep(0.1)
    finally:
        line.close()
