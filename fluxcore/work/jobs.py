"""Job queue: rows that are written with the change that needs them, claimed under a lease and done once.

The table is the queue; a Celery message only wakes workers for a kind of job. This module adds and changes rows;
`worker.py` runs them.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Count, Min, Q

from fluxcore import clock, raw_sql
from fluxcore.errors import Conflict, Invalid
from fluxcore.models import Job
from fluxcore.work import job_events, kinds, wakeup
from fluxcore.writes import booth

KEEP_DONE = timedelta(days=7)

_COLUMNS = (
    "uuid",
    "space",
    "kind",
    "args",
    "state",
    "attempts",
    "due_at",
    "lease_owner",
    "once_key",
    "error",
    "created_at",
)
# Updating the waiting job keeps a worker on PostgreSQL from claiming it before this write is committed, when it would
# not see the change that it is needed for.
_UNLESS_IT_WAITS = (
    "ON CONFLICT (kind, once_key) WHERE state = 'queued' AND NOT (once_key = '') "
    f"DO UPDATE SET once_key = {Job._meta.db_table}.once_key RETURNING uuid"
)


def enqueue(
    kind: str,
    args: dict[str, Any] | None = None,
    *,
    space: int | None = None,
    due_at: datetime | None = None,
    once_key: str = "",
) -> uuid.UUID | None:
    """Add a job to the running write. With `once_key`, None if such a job already waits."""
    outbox = booth.outbox()
    moment, identity = clock.now(), uuid.uuid4()
    row = (identity, space, kind, args or {}, Job.State.QUEUED.value, 0, due_at or moment, "", once_key, "", moment)
    if once_key:
        ((found,),) = raw_sql.upsert(Job, _COLUMNS, [row], _UNLESS_IT_WAITS)
        if (found if isinstance(found, uuid.UUID) else uuid.UUID(found)) != identity:
            return None
    else:
        raw_sql.insert(Job, _COLUMNS, [row])
    outbox.after_commit(lambda: wakeup.wake(kind))
    return identity


def requeue(job: uuid.UUID) -> None:
    """Queue a parked job again with five new attempts. Call inside a write."""
    parked = Job.objects.filter(uuid=job, state=Job.State.PARKED)
    kind = parked.values_list("kind", flat=True).first()
    try:
        with transaction.atomic():
            changed = parked.update(state=Job.State.QUEUED, attempts=0, due_at=clock.now(), finished_at=None, error="")
    except IntegrityError:
        raise Conflict("Another job for the same work is already queued. Wait for that one.", job=str(job)) from None
    if not changed or kind is None:
        raise Conflict("Only a parked job can be run again; this one is not parked.", job=str(job))
    booth.outbox().after_commit(lambda: wakeup.wake(kind))


def park(job: uuid.UUID, *, reason: str) -> None:
    """Park a queued job on request of a person. Call inside a write."""
    changed = Job.objects.filter(uuid=job, state=Job.State.QUEUED).update(
        state=Job.State.PARKED, finished_at=clock.now(), error=f"Parked by a person: {reason}"[:2000]
    )
    if not changed:
        raise Conflict("Only a queued job can be parked; this one is not queued.", job=str(job))


def ready(moment: datetime, only: Collection[str] | None = None) -> Q:
    """Condition for jobs that are due or whose worker has died; of these kinds, if any are given."""
    found = Q(state=Job.State.QUEUED, due_at__lte=moment) | Q(state=Job.State.RUNNING, lease_until__lt=moment)
    return found if only is None else found & Q(kind__in=only)


def next_due(within: timedelta, only: Collection[str] | None = None) -> dict[str, datetime]:
    """When the next job of each kind is due or its lease ends, for those within this time."""
    until = clock.now() + within
    rows = Job.objects.all() if only is None else Job.objects.filter(kind__in=only)
    waiting = rows.filter(state=Job.State.QUEUED, due_at__lte=until).values("kind").annotate(at=Min("due_at"))
    leased = rows.filter(state=Job.State.RUNNING, lease_until__lte=until).values("kind").annotate(at=Min("lease_until"))
    found: dict[str, datetime] = {}
    for row in [*waiting.order_by(), *leased.order_by()]:
        found[row["kind"]] = min(row["at"], found.get(row["kind"], row["at"]))
    return found


def counts() -> dict[str, int]:
    found = dict(Job.objects.values_list("state").annotate(Count("id")))
    return {state: found.get(state, 0) for state in Job.State.values}


def counts_by_kind() -> dict[tuple[str, ...], float]:
    """Number of jobs of each (kind, queue, state), by the kind's current name."""
    found: dict[tuple[str, ...], float] = {}
    for stored, state, count in Job.objects.values_list("kind", "state").annotate(Count("id")).order_by():
        kind = kinds.find(stored)
        key = (kind.name, kind.queue, state) if kind else (stored, "", state)
        found[key] = found.get(key, 0) + count
    return found


def oldest_wait_seconds() -> float:
    """Seconds that the oldest job which is due has waited."""
    moment = clock.now()
    due = (
        Job.objects.filter(state=Job.State.QUEUED, due_at__lte=moment)
        .order_by("due_at")
        .values_list("due_at", flat=True)
        .first()
    )
    return (moment - due).total_seconds() if due else 0.0


def forget_old() -> int:
    """Delete finished jobs after a week, in which their logs can be read."""
    oldest_kept = clock.now() - KEEP_DONE
    old = dict(Job.objects.filter(state=Job.State.DONE, finished_at__lt=oldest_kept).values_list("pk", "space")[:500])
    deleted, _ = Job.objects.filter(pk__in=old).delete()
    job_events.forget(set(old.values()), oldest_kept)
    return deleted


def parse_uuid(text: str) -> uuid.UUID:
    try:
        return uuid.UUID(text)
    except ValueError:
        raise Invalid(f"{text!r} is not a job id. A job id is a UUID.", field="job") from None
