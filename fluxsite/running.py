"""Which processes of an instance run now: one JSON file in the data home, trusted only if its process lives."""

from __future__ import annotations

import json
import os
import signal
import time
from typing import Any

from fluxsite.home import Home, private_file


def note(home: Home, state: dict[str, Any]) -> None:
    private_file(home.run / "running.json", json.dumps(state))


def forget(home: Home) -> None:
    (home.run / "running.json").unlink(missing_ok=True)


def state(home: Home) -> dict[str, Any] | None:
    """What `flux_start` noted, if that process still lives."""
    try:
        found: dict[str, Any] = json.loads((home.run / "running.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found if alive(int(found.get("pid", 0)), found.get("born")) else None


def is_running(home: Home) -> bool:
    return state(home) is not None


def birth(pid: int) -> str | None:
    """When a process began, as Linux counts it: a reused pid does not pass for the old process."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:  # noqa: PTH123
            return file.read().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return None


def alive(pid: int, born: str | None) -> bool:
    if pid <= 0:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass  # it lives, under another user
    return born is None or birth(pid) in (born, None)


def stop(home: Home, *, seconds: float) -> bool:
    """Ask the supervisor to drain and end; False if it is still there afterwards."""
    found = state(home)
    if found is None:
        return True
    os.kill(int(found["pid"]), signal.SIGTERM)
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if state(home) is None:
            return True
        time.sleep(0.05)
    return False
