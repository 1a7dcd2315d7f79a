"""Steering background work is a write like any other: allowed, reasoned, on the chain."""

from __future__ import annotations

import uuid
from typing import Any

from accounts.verbs import Act, Change, verb
from fluxcore import jobs


@verb("jobs.run", needs="jobs.manage")
def run_job(act: Act, *, job: str) -> Change:
    """Give a parked job five new tries."""

    def change() -> dict[str, Any]:
        jobs.requeue(uuid.UUID(job))
        act.record(f"job:{job}")
        return {"job": job, "state": "queued"}

    return change


@verb("jobs.park", needs="jobs.manage")
def park_job(act: Act, *, job: str) -> Change:
    """Take a waiting job out of the queue."""

    def change() -> dict[str, Any]:
        jobs.park(uuid.UUID(job), reason=act.reason)
        act.record(f"job:{job}")
        return {"job": job, "state": "parked"}

    return change
