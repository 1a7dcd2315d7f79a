"""Time of `make test` in another checkout and in this one, in one sitting: `python -m benchmarks.suite_time OLD`.

Both run one after the other, the older first, each with its own environment, which is built before anything is timed.
Core-seconds are those of the whole machine, from /proc/stat, so nothing else may run on it. `--shares` lists the rooms
of this checkout by the processor time of their processes and of all these start; it needs root and cgroup v1.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent.parent
GROUPS = Path("/sys/fs/cgroup/cpuacct")


class Spent(NamedTuple):
    """What a run took."""

    seconds: float
    core_seconds: float


def busy() -> float:
    """Core-seconds this machine has worked since it was started."""
    user, nice, system, _, _, irq, softirq = map(int, Path("/proc/stat").read_text().split()[1:8])
    return (user + nice + system + irq + softirq) / os.sysconf("SC_CLK_TCK")


def run_tests(checkout: Path) -> Spent:
    subprocess.run(["make", "-C", str(checkout), ".venv/.dev"], check=True, stdout=subprocess.DEVNULL)
    began, worked = time.monotonic(), busy()
    ended = subprocess.run(["make", "-C", str(checkout), "test"], stdin=subprocess.DEVNULL)
    spent = Spent(time.monotonic() - began, busy() - worked)
    said = "passed" if ended.returncode == 0 else "FAILED"
    print(f"{checkout}: {said} in {spent.seconds:.0f} s, {spent.core_seconds:.0f} core-seconds", flush=True)
    return spent


def share(room: str) -> float:
    """Core-seconds of one room, alone."""
    group = GROUPS / f"flux-tests-{room}"
    group.mkdir(exist_ok=True)
    (group / "cpuacct.usage").write_text("0")

    def enter() -> None:
        (group / "cgroup.procs").write_text(str(os.getpid()))

    target = room if room in ("postgres", "short", "types") else f"room-{room}"
    subprocess.run(["make", "-C", str(HERE), target], stdout=subprocess.DEVNULL, preexec_fn=enter)
    return int((group / "cpuacct.usage").read_text()) / 1e9


def rooms() -> list[str]:
    planned = subprocess.run(["make", "-n", "test"], cwd=HERE, capture_output=True, text=True, check=True).stdout
    found = [line.partition("FLUX_TESTS_ROOM=")[2].split()[0] for line in planned.splitlines() if "_ROOM=" in line]
    return [*found, "types"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", nargs="?", type=Path, help="folder of a checkout to compare with")
    parser.add_argument("--shares", action="store_true", help="list the rooms of this checkout")
    given = parser.parse_args()
    if given.shares:
        for seconds, room in sorted(((share(room), room) for room in rooms()), reverse=True):
            print(f"{seconds:8.1f}  {room}", flush=True)
    if given.old is not None:
        old, new = run_tests(given.old.resolve()), run_tests(HERE)
        print(f"ratio: {new.seconds / old.seconds:.2f}, core-seconds {new.core_seconds / old.core_seconds:.2f}")


if __name__ == "__main__":
    sys.exit(main())
