"""flux_stop, Ctrl-C and deaths: the doors close together, after what they have begun"""

from __future__ import annotations

import http.client
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.concurrency.databases import connect
from tests.config.test_warnings import FILE, GONE, LATER
from tests.core.test_booth import wait_until
from tests.instances import ROOT, Instance


def _gone(pids: list[int], seconds: float) -> list[int]:
    """The pids that are still there after at most that long."""
    until = time.monotonic() + seconds
    while True:
        left = [pid for pid in pids if Path(f"/proc/{pid}").exists() and "\nState:\tZ" not in _status(pid)]
        if not left or time.monotonic() > until:
            return left
        time.sleep(0.05)


def _status(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return ""


@pytest.mark.parametrize("how", ["flux_stop", pytest.param("Ctrl-C", marks=pytest.mark.proof)])
def test_a_request_that_waits_for_the_disk_is_answered_before_the_end(made, how):
    one = made().start()
    with closing(connect(one)) as database:
        _use_token(one, database)
        database.execute("BEGIN IMMEDIATE")
        waiting = _stores_behind_the_lock(one)
        if how == "Ctrl-C":
            one.process.send_signal(signal.SIGINT)
        else:
            stopping = subprocess.Popen(
                [sys.executable, str(ROOT / "manage.py"), "flux_stop"], env=one.environment, stdout=subprocess.DEVNULL
            )
        wait_until(lambda: not _accepts(one))
        assert not select.select([line.sock for line in waiting], [], [], 0)[0]  # none is answered yet
        database.execute("ROLLBACK")
    assert one.process.wait(timeout=60) == 0
    assert [line.getresponse().status for line in waiting] == [200] * len(waiting)
    with closing(connect(one)) as database:
        stored = database.execute("SELECT text FROM grains_grain ORDER BY text").fetchall()
    assert stored == [(f"in time {number}",) for number in range(len(waiting))]
    if how == "flux_stop":
        assert stopping.wait(timeout=60) == 0


def _use_token(one: Instance, database: Any) -> None:
    """Use the token and wait until that is noted: for a minute its use is no write of its own."""
    used = "SELECT count(*) FROM accounts_token WHERE last_used_at IS NOT NULL"
    one.call("GET", "/health")
    wait_until(lambda: database.execute(used).fetchone() == (1,))


def _stores_behind_the_lock(one: Instance) -> list[http.client.HTTPConnection]:
    """Send requests that store until one waits in the write booth, behind a batch that waits for the database."""
    lines: list[http.client.HTTPConnection] = []
    while one.call("GET", "/health").json()["booth"]["waiting"] == 0:
        assert len(lines) < 10
        lines.append(one.connection())
        headers = {"Authorization": f"Bearer {one.token}", "Content-Type": "application/json"}
        lines[-1].request("POST", "/store", json.dumps({"content": f"in time {len(lines) - 1}"}), headers)
    return lines


def _accepts(one: Instance) -> bool:
    """Whether the REST server accepts new connections."""
    try:
        socket.create_connection(("127.0.0.1", one.state["ports"]["rest"]), timeout=5).close()
    except ConnectionError:
        return False
    return True


@pytest.mark.parametrize("seconds", [60, pytest.param(5, marks=pytest.mark.torture)])
def test_ctrl_c_ends_everything_in_time_also_under_load_and_keeps_every_acknowledged_write(made, seconds):
    """Five seconds are promised, for a machine that does nothing else."""
    one = made().start("--processes", "2")
    pids = one.pids()
    assert len(pids) >= 6  # supervisor, granian and its two workers, uvicorn, celery
    acknowledged: list[str] = []
    ended = threading.Event()

    def write(writer: int) -> None:
        line = one.connection(timeout=20)
        for turn in range(10_000):
            if ended.is_set():
                return
            try:
                answer = one.call("POST", "/store", {"content": f"writer {writer} turn {turn}"}, line=line)
            except (OSError, http.client.HTTPException):
                line.close()
                continue
            if answer.status == 200:
                acknowledged.append(answer.json()["grain_id"])

    writers = [threading.Thread(target=write, args=(number,)) for number in range(12)]
    for writer in writers:
        writer.start()
    while len(acknowledged) < 100:
        time.sleep(0.02)
    began = time.monotonic()
    try:
        assert one.stop(seconds) == 0
        assert time.monotonic() - began < seconds
        assert _gone(pids, seconds / 10) == []
    finally:
        ended.set()
        for writer in writers:
            writer.join()
    assert "is killed" not in (one.folder / "flux.log").read_text()  # each process ended by itself
    with closing(connect(one)) as database:
        kept = {str(grain).replace("-", "") for (grain,) in database.execute("SELECT uuid FROM grains_grain")}
    assert {grain.replace("-", "") for grain in acknowledged} <= kept


@pytest.mark.parametrize("who", ["rest", *(pytest.param(who, marks=pytest.mark.proof) for who in ("worker", "people"))])
def test_a_dying_child_ends_the_rest_with_a_status(made, who):
    one = made(FLUX_LOG_JSON="on").start()
    pids = one.pids()
    # Of the REST door the process that serves, a child of the one the supervisor knows.
    victim = one.state["pids"][who]
    os.kill(_child(victim) if who == "rest" else victim, signal.SIGKILL)
    assert one.process.wait(timeout=60) != 0
    assert _gone(pids, 10) == []
    assert f"{who} process ended unexpectedly" in one.output.read_text()
    logged = [json.loads(line) for line in (one.folder / "flux.log").read_text().splitlines()]
    if who == "rest":
        assert "_granian" in {line["logger"] for line in logged}  # the server's own word is where we say: in flux.log


def _child(pid: int) -> int:
    return int(Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0])


