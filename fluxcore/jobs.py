"""Background work as rows: written with the change that needs it, claimed under a lease, done once.

The row is the queue; Celery only rings the bell. A handler reads and computes outside any transaction
and returns the change it wants made. That change, the mark `done` and the check that the lease is
still ours are one commit: a worker killed at any moment leaves either all of it or nothing.
"""

from __future__ import annotations

import logging
import os
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import DatabaseError, IntegrityError, InterfaceError, connection, transaction
from django.db.models import F, Q

from fluxcore import bell, clock, job_news, raw_sql
from fluxcore.db_errors import error_place
from fluxcore.errors import Conflict, Invalid, NotFound
from fluxcore.models import Job, JobLine
from fluxcore.writes import booth, write_locks

log = logging.getLogger(__name__)

MAX_TRIES = 5
LEASE = timedelta(seconds=30)
BACK_OFF_SECONDS = (2, 10, 30, 120)
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

Apply = Callable[[], None]
Handler = Callable[["Run"], Apply | None]
_handlers: dict[str, Handler] = {}
_hands = threading.Condition()  # guards the two below
_in_hand = 0
_closing = False
# Who holds a lease: this process, once.
_ME = f"{socket.gethostname()[:40]}:{os.getpid()}:{uuid.uuid4().hex[:8]}"


class LeaseLost(Exception):
    """Somebody else has taken the job over; whatever we did is rolled back."""


@dataclass
class Run:
    """One try at a job, as its handler sees it."""

    job: int
    uuid: uuid.UUID
    kind: str
    space: int | None
    args: dict[str, Any]
    attempt: int

    def say(self, text: str) -> None:
        """Add a line to the job's log, kept even if this try fails."""
        self.lines.append((clock.now(), _storable(text)))

    def __post_init__(self) -> None:
        self.lines: list[tuple[datetime, str]] = []
        self.began = time.monotonic()

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.began

    def tell(self, news: str, **data: Any) -> None:
        """Add what became of this try to the event log."""
        job_news.tell(
            news, self.uuid, self.kind, self.space, tries=self.attempt, seconds=round(self.seconds, 2), **data
        )


def _storable(text: str) -> str:
    """A line every database takes: what cannot be stored must not be what parks a job."""
    return text.replace("\0", "\\0").encode("utf-8", "backslashreplace").decode()[:2000]


def handler(kind: str) -> Callable[[Handler], Handler]:
    """Register what runs for jobs of a kind."""

    def register(function: Handler) -> Handler:
        if kind in _handlers and _handlers[kind].__module__ != function.__module__:
            raise RuntimeError(f"two handlers for jobs of kind {kind}")
        _handlers[kind] = function
        return function

    return register


def kinds() -> list[str]:
    return sorted(_handlers)


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
    slip.after_commit(bell.ring)
    return identity


def ready(moment: datetime) -> Q:
    return Q(state=Job.State.QUEUED, due_at__lte=moment) | Q(state=Job.State.RUNNING, lease_until__lt=moment)


def claim() -> Run | None:
    """Take the oldest job that is due or whose worker has died."""
    while True:
        moment = clock.now()
        row = Job.objects.filter(ready(moment)).order_by("due_at", "id").first()
        if row is None:
            return None
        if row.attempts >= MAX_TRIES:
            _park(row, row.error or "The worker died five times while running this job.")
            continue
        taken = Job.objects.filter(ready(moment), pk=row.pk, attempts=row.attempts).update(
            state=Job.State.RUNNING, attempts=F("attempts") + 1, lease_owner=_ME, lease_until=moment + LEASE
        )
        if taken:
            return Run(row.pk, row.uuid, row.kind, row.space, row.args, row.attempts + 1)


def run_one() -> bool:
    """Claim and run one job; False when nothing is ready."""
    run = claim()
    if run is None:
        return False
    try:
        function = _handlers.get(run.kind)
        if function is None:
            raise NotFound(f"No handler for jobs of kind {run.kind}.")
        with _renewing(run):
            apply = function(run)
        booth.write(lambda: _finish(run, apply), lane=write_locks.lock_name(run.space))
    except LeaseLost:
        log.warning("job %s was taken over by another worker", run.uuid)
    except Exception as error:
        _failed(run, error)
    return True


def drain(*, seconds: float = 30.0) -> int:
    """Run jobs until none is ready, the time is up or the process is to end; the number run."""
    until = time.monotonic() + seconds
    count = 0
    while time.monotonic() < until:
        with in_hand() as allowed:
            if not allowed or not run_one():
                break
        count += 1
    return count


@contextmanager
def in_hand() -> Iterator[bool]:
    """Work that the end of the process waits for; False if it is too late to begin any."""
    global _in_hand
    with _hands:
        allowed = not _closing
        _in_hand += allowed
    try:
        yield allowed
    finally:
        with _hands:
            _in_hand -= allowed
            _hands.notify_all()


def finish_and_begin_no_more(seconds: float | None = None) -> None:
    """This process is about to end: wait for what is in hand and leave the rest to the next worker."""
    global _closing
    with _hands:
        _closing = True
        _hands.wait_for(lambda: _in_hand == 0, seconds)


def closing() -> bool:
    """Whether the process is about to end: a handler that waits for somebody else lets go."""
    return _closing


