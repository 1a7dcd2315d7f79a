"""Whole instances for tests: real processes on free ports, started as an operator would."""

from __future__ import annotations

import fcntl
import hashlib
import http.client
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests import forked_commands

ROOT = Path(__file__).resolve().parent.parent
_ONE_BY_ONE = """
import contextlib, io, json
from django.core.management import call_command
said = []
for words in {lines!r}:
    with contextlib.redirect_stdout(io.StringIO()) as out:
        try:
            call_command(*words)
        except SystemExit as end:
            assert end.code, words
    said.append(out.getvalue())
print(json.dumps(said))
"""


@contextmanager
def one_at_a_time(what: str) -> Iterator[Path]:
    """The folder of this run, with nobody else of it doing the same."""
    home = Path(os.environ["FLUX_TESTS_HOME"])
    with (home / f"{what}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield home


def tables() -> Path:
    """A SQLite file with every table. It is made once for the models and migrations there are, and kept for later runs:
    migrations take longer than most tests."""
    with one_at_a_time("tables") as home:
        made = home / "tables.db"
        if not made.exists():
            kept = kept_tables("db")
            if kept.exists():
                shutil.copyfile(kept, made)
                return made
            one = Instance(home, "tables")
            one.folder.mkdir(exist_ok=True)
            one.command("migrate", "--verbosity", "0")
            (one.folder / "flux.db").rename(made)
            keep(made, kept)
        return made


def kept_tables(kind: str) -> Path:
    """Where the tables of these models and migrations are kept from one run to the next."""
    return ROOT / ".pytest_cache" / f"tables-{_models()}.{kind}"


def _models() -> str:
    """Changes with whatever decides what is in an empty database."""
    ours = [path for room in ("accounts", "fluxcore", "memory") for path in (ROOT / room).rglob("*.py")]
    models = [path for path in ours if {"migrations", "models", "models.py", "apps.py"} & set(path.parts)]
    digest = hashlib.sha256()
    for path in (ROOT / "constraints.txt", ROOT / "fluxsite" / "settings.py", *sorted(models)):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def keep(made: Path, kept: Path) -> None:
    try:
        kept.parent.mkdir(exist_ok=True)
        for old in kept.parent.glob(f"tables-*{kept.suffix}"):
            old.unlink()
        part = kept.with_suffix(f".{os.getpid()}")
        shutil.copyfile(made, part)
        part.replace(kept)
    except OSError:
        pass  # where nothing may be written, the next run migrates again


class Answer:
    def __init__(self, status: int, headers: dict[str, str], body: bytes) -> None:
        self.status, self.headers, self.body = status, headers, body

    def json(self) -> Any:
        return json.loads(self.body)


class Instance:
    """An instance named `name` below `home`, driven through its doors and commands."""

    def __init__(self, home: Path, name: str = "test", **environment: str) -> None:
        self.home, self.name = home, name
        self.environment = {
            **{key: value for key, value in os.environ.items() if not key.startswith(("FLUX_", "DJANGO_"))},
            "FLUX_HOME": str(home),
            "FLUX_NAME": name,
            # Those with weights cost a second of every start and have tests of their own.
            "FLUX_ENCODER": "hashed",
            **environment,
        }
        for key in ("DATABASE_URL", "REDIS_URL"):
            if key not in environment:
                self.environment.pop(key, None)
        self.token = ""
        self.state: dict[str, Any] = {}
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def folder(self) -> Path:
        return self.home / self.name

    def command(self, *arguments: str, check: bool = True, **options: Any) -> subprocess.CompletedProcess[str]:
        """Run `manage.py ...` for this instance."""
        words = [str(ROOT / "manage.py"), *arguments]
        if sys.executable != forked_commands.PYTHON or "PYTHONPATH" in self.environment or options:
            done = subprocess.run(
                [sys.executable, *words],
                env=self.environment,
                capture_output=True,
                text=True,
                timeout=120,
                cwd=ROOT,
                **options,
            )
        else:
            done = forked_commands.run(words, self.environment, ROOT, seconds=120)
        if check and done.returncode != 0:
            raise AssertionError(f"{arguments} ended with {done.returncode}\n{done.stdout}\n{done.stderr}")
        return done

    def commands(self, *lines: str) -> list[str]:
        """Run these commands in one process, whose start would cost more than they do; what each printed."""
        done = self.command("shell", "-v", "0", "-c", _ONE_BY_ONE.format(lines=[line.split() for line in lines]))
        return list(json.loads(done.stdout.strip().splitlines()[-1]))

    def with_tables(self) -> Instance:
        """Lay a database without a row into its folder: migrations are half of a first start."""
        if "DATABASE_URL" not in self.environment and not (self.folder / "flux.db").exists():
            self.folder.mkdir(parents=True, mode=0o700, exist_ok=True)
            shutil.copyfile(tables(), self.folder / "flux.db")
            (self.folder / "flux.db").chmod(0o600)
        return self

    def start(self, *arguments: str) -> Instance:
        self.home.mkdir(parents=True, exist_ok=True)
        ready = self.home / f"{self.name}.ready.json"
        ready.unlink(missing_ok=True)
        self.output = self.home / f"{self.name}.out"
        with self.output.open("ab") as output:
            self.process = subprocess.Popen(
                [
                    sys.executable,
                    str(ROOT / "manage.py"),
                    "flux_start",
                    "--ready-file",
                    str(ready),
                    "--rest-port",
                    "0",
                    "--people-port",
                    "0",
                    "--mcp-port",
                    "0",
                    *arguments,
                ],
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=ROOT,
            )
        until = time.monotonic() + 180
        while not ready.exists():
            if self.process.poll() is not None or time.monotonic() > until:
                raise AssertionError(f"the instance did not start:\n{self.output.read_text()}")
            time.sleep(0.05)
        self.state = json.loads(ready.read_text())
        self.token = self.state.get("token") or self.token
        return self

    def pids(self) -> list[int]:
        """Every process of the instance: the supervisor, its children and theirs."""
        assert self.process is not None
        found, waiting = [], [self.process.pid]
        while waiting:
            pid = waiting.pop()
            found.append(pid)
            try:
                for task in Path(f"/proc/{pid}/task").iterdir():
                    waiting.extend(int(child) for child in (task / "children").read_text().split())
            except OSError:
                continue
        return found

    def kill(self) -> None:
        """SIGKILL to everything at once, as a crash of the machine's user session would."""
        for pid in self.pids():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        assert self.process is not None
        self.process.wait()

    def stop(self, seconds: float = 60) -> int:
        """Ctrl-C; the exit status."""
        if self.process is None:
            return 0
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            try:
                self.process.wait(timeout=seconds)
            except subprocess.TimeoutExpired:
                self.kill()
                raise
        return self.process.returncode

    def connection(self, door: str = "rest", timeout: float = 30) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.state["ports"][door], timeout=timeout)

    def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        token: str | None = None,
        door: str = "rest",
        line: http.client.HTTPConnection | None = None,
        headers: dict[str, str] | None = None,
    ) -> Answer:
        """One request; pass `line` to reuse a persistent connection."""
        own = line or self.connection(door)
        raw = body if isinstance(body, bytes) else json.dumps(body).encode() if body is not None else None
        send = {"Authorization": f"Bearer {token or self.token}", **(headers or {})}
        if raw is not None:
            send.setdefault("Content-Type", "application/json")
        try:
            own.request(method, path, body=raw, headers=send)
            response = own.getresponse()
            return Answer(response.status, {k.lower(): v for k, v in response.getheaders()}, response.read())
        finally:
            if line is None:
                own.close()
