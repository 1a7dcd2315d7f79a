"""What the worker does for exact memory: the minute's look at the clock and at what has expired."""

from __future__ import annotations

from fluxcore import jobs

SWEEP, BURY = "keyvalue.sweep", "keyvalue.bury"
SWEEP_SECONDS, BURY_SECONDS = 60.0, 86_400.0


def ask_to_sweep() -> None:
    jobs.enqueue(SWEEP, once_key="all")


def ask_to_bury() -> None:
    jobs.enqueue(BURY, once_key="all")


@jobs.handler(SWEEP)
def sweep(run: jobs.Run) -> jobs.Apply | None:
    from memory.keyvalue import sweeping

    return sweeping.sweep(run)


@jobs.handler(BURY)
def bury(run: jobs.Run) -> None:
    from memory.keyvalue import sweeping

    sweeping.bury(run)
