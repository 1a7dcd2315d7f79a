"""Verbs on background jobs: run a parked job again, park a queued one."""

from __future__ import annotations

import uuid
from typing import Any

from accounts.verbs import Change, RunningCall, verb
from fluxcore.errors import NotFound
from fluxcore.models import Job
from fluxcore.work import jobs


@verb("jobs.run", needs="jobs.manage")
def run_job(call: RunningCall, *, job: str) -> Change:
    """Queue a parked job again with five new attempts."""

    number = _reachable(call, job)

    def change() -> dict[str, Any]:
        jobs.requeue(number)
        call.record(f"job:{job}")
        return {"job": job, "state": "queued"}

    return change


@verb("jobs.park", needs="jobs.manage")
def park_job(call: RunningCall, *, job: str) -> Change:
    """Park a queued job."""

    number = _reachable(call, job)

    def change() -> dict[str, Any]:
        jobs.park(number, reason=call.reason)
        call.record(f"job:{job}")
        return {"job": job, "state": "parked"}

    return change


def _reachable(call: RunningCall, job: str) -> uuid.UUID:
    """The id of a job the principal may change. Jobs of another space or of the instance are NotFound."""
    number = jobs.parse_uuid(job)
    if call.principal.space is not None and not Job.objects.filter(uuid=number, space=call.principal.space).exists():
        raise NotFound("There is no job with this id.", job=job)
    return number
