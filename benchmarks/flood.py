"""What one agent's flood of recalls costs an agent of another space: latency in the flood ÷ quiet latency, in one run.

`python -m benchmarks.flood [FOLDER]`: FOLDER is the checkout whose server is measured, by default this one. Forty
threads of one agent, in a process of their own, send the worst query (16 KB, k=100, explain) as fast as they are
answered. Meanwhile an agent of another space recalls, stores and asks /me over one connection.
"""

from __future__ import annotations

import http.client
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

THREADS = 40
GRAINS = 1_000  # in each of the two spaces
# Quiet and flooded stretches take turns, so that what else runs on the machine weighs on both.
ROUNDS, REQUESTS, WARM = 4, 15, 20
SETTLED_SECONDS = 4.0
GOALS = {"recall": "≤ 4", "store": "≤ 4", "/me": "≤ 6"}
_WORDS = [f"{first}{second}" for first in ("river", "mill", "stone", "cart", "bread") for second in "abcdefghij"]


class Server:
    """An instance started from a checkout in a throw-away home, with an agent in each of two spaces."""

    def __init__(self, folder: Path, home: str) -> None:
        self.folder = folder
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("FLUX_", "DJANGO_"))},
            "FLUX_HOME": home,
            "FLUX_NAME": "flood",
            "FLUX_ENCODER": "hashed",
            "FLUX_LOG_LEVEL": "WARNING",
        }
        Path(home, "flood").mkdir(mode=0o700)
        Path(home, "flood", "config.yaml").write_text("MAX_GRAINS_PER_MINUTE: 1000000\n")
        ready = Path(home, "ready.json")
        self.process = subprocess.Popen(
            [
                sys.executable,
                "manage.py",
                "flux_start",
                "--ready-file",
                str(ready),
                "--rest-port",
                "0",
                "--people-port",
                "0",
                "--mcp-port",
                "0",
            ],
            cwd=folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=sys.stderr,
        )
        while not ready.exists():
            if self.process.poll() is not None:
                raise RuntimeError("the instance did not start")
            time.sleep(0.1)
        self.port = int(json.loads(ready.read_text())["ports"]["rest"])

    def agent(self, space: str) -> str:
        """A new agent in a new space; its token."""
        wants = [part for one in ("grains.read", "grains.write") for part in ("--capability", one)]
        self._run("flux_space", "create", space)
        self._run("flux_agent", "create", "caller", "--space", space, *wants)
        minted = self._run("flux_token", "mint", "caller", "--space", space, "--json")
        return str(json.loads(minted)["token"])

    def _run(self, *words: str) -> str:
        done = subprocess.run(
            [sys.executable, "manage.py", *words],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout

    def stop(self) -> None:
        self.process.send_signal(signal.SIGINT)
        self.process.wait(timeout=30)


class Caller:
    """One connection of one agent."""

    def __init__(self, port: int, token: str) -> None:
        self.line = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        self.headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}

    def call(self, method: str, path: str, body: Any = None, *, prefix: str = "/api/v1") -> int:
        raw = json.dumps(body).encode() if body is not None else None
        try:
            self.line.request(method, f"{prefix}{path}", body=raw, headers=self.headers)
            answer = self.line.getresponse()
            answer.read()
        except (OSError, http.client.HTTPException):
            self.line.close()
            return 0
        return answer.status


def fill(caller: Caller, name: str) -> None:
    near = [(_WORDS[number % 50], _WORDS[number * 7 % 50], _WORDS[number * 3 % 50]) for number in range(GRAINS)]
    said = [f"{name} {number}: {a} was seen near {b} with {c}." for number, (a, b, c) in enumerate(near)]
    for begin in range(0, GRAINS, 100):
        assert caller.call("POST", "/store/batch", {"items": [{"content": one} for one in said[begin : begin + 100]]})


