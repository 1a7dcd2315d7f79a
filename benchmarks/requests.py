"""Server CPU of a GET /grains/{id} and a POST /store against a constant view on the same server."""

from __future__ import annotations

import http.client
import json
import statistics
import subprocess
import sys
import time
from itertools import count
from pathlib import Path
from typing import Any

from benchmarks.home import prepare

ROUNDS, REQUESTS = 9, 300


def cpu_nanoseconds(pid: int) -> int:
    """CPU time of all threads of a process, as the scheduler counts it."""
    return sum(int((task / "schedstat").read_text().split()[0]) for task in Path(f"/proc/{pid}/task").iterdir())


class Server:
    def __init__(self, token: str) -> None:
        from tests.servers import free_port

        self.token, self.port = token, free_port()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.server", str(self.port)], stdin=subprocess.DEVNULL, stdout=sys.stderr
        )
        self.line = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            self._wait_until_ready()
        except BaseException:
            self.stop()
            raise
        pid = self.process.pid
        self.worker = int(Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0])

    def _wait_until_ready(self) -> None:
        until = time.monotonic() + 60
        while True:
            try:
                self.call("GET", "/plain")
            except (OSError, http.client.HTTPException):
                self.line.close()
                if time.monotonic() > until or self.process.poll() is not None:
                    raise
                time.sleep(0.1)
            else:
                return

    def call(self, method: str, path: str, body: Any = None) -> Any:
        raw = json.dumps(body).encode() if body is not None else None
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        self.line.request(method, path, body=raw, headers=headers)
        response = self.line.getresponse()
        answer = response.read()
        if response.status != 200:
            raise RuntimeError(f"{method} {path}: {response.status} {answer!r}")
        return json.loads(answer)

    def microseconds(self, method: str, path: str, body: Any = None) -> float:
        """CPU per request over one round; `body` makes a new one each time."""
        before = cpu_nanoseconds(self.worker)
        for _ in range(REQUESTS):
            self.call(method, path, body() if body else None)
        return (cpu_nanoseconds(self.worker) - before) / REQUESTS / 1000

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(timeout=20)


def statements(token: str) -> dict[str, int]:
    """SQL statements of a warm request, without BEGIN and COMMIT."""
    from django.conf import settings
    from django.db import connection
    from django.test import Client
    from django.test.utils import CaptureQueriesContext

    settings.BOOTH = "inline"
    client, headers = Client(), {"Authorization": f"Bearer {token}", "Host": "localhost"}

    def send(method: str, path: str, body: Any = None) -> tuple[Any, int]:
        raw = json.dumps(body).encode() if body is not None else b""
        with CaptureQueriesContext(connection) as captured:
            answer = client.generic(method, path, raw, "application/json", headers=headers)
        sent = [query["sql"] for query in captured if query["sql"].split()[0] not in ("BEGIN", "COMMIT")]
        return answer.json(), len(sent)

    stored, _ = send("POST", "/store", {"content": "warm"})
    return {
        "GET": send("GET", f"/grains/{stored['grain_id']}")[1],
        "POST": send("POST", "/store", {"content": "counted"})[1],
    }


def main() -> None:
    token = prepare(door="rest")
    counts = statements(token)
    from django.db import connection

    connection.close()
    server, numbers = Server(token), count()
    try:
        grain = server.call("POST", "/store", {"content": "The launch is on Friday"})["grain_id"]
        calls: dict[str, tuple[Any, ...]] = {
            "plain": ("GET", "/plain"),
            "GET": ("GET", f"/grains/{grain}"),
            "POST": ("POST", "/store", lambda: {"content": f"benchmark {next(numbers)}"}),
        }
        spent: dict[str, list[float]] = {name: [] for name in calls}
        for number in range(ROUNDS + 1):
            for name, call in calls.items():
                one = server.microseconds(*call)
                if number:  # the first round warms up
                    spent[name].append(one)
    finally:
        server.stop()
    plain = statistics.median(spent["plain"])
    rows = []
    for name, what in (("GET", "GET /grains/{id}"), ("POST", "POST /store")):
        ratio = statistics.median(ours / theirs for ours, theirs in zip(spent[name], spent["plain"], strict=True))
        measured = f"{statistics.median(spent[name]):.0f} ÷ {plain:.0f} µs CPU, {counts[name]} SQL statements"
        rows.append({"what": f"{what} ÷ constant view", "ratio": ratio, "measured": measured, "rounds": spent[name]})
    print(json.dumps(rows))


if __name__ == "__main__":
    main()
