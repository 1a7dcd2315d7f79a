"""Leases of running jobs: the owner, the duration, and their renewal while the work computes."""

from __future__ import annotations

import logging
import os
import socket
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

from django.db import DatabaseError, InterfaceError, connection, transaction
from django.db.models import QuerySet

from fluxcore import clock
from fluxcore.models import Job
from fluxcore.work import job_events
from fluxcore.work.run import Run

log = logging.getLogger(__name__)

LEASE = timedelta(seconds=30)
# Unique name of this process; a pid alone is not enough, because pids are reused.
OWNER = f"{socket.gethostname()[:40]}:{os.getpid()}:{uuid.uuid4().hex[:8]}"


class LeaseLost(Exception):
    """Another worker has taken over the job; the changes of this attempt are rolled back."""


def held(run: Run) -> QuerySet[Job]:
    """The job's row, if this attempt still has its lease."""
    return Job.objects.filter(pk=run.job, lease_owner=OWNER, state=Job.State.RUNNING, attempts=run.attempt)


@contextmanager
def renewed(run: Run) -> Iterator[None]:
    """Renew the lease during the block."""
    stop = threading.Event()
    thread = threading.Thread(target=_renew, args=[run, stop], name="job-lease", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def _renew(run: Run, stop: threading.Event) -> None:
    running_written = False
    while not stop.wait(LEASE.total_seconds() / 3):
        try:
            with transaction.atomic():
                if held(run).update(lease_until=clock.now() + LEASE) and not running_written:
                    job_events.write_running(run.uuid, run.kind, run.space, run.seconds)
            running_written = True
        except (DatabaseError, InterfaceError) as error:
            # A missed renewal does no harm, because the finishing write checks the lease.
            log.warning("the lease of a job of kind %s could not be renewed: %s", run.kind, type(error).__name__)
            connection.close()  # the next renewal opens a new connection
    connection.close()