def worst(size: int = 16_000) -> dict[str, Any]:
    """The costliest query the server takes: every word of the memory, again and again, with every result explained."""
    text = " ".join(f"{word} Anna{number} {number}" for number, word in enumerate(_WORDS * 40))
    return {"query": text[:size], "k": 100, "explain": True}


def flood(port: int, token: str) -> None:
    """Until it is ended: forty threads, each with a request under way at any time. Prints its counts by status."""
    body, counts, over = worst(), dict[int, int](), threading.Event()
    lock = threading.Lock()

    def send() -> None:
        caller = Caller(port, token)
        while not over.is_set():
            status = caller.call("POST", "/retrieve", body)
            with lock:
                counts[status] = counts.get(status, 0) + 1

    threads = [threading.Thread(target=send, daemon=True) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    sys.stdin.readline()
    over.set()
    with lock:
        print(json.dumps(counts), flush=True)
    os._exit(0)


@contextmanager
def flooding(port: int, token: str, answered: Counter[str]) -> Iterator[None]:
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.flood", "--flood", str(port), token],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).resolve().parent.parent,
    )
    time.sleep(SETTLED_SECONDS)
    try:
        yield
    finally:
        said, _ = process.communicate("\n", timeout=60)
        answered.update(json.loads(said))


def latencies(caller: Caller, found: dict[str, list[float]], mark: str, count: int = REQUESTS) -> int:
    """Add the seconds of each request by kind, the kinds in turns; how many were refused."""
    refused = 0
    for number in range(count):
        requests = {
            "recall": ("POST", "/retrieve", {"query": f"What was seen near {_WORDS[number % 50]}?"}),
            "store": ("POST", "/store", {"content": f"{mark} {number} went to {_WORDS[number % 50]}."}),
            "/me": ("GET", "/me", None),
        }
        for kind, request in requests.items():
            began = time.perf_counter()
            refused += caller.call(*request) != 200
            found[kind].append(time.perf_counter() - began)
    return refused


def measure(folder: Path) -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory(prefix="flux-flood-") as home:
        server = Server(folder, home)
        try:
            attacker, bystander = server.agent("attacker"), server.agent("bystander")
            caller = Caller(server.port, bystander)
            fill(Caller(server.port, attacker), "first")
            fill(caller, "second")
            latencies(caller, {kind: [] for kind in GOALS}, "warm", WARM)
            Caller(server.port, attacker).call("POST", "/retrieve", worst())
            quiet: dict[str, list[float]] = {kind: [] for kind in GOALS}
            flooded: dict[str, list[float]] = {kind: [] for kind in GOALS}
            refused, answered = 0, Counter[str]()
            for number in range(ROUNDS):
                time.sleep(SETTLED_SECONDS)
                latencies(caller, quiet, f"quiet {number}")
                with flooding(server.port, attacker, answered):
                    refused += latencies(caller, flooded, f"flooded {number}")
        finally:
            server.stop()
    rows = []
    for kind, goal in GOALS.items():
        calm, busy = statistics.median(quiet[kind]), statistics.median(flooded[kind])
        high = statistics.quantiles(flooded[kind], n=20)[-1]
        rows.append(
            {
                "what": f"{kind} of another space in one agent's flood of recalls ÷ quiet",
                "ratio": busy / calm,
                "goal": goal,
                "measured": f"{busy * 1000:.1f} ms (p95 {high * 1000:.0f}) ÷ {calm * 1000:.1f} ms",
            }
        )
    rows.append(
        {
            "what": "requests of the other space that were refused",
            "ratio": float(refused),
            "goal": "≤ 0",
            "measured": f"the flood was answered {dict(answered)}",
        }
    )
    return rows


if __name__ == "__main__":
    if sys.argv[1:2] == ["--flood"]:
        flood(int(sys.argv[2]), sys.argv[3])
    else:
        checkout = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent
        sys.stdout.write(json.dumps(measure(checkout)) + "\n")
