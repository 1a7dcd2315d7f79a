"""Worker: claims a job under a lease, runs its handler, and commits its change together with the state `done`.

A handler reads and computes outside any transaction and returns the change to make. That change, the new state and the
check of the lease are one transaction: a worker killed at any moment leaves either all of it or nothing.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Collection
from datetime import timedelta

from django.db import IntegrityError, transaction
from django.db.models import F

from fluxcore import clock, metrics
from fluxcore.db_errors import error_place
from fluxcore.errors import NotFound
from fluxcore.models import Job, JobLine
from fluxcore.work import job_events, kinds, lease, shutdown
from fluxcore.work.jobs import ready
from fluxcore.work.run import Apply, Run
from fluxcore.writes import booth, write_locks

log = logging.getLogger(__name__)

MAX_TRIES = 5
BACK_OFF_SECONDS = (2, 10, 30, 120)
LONG_SECONDS = 1.0  # jobs of the fast queue are logged if they take longer


def claim(only: Collection[str] | None = None) -> Run | None:
    """Claim the oldest job that is due or whose worker has died, of all kinds or of these."""
    while True:
        moment = clock.now()
        row = Job.objects.filter(ready(moment, only)).order_by("due_at", "id").first()
        if row is None:
            return None
        if row.attempts >= MAX_TRIES:
            _park_abandoned(row, row.error or "The worker died while running this job, five times.")
            continue
        taken = Job.objects.filter(ready(moment), pk=row.pk, attempts=row.attempts).update(
            state=Job.State.RUNNING,
            attempts=F("attempts") + 1,
            lease_owner=lease.OWNER,
            lease_until=moment + lease.LEASE,
        )
        if taken:
            return Run(row.pk, row.uuid, row.kind, row.space, row.args, row.attempts + 1)


def run_one(only: Collection[str] | None = None) -> bool:
    """Claim and run one job; False if none is ready."""
    run = claim(only)
    if run is None:
        return False
    try:
        kind = kinds.find(run.kind)
        if kind is None:
            raise NotFound(f"This release does not know jobs of kind {run.kind}.")
        handler = kind.handler()
        with lease.renewed(run):
            apply = handler(run)
        booth.write(lambda: _finish(run, apply), lock=write_locks.lock_name(run.space))
    except lease.LeaseLost:
        log.warning("job %s (%s) was taken over by another worker", run.uuid, run.kind)
        metrics.job(run.kind, "lost", run.seconds)
    except Exception as error:
        _failed(run, error)
    else:
        slow = kind.queue != kinds.FAST or run.seconds >= LONG_SECONDS
        where = "instance" if run.space is None else f"space {run.space}"
        log.log(logging.INFO if slow else logging.DEBUG, "%s done in %.2f s (%s)", kind.name, run.seconds, where)
        metrics.job(kind.name, "done", run.seconds)
    return True


def drain(only: Collection[str] | None = None, *, seconds: float = 30.0) -> int:
    """Run jobs until none is ready, the time is over or the process shuts down; returns their number."""
    until = time.monotonic() + seconds
    count = 0
    while time.monotonic() < until:
        with shutdown.work_in_progress() as allowed:
            if not allowed or not run_one(only):
                break
        count += 1
    return count


def _finish(run: Run, apply: Apply | None) -> None:
    if apply is not None:
        apply()
    done = lease.held(run).update(state=Job.State.DONE, finished_at=clock.now(), lease_until=None, error="")
    if not done:
        raise lease.LeaseLost
    run.write_lines()
    run.add_outcome(job_events.DONE)


def _failed(run: Run, error: Exception) -> None:
    text = error_place(error)
    log.warning("job %s (%s) failed in attempt %d: %s", run.uuid, run.kind, run.attempt, text)
    metrics.job(run.kind, "failed", run.seconds)
    run.say(f"Attempt {run.attempt} failed: {text}")
    if run.attempt >= MAX_TRIES:
        run.say(f"Parked after {MAX_TRIES} attempts.")
        booth.write(lambda: _give_up(run, text))
    else:
        booth.write(lambda: _put_back(run, text), lock=write_locks.lock_name(run.space))


def _put_back(run: Run, text: str) -> None:
    """Queue a failed job again, due after a pause."""
    pause = BACK_OFF_SECONDS[min(run.attempt, len(BACK_OFF_SECONDS)) - 1]
    # Only if it is still running: after a lost connection the finishing transaction may have been committed.
    row = lease.held(run)
    try:
        with transaction.atomic():
            changed = row.update(
                state=Job.State.QUEUED, due_at=clock.now() + timedelta(seconds=pause), lease_until=None, error=text
            )
    except IntegrityError:
        # The same work was enqueued again while this job ran: the newer job does it.
        changed = row.update(state=Job.State.DONE, finished_at=clock.now(), lease_until=None, error=text)
    if changed:
        run.write_lines()
        run.add_outcome(job_events.FAILED)


def _give_up(run: Run, text: str) -> None:
    """Park a job after its last failed attempt."""
    parked = _parked(run.job, lease.OWNER, text)
    run.write_lines()
    if parked:
        run.add_outcome(job_events.PARKED)


def _park_abandoned(row: Job, text: str) -> None:
    """Park a job whose worker died in the last attempt."""

    def park() -> None:
        if _parked(row.pk, row.lease_owner, text):
            JobLine.objects.create(job_id=row.pk, at=clock.now(), text=f"Parked: {text}")
            job_events.add_outcome(job_events.PARKED, row.uuid, row.kind, row.space, tries=row.attempts)

    booth.write(park)


def _parked(job: int, owner: str, text: str) -> int:
    return (
        Job.objects.filter(pk=job, lease_owner=owner)
        .exclude(state=Job.State.DONE)
        .update(state=Job.State.PARKED, finished_at=clock.now(), lease_until=None, error=text)
    )