def next_due() -> datetime | None:
    """When the earliest unfinished job wants attention, for a bell set ahead."""
    queued = Job.objects.filter(state=Job.State.QUEUED).order_by("due_at").values_list("due_at", flat=True).first()
    leased = (
        Job.objects.filter(state=Job.State.RUNNING)
        .order_by("lease_until")
        .values_list("lease_until", flat=True)
        .first()
    )
    moments = [moment for moment in (queued, leased) if moment is not None]
    return min(moments) if moments else None


def _finish(run: Run, apply: Apply | None) -> None:
    if apply is not None:
        apply()
    moment = clock.now()
    done = Job.objects.filter(pk=run.job, lease_owner=_ME, state=Job.State.RUNNING, attempts=run.attempt).update(
        state=Job.State.DONE, finished_at=moment, lease_until=None, error=""
    )
    if not done:
        raise LeaseLost
    _write_lines(run)
    run.tell(job_news.DONE)


def _failed(run: Run, error: Exception) -> None:
    text = error_place(error)
    log.warning("job %s (%s) failed, try %d: %s", run.uuid, run.kind, run.attempt, text)
    run.say(f"Try {run.attempt} failed: {text}")
    if run.attempt >= MAX_TRIES:
        _give_up(run, text)
        return

    def again() -> None:
        pause = BACK_OFF_SECONDS[min(run.attempt, len(BACK_OFF_SECONDS)) - 1]
        # Only while it is still running: after a broken connection the finishing commit may have happened.
        mine = Job.objects.filter(pk=run.job, lease_owner=_ME, state=Job.State.RUNNING, attempts=run.attempt)
        try:
            with transaction.atomic():
                changed = mine.update(
                    state=Job.State.QUEUED, due_at=clock.now() + timedelta(seconds=pause), lease_until=None, error=text
                )
        except IntegrityError:
            # The same work was asked for again while this ran: the newer job does it.
            changed = mine.update(state=Job.State.DONE, finished_at=clock.now(), lease_until=None, error=text)
        if changed:
            _write_lines(run)
            run.tell(job_news.FAILED)

    booth.write(again, lane=write_locks.lock_name(run.space))


def _give_up(run: Run, text: str) -> None:
    """The last try failed."""
    run.say(f"Parked after {MAX_TRIES} tries.")

    def park() -> None:
        parked = _parked(run.job, _ME, text)
        _write_lines(run)
        if parked:
            run.tell(job_news.PARKED)

    booth.write(park)


def _park(row: Job, text: str) -> None:
    """Nobody lived to say that the last try failed."""

    def park() -> None:
        if _parked(row.pk, row.lease_owner, text):
            JobLine.objects.create(job_id=row.pk, at=clock.now(), text=f"Parked: {text}")
            job_news.tell(job_news.PARKED, row.uuid, row.kind, row.space, tries=row.attempts)

    booth.write(park)


def _parked(job: int, owner: str, text: str) -> int:
    return (
        Job.objects.filter(pk=job, lease_owner=owner)
        .exclude(state=Job.State.DONE)
        .update(state=Job.State.PARKED, finished_at=clock.now(), lease_until=None, error=text)
    )


def _write_lines(run: Run) -> None:
    JobLine.objects.bulk_create([JobLine(job_id=run.job, at=at, text=text) for at, text in run.lines])


@contextmanager
def _renewing(run: Run) -> Iterator[None]:
    """Keep the lease alive while a handler computes."""
    stop = threading.Event()

    def renew() -> None:
        told = False
        while not stop.wait(LEASE.total_seconds() / 3):
            try:
                with transaction.atomic():
                    mine = Job.objects.filter(
                        pk=run.job, lease_owner=_ME, state=Job.State.RUNNING, attempts=run.attempt
                    )
                    if mine.update(lease_until=clock.now() + LEASE) and not told:
                        job_news.write_running(run.uuid, run.kind, run.space, run.seconds)
                told = True
            except (DatabaseError, InterfaceError) as error:
                # A missed renewal is caught at the end: the finishing write checks the lease.
                log.warning("a job lease could not be renewed: %s", type(error).__name__)
                connection.close()  # the next one begins with a fresh connection
        connection.close()

    thread = threading.Thread(target=renew, name="job-lease", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def requeue(job: uuid.UUID) -> None:
    """Give a parked job five new tries. Call inside a write."""
    try:
        with transaction.atomic():
            changed = Job.objects.filter(uuid=job, state=Job.State.PARKED).update(
                state=Job.State.QUEUED, attempts=0, due_at=clock.now(), finished_at=None, error=""
            )
    except IntegrityError:
        raise Conflict("The same work is already waiting under another job.", job=str(job)) from None
    if not changed:
        raise Conflict("Only a parked job can be run again.", job=str(job))
    booth.outbox().after_commit(bell.ring)


def park(job: uuid.UUID, *, reason: str) -> None:
    """Take a waiting job out of the queue by hand. Call inside a write."""
    changed = Job.objects.filter(uuid=job, state=Job.State.QUEUED).update(
        state=Job.State.PARKED, finished_at=clock.now(), error=f"Parked by hand: {reason}"[:2000]
    )
    if not changed:
        raise Conflict("Only a waiting job can be parked.", job=str(job))


def counts() -> dict[str, int]:
    from django.db.models import Count

    found = dict(Job.objects.values_list("state").annotate(Count("id")))
    return {state: found.get(state, 0) for state in Job.State.values}


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
    job_news.forget(set(old.values()), before)
    return deleted


def parse_uuid(text: str) -> uuid.UUID:
    try:
        return uuid.UUID(text)
    except ValueError:
        raise Invalid(f"{text!r} is not a job id.", field="job") from None
