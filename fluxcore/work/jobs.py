"""Background work as rows: written with the change that needs it, claimed under a lease, done once.

The row is the queue and the truth; a Celery message only says that there is work of a kind. Here rows are added and
changed; `worker.py` runs them.
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
# Touching the job that waits keeps a worker on PostgreSQL from claiming it before this write is committed: it
# would then not see what it was called for.
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
    slip = booth.outbox()
    moment, identity = clock.now(), uuid.uuid4()
    row = (identity, space, kind, args or {}, Job.State.QUEUED.value, 0, due_at or moment, "", once_key, "", moment)
    if once_key:
        ((found,),) = raw_sql.upsert(Job, _COLUMNS, [row], _UNLESS_IT_WAITS)
        if (found if isinstance(found, uuid.UUID) else uuid.UUID(found)) != identity:
            return None
    else:
        raw_sql.insert(Job, _COLUMNS, [row])
    slip.after_commit(lambda: wakeup.wake(kind))
    return identity


def requeue(job: uuid.UUID) -> None:
    """Give a parked job five new tries. Call inside a write."""
    parked = Job.objects.filter(uuid=job, state=Job.State.PARKED)
    kind = parked.values_list("kind", flat=True).first()
    try:
        with transaction.atomic():
            changed = parked.update(state=Job.State.QUEUED, attempts=0, due_at=clock.now(), finished_at=None, error="")
    except IntegrityError:
        raise Conflict("The same work is already waiting under another job.", job=str(job)) from None
    if not changed or kind is None:
        raise Conflict("Only a parked job can be run again.", job=str(job))
    booth.outbox().after_commit(lambda: wakeup.wake(kind))


def park(job: uuid.UUID, *, reason: str) -> None:
    """Take a waiting job out of the queue by hand. Call inside a write."""
    changed = Job.objects.filter(uuid=job, state=Job.State.QUEUED).update(
        state=Job.State.PARKED, finished_at=clock.now(), error=f"Parked by hand: {reason}"[:2000]
    )
    if not changed:
        raise Conflict("Only a waiting job can be parked.", job=str(job))


def ready(moment: datetime, only: Collection[str] | None = None) -> Q:
    """Rows that are due or whose worker has died; of these kinds, if any are named."""
    found = Q(state=Job.State.QUEUED, due_at__lte=moment) | Q(state=Job.State.RUNNING, lease_until__lt=moment)
    return found if only is None else found & Q(kind__in=only)


def next_due(within: timedelta, only: Collection[str] | None = None) -> dict[str, datetime]:
    """When the earliest unfinished job of each kind wants attention, of those that do within this time."""
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
    """How many rows there are of each (kind, queue, state), by the kind's present name."""
    found: dict[tuple[str, ...], float] = {}
    for stored, state, count in Job.objects.values_list("kind", "state").annotate(Count("id")).order_by():
        kind = kinds.find(stored)
        key = (kind.name, kind.queue, state) if kind else (stored, "", state)
        found[key] = found.get(key, 0) + count
    return found


def oldest_wait_seconds() -> float:
    """Age of the oldest job that is due and still waits."""
    moment = clock.now()
    due = (
        Job.objects.filter(state=Job.State.QUEUED, due_at__lte=moment)
        .order_by("due_at")
        .values_list("due_at", flat=True)
        .first()
    )
    return (moment - due).total_seconds() if due else 0.0


def forget_old() -> int:
    """Finished jobs are kept a week for their logs."""
    before = clock.now() - KEEP_DONE
    old = dict(Job.objects.filter(state=Job.State.DONE, finished_at__lt=before).values_list("pk", "space")[:500])
    deleted, _ = Job.objects.filter(pk__in=old).delete()
    job_events.forget(set(old.values()), before)
    return deleted


def parse_uuid(text: str) -> uuid.UUID:
    try:
        return uuid.UUID(text)
    except ValueError:
        raise Invalid(f"{text!r} is not a job id.", field="job") from None
