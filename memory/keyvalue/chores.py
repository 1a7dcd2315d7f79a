"""What the worker does for exact memory: the minute's look at the clock and at what has expired."""

from __future__ import annotations

from datetime import timedelta

from fluxcore import clock, jobs

SWEEP, BURY, SCRUB = "keyvalue.sweep", "keyvalue.bury", "keyvalue.scrub"
SWEEP_SECONDS, BURY_SECONDS = 60.0, 86_400.0
# A scrub rewrites the database file while writers wait, so agents cannot have one more often than this.
SCRUB_WAIT = timedelta(minutes=10)


def ask_to_sweep() -> None:
    jobs.enqueue(SWEEP, once_key="all")


def ask_to_bury() -> None:
    jobs.enqueue(BURY, once_key="all")


def ask_to_scrub(*, at_once: bool) -> None:
    if at_once:
        jobs.enqueue(SCRUB, once_key="now")
    else:
        jobs.enqueue(SCRUB, once_key="later", due_at=clock.now() + SCRUB_WAIT)


@jobs.handler(SWEEP)
def sweep(run: jobs.Run) -> jobs.Apply | None:
    from memory.keyvalue import expiry

    return expiry.sweep(run)


@jobs.handler(BURY)
def bury(run: jobs.Run) -> None:
    from memory.keyvalue import expiry

    expiry.bury(run)


@jobs.handler(SCRUB)
def scrub(run: jobs.Run) -> None:
    from memory.keyvalue import purging

    purging.scrub(run)
