"""Clients hang up at random moments: the local server ends in order, keeps what it acknowledged, leaves nothing."""

from __future__ import annotations

import json
import random
import sqlite3
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.instances import ROOT, Instance

pytestmark = pytest.mark.torture

AT_ONCE, SECONDS = 3, 3.0
OPENING = [
    {
        "id": 0,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "hasty", "version": "1"},
        },
    },
    {"method": "notifications/initialized"},
    {"id": 1, "method": "tools/list", "params": {}},
]


class Hasty:
    """A client that recalls and stores, and hangs up after so long: from its start on, or from its first answer on."""

    def __init__(self, one: Instance, number: int) -> None:
        self.random = random.Random(number)
        self.number, self.from_start = number, number % 2 == 0
        self.process = subprocess.Popen(
            [sys.executable, str(ROOT / "manage.py"), "flux_mcp"],
            env=one.environment,
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.answered = threading.Event()
        self.acknowledged: list[str] = []
        self.refused: list[str] = []
        self.said, self.hung_up = "", False

    def send(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self.process.stdin.flush()

    def listen(self) -> None:
        for line in self.process.stdout or ():
            answer = json.loads(line)
            if answer["id"] > 1:
                self.answered.set()
            result = answer.get("result", {})
            if result.get("isError") or ("error" in answer and not self.hung_up):
                self.refused.append(line.decode())  # after it hung up, what is still under way is an error
            elif "grain_id" in result.get("structuredContent", {}):
                self.acknowledged.append(result["structuredContent"]["grain_id"])

    def run(self) -> Hasty:
        try:
            return self._run()
        finally:
            self.process.kill()  # where a check failed; otherwise it has ended

    def _run(self) -> Hasty:
        began = time.monotonic()
        listener = threading.Thread(target=self.listen)
        listener.start()
        for message in OPENING:
            self.send(message)
        self.call(2)
        if not self.from_start:
            assert self.answered.wait(600)
            began = time.monotonic()
        until, count = began + self.random.uniform(0, SECONDS), 2
        while (left := until - time.monotonic()) > 0:
            time.sleep(min(left, self.random.uniform(0.02, 0.4)))
            count += 1
            self.call(count)
        assert self.process.stdin is not None and self.process.stderr is not None
        self.hung_up = True
        self.process.stdin.close()
        self.said = self.process.stderr.read().decode()
        self.process.wait(60)
        listener.join(60)
        return self

    def call(self, count: int) -> None:
        if count % 2:
            name, given = "flux_store", {"content": f"Client {self.number} said number {count} before it hung up."}
        else:
            name, given = "flux_retrieve", {"query": f"What did client {self.number} say?"}
        self.send({"id": count, "method": "tools/call", "params": {"name": name, "arguments": given}})


@pytest.mark.parametrize(("served", "runs"), [(False, 200), (True, 60)])
def test_no_hang_up_aborts_it_loses_a_write_or_leaves_a_process(made: Any, served: bool, runs: int) -> None:
    one: Instance = made()
    one.environment["FLUX_ENCODER"] = "all-MiniLM-L6-v2"  # its native threads are what once aborted
    (one.folder / "config.yaml").write_text("OPERATING_MODE: caller_extracts\nMAX_GRAINS_PER_MINUTE: 1000000\n")
    if served:
        one.start()
    with ThreadPoolExecutor(AT_ONCE) as clients:
        ended = list(clients.map(lambda number: Hasty(one, number).run(), range(runs)))
    assert [(client.process.returncode, client.said) for client in ended if client.process.returncode] == []
    assert [line for client in ended for line in client.refused] == []
    acknowledged = [grain for client in ended for grain in client.acknowledged]
    assert len(acknowledged) == len(set(acknowledged)) > runs / 4
    if served:
        one.stop()
    assert not _processes_of(one)
    with sqlite3.connect(one.folder / "flux.db") as database:
        rows = database.execute("SELECT uuid, corroborations FROM grains_grain").fetchall()
    assert set(acknowledged) <= {_dashed(number) for number, _ in rows}
    assert {often for _, often in rows} == {0}  # and none twice
    assert json.loads(one.command("flux_audit", "verify", "--json").stdout)["chains"]


def _dashed(number: str) -> str:
    return f"{number[:8]}-{number[8:12]}-{number[12:16]}-{number[16:20]}-{number[20:]}"


def _processes_of(one: Instance) -> list[str]:
    """Whatever still runs with this instance's data home."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if f"FLUX_HOME={one.home}\0".encode() in (folder / "environ").read_bytes():
                found.append((folder / "cmdline").read_text())
        except OSError:
            continue  # ended meanwhile, or somebody else's
    return found
