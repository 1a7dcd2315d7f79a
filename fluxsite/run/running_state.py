"""State of a running instance: a JSON file in the data home, valid only while its process lives; and its lock."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from fluxcore import files
from fluxcore.command_names import typed_command
from fluxcore.errors import Forbidden, StopTheInstance
from fluxsite.home import DataHome

try:
    import fcntl
except ImportError:  # Windows has no file locks here, only the state file
    fcntl = None  # type: ignore[assignment]


def lock_file(home: DataHome) -> Path:
    return home.path.parent / f".{home.name}.lock"


@contextmanager
def hold_instance(home: DataHome) -> Iterator[None]:
    """Hold the lock under which an instance is started, reset or restored. It is released when the process ends."""
    if is_running(home):
        raise StopTheInstance(f"The instance is running. Stop it first: {typed_command('flux_stop')}.")
    home.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    # Beside the data home, not in it: a restore replaces that folder.
    with lock_file(home).open("a") as file:
        if fcntl is not None:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise StopTheInstance(
                    "The instance is being started, reset or restored. Try again in a moment."
                ) from None
        yield


@contextmanager
def wait_and_hold_instance(home: DataHome, *, seconds: float = 60) -> Iterator[None]:
    """Like `hold_instance`, but waits for the present holder. If the instance runs, it enters without the lock."""
    until = time.monotonic() + seconds
    with ExitStack() as held:
        while not is_running(home):
            try:
                held.enter_context(hold_instance(home))
                break
            except StopTheInstance:
                if time.monotonic() > until:
                    raise
            time.sleep(0.1)
        yield


def write_state(home: DataHome, state: dict[str, Any]) -> None:
    files.replace_file(home.run / "running.json", json.dumps(state))


def delete_state(home: DataHome) -> None:
    (home.run / "running.json").unlink(missing_ok=True)


def read_state(home: DataHome) -> dict[str, Any] | None:
    """State written by `flux_start`; None if its process has ended."""
    try:
        found: dict[str, Any] = json.loads((home.run / "running.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found if is_process_alive(int(found.get("pid", 0)), found.get("born")) else None


def is_running(home: DataHome) -> bool:
    return read_state(home) is not None


def process_start_time(pid: int) -> str | None:
    """Start time of a process from /proc, which tells a process from another one with the same pid."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:  # noqa: PTH123
            return file.read().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return None


def is_process_alive(pid: int, born: str | None) -> bool:
    if pid <= 0:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass  # it runs under another user
    return born is None or process_start_time(pid) in (born, None)


def stop_instance(home: DataHome, *, seconds: float) -> bool:
    """Send SIGTERM to the supervisor and wait; False if it still runs afterwards."""
    found = read_state(home)
    if found is None:
        return True
    try:
        os.kill(int(found["pid"]), signal.SIGTERM)
    except ProcessLookupError:
        return True  # it has just ended
    except PermissionError:
        raise Forbidden(f"The instance belongs to another user (process {found['pid']}).") from None
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if read_state(home) is None:
            return True
        time.sleep(0.05)
    return False
