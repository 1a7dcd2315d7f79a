"""The instance `my-memory` of flux-memory's README, made and started by its commands, and programs run as users do."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.instances import ROOT, Instance

PROGRAMS = Path(__file__).parent / "programs"
# Keys of the README's table, in the file it names; ports of this run's own.
CONFIG = """\
OPERATING_MODE: caller_extracts
REST_HOST: 127.0.0.1
REST_PORT: 0
DASHBOARD_HOST: 127.0.0.1
DASHBOARD_PORT: 0
MCP_HOST: 127.0.0.1
MCP_PORT: 0
READ_WORKERS: 3
MAX_GRAINS_PER_CALL: 100
MAX_GRAINS_PER_MINUTE: 6
MAX_WRITE_QUEUE_DEPTH: 1000
LLM_MODEL: llama3.1:8b
"""


class Shell:
    """A terminal in a home folder, in which ~/.flux/my-memory is the instance."""

    server: dict[str, str]  # where a client finds it and what it shows there, once it runs

    def __init__(self, home: Path) -> None:
        self.home, self.instance = home, Instance(home / ".flux", "my-memory").with_tables()
        kept = {
            name: value for name, value in self.instance.environment.items() if name not in ("FLUX_HOME", "FLUX_NAME")
        }
        self.environment = {**kept, "HOME": str(home), "PYTHONPATH": str(ROOT)}

    @property
    def folder(self) -> Path:
        return self.instance.folder

    def run(self, *words: str, check: bool = True, **more: str) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [sys.executable, *words],
            env={**self.environment, **more},
            cwd=self.home,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert not check or done.returncode == 0, done.stderr
        return done

    def flux(self, *words: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        return self.run("-m", "flux", *words, "--name", "my-memory", check=check)

    def program(self, name: str, **more: str) -> Any:
        """Output of a program; `more` is added to its environment."""
        return json.loads(self.run(str(PROGRAMS / name), **more).stdout.splitlines()[-1])


@pytest.fixture(scope="package")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    """`flux init`, `flux start`, and at the end `flux stop`, as the README has them."""
    shell = Shell(tmp_path_factory.mktemp("seed"))
    shell.flux("init", "--no-input", "--token-file", str(shell.home / "token"))
    (shell.folder / "config.yaml").write_text(CONFIG)
    ready = shell.home / "ready.json"
    with (shell.home / "out").open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "flux", "start", "--name", "my-memory", "--ready-file", str(ready)],
            env=shell.environment,
            cwd=shell.home,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        until = time.monotonic() + 90
        while not ready.exists():
            assert process.poll() is None and time.monotonic() < until, (shell.home / "out").read_text()
            time.sleep(0.05)
        shell.server = {
            "FLUX_URL": json.loads(ready.read_text())["urls"]["rest"],
            "FLUX_TOKEN": (shell.home / "token").read_text().strip(),
        }
        yield shell
        shell.flux("stop")
        assert process.wait(30) == 0
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
