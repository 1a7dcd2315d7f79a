"""A data home with job workers and no doors, for what happens when workers die."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

from fluxsite.home import DataHome, make_home
from tests.concurrency.databases import connect
from tests.instances import ROOT, Instance


class WorkerPool:
    def __init__(self, home: Path, *options: str, **environment: str) -> None:
        self.instance = Instance(home, "workshop", **environment).with_tables()
        make_home(DataHome("workshop", self.instance.folder))
        self.options = options
        self.workers: list[subprocess.Popen[bytes]] = []

    def _start(self, *arguments: str) -> subprocess.Popen[bytes]:
        with (self.instance.folder / "worker.out").open("ab") as output:
            return subprocess.Popen(
                [sys.executable, "-m", "tests.concurrency.job_worker", *arguments],
                env=self.instance.environment,
                cwd=ROOT,
                start_new_session=True,
                stdout=output,
                stderr=subprocess.STDOUT,
            )

    def hire(self, *queues: str) -> subprocess.Popen[bytes]:
        self.workers.append(self._start("work", *queues, *self.options))
        return self.workers[-1]

    def celery(self, *arguments: str) -> str:
        """What Celery's own command line says of the workers."""
        done = subprocess.run(
            [sys.executable, "-m", "celery", "-A", "fluxsite.celery", *arguments],
            env=self.instance.environment,
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=60,
        )
        return done.stdout

    def kill(self, worker: subprocess.Popen[bytes]) -> None:
        """SIGKILL, also to the beat that Celery runs as a child: it would live on."""
        os.killpg(worker.pid, signal.SIGKILL)
        worker.wait()
        self.workers.remove(worker)

    def add(self, **kinds: int) -> None:
        """Add jobs of the kinds `test.<name>`."""
        assert self._start("add", *(f"test.{kind}={count}" for kind, count in kinds.items())).wait() == 0

    def query(self, sql: str) -> list[tuple[Any, ...]]:
        with closing(connect(self.instance)) as line:
            return list(line.execute(sql).fetchall())

    def effects(self) -> Counter[str]:
        return Counter(
            subject for (subject,) in self.query("SELECT subject FROM fluxcore_event WHERE kind = 'test.effect'")
        )

    def states(self) -> Counter[tuple[str, str, int]]:
        """The tests' own jobs by kind, state and, once parked, tries; what comes round is left out."""
        rows = self.query("SELECT kind, state, attempts FROM fluxcore_job WHERE kind LIKE 'test.%'")
        return Counter((kind, state, tries if state == "parked" else 0) for kind, state, tries in rows)

    def wait_until_finished(self, *, seconds: float) -> float:
        """Wait until no job is queued or running; the seconds it took."""
        began = time.monotonic()
        while any(state in ("queued", "running") for _, state, _ in self.states()):
            assert time.monotonic() < began + seconds, f"not finished in {seconds:.0f} s: {self.states()}"
            time.sleep(0.1)
        return time.monotonic() - began

    def close(self) -> None:
        for worker in list(self.workers):
            self.kill(worker)
