"""No acknowledged write is lost when every process of an instance is killed at once, again and again."""

from __future__ import annotations

import hashlib
import http.client
import json
import os
import random
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.concurrency.conftest import write_limit
from tests.concurrency.databases import connect, new_database
from tests.instances import Instance

pytestmark = pytest.mark.torture

WRITERS = 8
READY_SECONDS = 10


class Writers:
    """Eight clients that store texts and remember what was acknowledged."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self.acknowledged: dict[str, str] = {}  # grain id -> SHA-256 of its text
        self.sent: set[str] = set()
        self.outcomes: dict[str, int] = {}
        self._lock = threading.Lock()

    def run(self, cycle: int, stop: threading.Event) -> list[threading.Thread]:
        threads = [threading.Thread(target=self._write, args=(cycle, number, stop)) for number in range(WRITERS)]
        for thread in threads:
            thread.start()
        return threads

    def _write(self, cycle: int, number: int, stop: threading.Event) -> None:
        line, turn = self.instance.connection(timeout=40), 0
        while not stop.is_set():
            turn += 1
            text = f"cycle {cycle} writer {number} turn {turn} " + "x" * (turn * 37 % 500)
            with self._lock:
                self.sent.add(hashlib.sha256(text.encode()).hexdigest())
            try:
                answer = self.instance.call("POST", "/store", {"content": text}, line=line)
            except (OSError, http.client.HTTPException):
                self._count("broken")
                line.close()
                stop.wait(0.05)
                continue
            self._count(str(answer.status))
            if answer.status == 200:
                with self._lock:
                    self.acknowledged[answer.json()["grain_id"]] = hashlib.sha256(text.encode()).hexdigest()
            else:
                stop.wait(0.05)
        line.close()

    def seconds_until_accepted(self, began: float) -> float:
        """How long after `began` one of the writers is answered 200 again."""
        before, until = self.outcomes.get("200", 0), time.monotonic() + 60
        while self.outcomes.get("200", 0) <= before:
            assert time.monotonic() < until, f"no write was taken within a minute: {self.outcomes}"
            time.sleep(0.02)
        return time.monotonic() - began

    def _count(self, outcome: str) -> None:
        with self._lock:
            self.outcomes[outcome] = self.outcomes.get(outcome, 0) + 1

    def check(self) -> int:
        """Every acknowledged text is there unchanged, nothing is there that nobody sent; the rows found."""
        with closing(connect(self.instance)) as line:
            rows = line.execute("SELECT uuid, text FROM grains_grain").fetchall()
        found = {str(grain).replace("-", ""): hashlib.sha256(text.encode()).hexdigest() for grain, text in rows}
        lost = [grain for grain in self.acknowledged if grain.replace("-", "") not in found]
        changed = [
            grain for grain, digest in self.acknowledged.items() if found.get(grain.replace("-", ""), digest) != digest
        ]
        assert not lost, f"{len(lost)} of {len(self.acknowledged)} acknowledged grains are gone"
        assert not changed, f"{len(changed)} grains came back changed"
        assert set(found.values()) <= self.sent, "a torn text"
        return len(found)


def sound(instance: Instance) -> int:
    """The audit chains verify; their entries."""
    verdict = json.loads(instance.command("flux_audit", "verify", "--json").stdout)
    assert verdict["sound"], verdict
    return sum(chain["entries"] for chain in verdict["chains"])


class Starts:
    """How long the instance takes until it is ready, by the clock and in CPU time of its own."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self.cpu: list[float] = []

    def start(self, instance: Instance) -> None:
        began = time.monotonic()
        instance.start("--processes", "2")
        self.seconds.append(time.monotonic() - began)
        self.cpu.append(sum(cpu_seconds(pid) for pid in instance.pids()))

    def __str__(self) -> str:
        clock, cpu = statistics.median(self.seconds), statistics.median(self.cpu)
        return (
            f"median {clock:.1f} s, slowest {max(self.seconds):.1f} s, {cpu:.1f} CPU s, load {os.getloadavg()[0]:.1f}"
        )

    def in_time(self) -> bool:
        """By the clock, or on a machine that others keep busy, by what the start itself needs of its cores."""
        cores = len(os.sched_getaffinity(0))
        return min(statistics.median(self.seconds), statistics.median(self.cpu) / cores) <= READY_SECONDS


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def report(what: str, **numbers: Any) -> None:
    print(f"\nTORTURE {what}: " + ", ".join(f"{name} {value}" for name, value in numbers.items()))


@pytest.fixture
def seed() -> int:
    return int(os.environ.get("FLUX_TORTURE_SEED") or random.SystemRandom().randrange(1 << 31))


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Callable[..., Instance]]:
    made: list[Instance] = []

    def one(**environment: str) -> Instance:
        made.append(Instance(tmp_path, "torture", **environment))
        write_limit(made[-1], 1_000_000)
        return made[-1]

    yield one
    for instance in made:
        if instance.process is not None and instance.process.poll() is None:
            instance.kill()


def test_forty_kills_of_everything_lose_nothing(make: Callable[..., Instance], seed: int) -> None:
    kills = int(os.environ.get("FLUX_TORTURE_KILLS") or 40)
    chance, instance = random.Random(seed), make()
    writers, starts = Writers(instance), Starts()
    starts.start(instance)
    for cycle in range(kills):
        stop = threading.Event()
        threads = writers.run(cycle, stop)
        time.sleep(chance.uniform(0.3, 2.0))
        instance.kill()
        stop.set()
        for thread in threads:
            thread.join()
        starts.start(instance)
        writers.check()
        with closing(connect(instance)) as line:
            assert line.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        if cycle % 10 == 9 or cycle == kills - 1:
            entries = sound(instance)
    report(
        "SIGKILL of everything on SQLite",
        kills=kills,
        acknowledged=len(writers.acknowledged),
        lost=0,
        grains=writers.check(),
        audit_entries=entries,
        outcomes=writers.outcomes,
        ready=starts,
        seed=seed,
    )
    assert starts.in_time()


@pytest.mark.postgres
def test_kills_of_flux_and_restarts_of_postgres_lose_nothing(
    make: Callable[..., Instance], seed: int, own_postgres: Any
) -> None:
    chance, instance = random.Random(seed), make(DATABASE_URL=new_database(own_postgres.url))
    writers, starts = Writers(instance), Starts()
    starts.start(instance)
    outages: list[float] = []
    for cycle in range(15):
        stop = threading.Event()
        threads = writers.run(cycle, stop)
        time.sleep(chance.uniform(0.3, 1.5))
        if cycle % 3 == 2:
            began = time.monotonic()
            own_postgres.restart_at_once()
            outages.append(writers.seconds_until_accepted(began))
            stop.set()
        else:
            instance.kill()
            stop.set()
        for thread in threads:
            thread.join()
        if cycle % 3 != 2:
            starts.start(instance)
        writers.check()
    report(
        "SIGKILL of flux and immediate restarts of PostgreSQL",
        kills=10,
        restarts=5,
        acknowledged=len(writers.acknowledged),
        lost=0,
        grains=writers.check(),
        audit_entries=sound(instance),
        outcomes=writers.outcomes,
        write_outage_slowest=f"{max(outages):.1f} s",
        ready=starts,
        seed=seed,
    )
    assert max(outages) <= 30
    assert not {"500"} & set(writers.outcomes)