def test_ctrl_c_while_it_starts_leaves_nothing(made):
    one = made()
    ports = ["--rest-port", "0", "--people-port", "0", "--mcp-port", "0"]
    process = subprocess.Popen(
        [sys.executable, str(ROOT / "manage.py"), "flux_start", *ports],
        env=one.environment,
        stdout=subprocess.PIPE,
        text=True,
    )
    one.process = process
    until = time.monotonic() + 60
    while len(pids := one.pids()) < 4:  # the servers are there, none of them answers yet
        assert time.monotonic() < until
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=60) == 0
    assert "is running" not in process.stdout.read()
    assert _gone(pids, 10) == []
    assert json.loads(one.command("flux_token", "--json").stdout)["tokens"] == []  # none was made for nobody


def test_nothing_outlives_a_killed_supervisor(made):
    one = made().start()
    pids = one.pids()
    one.process.kill()
    assert _gone(pids, 30) == []


def test_detached_it_runs_on_until_flux_stop(made):
    one = made()
    ports = ("--rest-port", "0", "--people-port", "0", "--mcp-port", "0")
    (one.folder / "config.yaml").write_text(FILE)
    started = one.command("flux_start", "--detach", "--json", *ports)
    assert GONE in started.stderr and LATER in started.stderr
    ready = json.loads(started.stdout)
    assert ready["ready"] is True
    one.state, one.token = ready, ready["token"]
    assert one.call("POST", "/store", {"content": "kept"}).status == 200
    assert one.token not in (one.folder / "start.log").read_text()
    refused = one.command("flux_start", "--json", check=False)
    assert (refused.returncode, set(json.loads(refused.stdout))) == (75, {"error"})  # one document, as for all
    assert json.loads(one.command("flux_stop", "--json").stdout) == {"stopped": True, "was_running": True}
    assert _gone([ready["pid"], *ready["pids"].values()], 10) == []
    assert json.loads(one.command("flux_stop", "--json").stdout)["was_running"] is False


HANGING = """
import signal, subprocess, sys, time
from types import SimpleNamespace
from fluxsite.run import supervisor
supervisor.AGAIN_SECONDS = 0.0
one = supervisor.Supervisor(home=None, rest=None, people=None, mcp=None)
one.children["rest"] = subprocess.Popen(["sleep", "600"], start_new_session=True)
signal.signal(signal.SIGTERM, one.request_stop)
print(one.children["rest"].pid, flush=True)
while not one.stop_requested:
    time.sleep(0.01)
print("requested", flush=True)
while True:  # as in a call to a database that does not answer
    time.sleep(0.01)
"""


def test_a_second_signal_ends_everything_also_where_the_first_cannot() -> None:
    process = subprocess.Popen([sys.executable, "-c", HANGING], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    child = int(process.stdout.readline())
    process.send_signal(signal.SIGTERM)
    assert process.stdout.readline() == "requested\n" and process.poll() is None
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=60) == 1
    assert _gone([child], 60) == []
