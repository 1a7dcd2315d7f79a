"""The lease of a running job: who has it, until when, and how it is kept while the work computes."""

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
# This process, told apart from every other that ever ran: pids are used again.
OWNER = f"{socket.gethostname()[:40]}:{os.getpid()}:{uuid.uuid4().hex[:8]}"


class LeaseLost(Exception):
    """Somebody else has taken the job over; whatever we did is rolled back."""


def held(run: Run) -> QuerySet[Job]:
    """The job's row, while this try is the one that has it."""
    return Job.objects.filter(pk=run.job, lease_owner=OWNER, state=Job.State.RUNNING, attempts=run.attempt)


@contextmanager
def renewed(run: Run) -> Iterator[None]:
    """Keep the lease while the work computes."""
    stop = threading.Event()
    thread = threading.Thread(target=_renew, args=[run, stop], name="job-lease", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def _renew(run: Run, stop: threading.Event) -> None:
    told = False
    while not stop.wait(LEASE.total_seconds() / 3):
        try:
            with transaction.atomic():
                if held(run).update(lease_until=clock.now() + LEASE) and not told:
                    job_events.write_running(run.uuid, run.kind, run.space, run.seconds)
            told = True
        except (DatabaseError, InterfaceError) as error:
            # A missed renewal is caught at the end: the finishing write checks the lease.
            log.warning("the lease of a job of kind %s could not be renewed: %s", run.kind, type(error).__name__)
            connection.close()  # the next one begins with a fresh connection
    connection.close()
