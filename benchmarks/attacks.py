"""What endless headers, slow headers and slow bodies of others cost a second agent: attacked ÷ quiet latency.

`python -m benchmarks.attacks [CHECKOUT]`: a whole instance of that checkout, or of this one. The attackers are a
process of their own and connect again when they are cut off.
"""

from __future__ import annotations

import http.client
import json
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROUNDS, SAMPLES, SECONDS = 5, 20, 10.0  # a measurement has as many samples, or takes as long, whichever ends first
TIMEOUT = 20.0
RIGHTS = ["grains.read", "memory.read", "memory.write"]
WITHOUT_END = b"x" * 65536


def endless_headers(ports: dict[str, int], token: str) -> None:
    """Four connections to the dashboard server, each with one header that does not end."""

    def attack() -> None:
        with socket.create_connection(("127.0.0.1", ports["people"]), timeout=TIMEOUT) as line:
            line.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\nX-a: ")
            while True:
                line.sendall(WITHOUT_END)

    _again_and_again(attack, 4)


def slow_headers(ports: dict[str, int], token: str) -> None:
    """On each server 60 half requests and 20 connections that say nothing."""

    def attack(port: int, data: bytes) -> Callable[[], None]:
        def hold() -> None:
            with socket.create_connection(("127.0.0.1", port), timeout=600) as line:
                line.sendall(data)
                line.recv(1)

        return hold

    for port in ports.values():
        _again_and_again(attack(port, b"GET /health HTTP/1.1\r\nHost: local"), 60)
        _again_and_again(attack(port, b""), 20)


def slow_bodies(ports: dict[str, int], token: str) -> None:
    """Forty writes of one agent, a byte of their body every three seconds."""

    def attack() -> None:
        with socket.create_connection(("127.0.0.1", ports["rest"]), timeout=TIMEOUT) as line:
            line.sendall(
                b"PUT /agents/sand/kv/slow HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                b"Content-Length: 1000\r\nAuthorization: Bearer " + token.encode() + b"\r\n\r\n"
            )
            while True:
                line.sendall(b" ")
                time.sleep(3)

    _again_and_again(attack, 40)


def _again_and_again(attack: Callable[[], None], times: int) -> None:
    def run() -> None:
        while True:
            try:
                attack()
            except OSError:
                time.sleep(0.05)

    for _ in range(times):
        threading.Thread(target=run, daemon=True).start()


ATTACKS = {attack.__name__: attack for attack in (endless_headers, slow_headers, slow_bodies)}


def call(port: int, method: str, path: str, token: str, body: Any = None) -> float:
    """Seconds of one call on a connection of its own; one that is not answered counts with its time-out."""
    started = time.perf_counter()
    line = http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT)
    headers = {"Host": "localhost", "Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    try:
        line.request(
            method,
            path,
            json.dumps(body) if body is not None else None,
            {**headers, "Accept": "application/json, text/event-stream"},
        )
        answer = line.getresponse()
        text = answer.read()
        if answer.status != 200:
            raise RuntimeError(f"{method} {path}: {answer.status} {text[:200]!r}")
    except (OSError, http.client.HTTPException):
        pass
    finally:
        line.close()
    return time.perf_counter() - started


def median(one: Callable[[], float]) -> float:
    found, until = [], time.monotonic() + SECONDS
    while len(found) < SAMPLES and time.monotonic() < until:
        found.append(one())
    return statistics.median(found)


def main(checkout: Path) -> None:
    import tests.instances as instances
    from tests.rest.conftest import RestInstance

    instances.ROOT = checkout
    with tempfile.TemporaryDirectory(prefix="flux-attacks-") as home:
        server = RestInstance(Path(home), "attacked", PYTHONPATH=str(checkout))
        server.start()
        try:
            made = server.make_agents(("main", "sand", RIGHTS), ("main", "second", RIGHTS))
            print(json.dumps(measured(server.state["ports"], made["main/sand"], made["main/second"])))
        finally:
            server.stop()


def measured(ports: dict[str, int], attacker: str, second: str) -> list[dict[str, Any]]:
    message = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    calls: dict[str, Callable[[], float]] = {
        "MCP ping": lambda: call(ports["mcp"], "POST", "/mcp", second, message),
        "REST /health": lambda: call(ports["rest"], "GET", "/health", second),
        "REST write": lambda: call(ports["rest"], "PUT", "/agents/second/kv/key", second, {"value": 1}),
    }
    for one in calls.values():
        one()  # the first one loads code
    return [row for name in ATTACKS for row in compared(name, calls, ports, attacker)]


def compared(
    name: str, calls: dict[str, Callable[[], float]], ports: dict[str, int], attacker: str
) -> list[dict[str, Any]]:
    """Quiet and attacked in turns, so that what else the machine does falls on both."""
    quiet: dict[str, list[float]] = {what: [] for what in calls}
    attacked: dict[str, list[float]] = {what: [] for what in calls}
    command = [sys.executable, "-m", "benchmarks.attacks", "--attack", name, json.dumps(ports), attacker]
    for _ in range(ROUNDS):
        for what, one in calls.items():
            quiet[what].append(median(one))
        attackers = subprocess.Popen(command)
        try:
            time.sleep(2)
            for what, one in calls.items():
                attacked[what].append(median(one))
        finally:
            attackers.kill()
            attackers.wait()
        time.sleep(1)
    rows: list[dict[str, Any]] = []
    for what in calls:
        ratio = statistics.median(one / other for one, other in zip(attacked[what], quiet[what], strict=True))
        times = f"{statistics.median(attacked[what]) * 1000:.1f} ÷ {statistics.median(quiet[what]) * 1000:.1f} ms"
        goal = {"goal": "≤ 2"} if name == "slow_bodies" else {}
        rows.append({"what": f"{name.replace('_', ' ')}: {what}", "ratio": ratio, "measured": times, **goal})
    return rows


if __name__ == "__main__":
    if sys.argv[1:2] == ["--attack"]:
        ATTACKS[sys.argv[2]](json.loads(sys.argv[3]), sys.argv[4])
        threading.Event().wait()
    main(Path(sys.argv[1]) if sys.argv[1:] else Path(__file__).resolve().parent.parent)
