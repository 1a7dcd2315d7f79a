"""Steering background work is a write like any other: allowed, reasoned, on the chain."""

from __future__ import annotations

import uuid
from typing import Any

from accounts.verbs import Change, RunningCall, verb
from fluxcore.errors import NotFound
from fluxcore.models import Job
from fluxcore.work import jobs


@verb("jobs.run", needs="jobs.manage")
def run_job(call: RunningCall, *, job: str) -> Change:
    """Give a parked job five new tries."""

    number = _reachable(call, job)

    def change() -> dict[str, Any]:
        jobs.requeue(number)
        call.record(f"job:{job}")
        return {"job": job, "state": "queued"}

    return change


@verb("jobs.park", needs="jobs.manage")
def park_job(call: RunningCall, *, job: str) -> Change:
    """Take a waiting job out of the queue."""

    number = _reachable(call, job)

    def change() -> dict[str, Any]:
        jobs.park(number, reason=call.reason)
        call.record(f"job:{job}")
        return {"job": job, "state": "parked"}

    return change


def _reachable(call: RunningCall, job: str) -> uuid.UUID:
    """A job of another space, or of the instance, is answered like one that is not there."""
    number = jobs.parse_uuid(job)
    if call.principal.space is not None and not Job.objects.filter(uuid=number, space=call.principal.space).exists():
        raise NotFound("There is no job with this id.", job=job)
    return number
