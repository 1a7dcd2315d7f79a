"""Events about jobs in the event log: one when a job ends or fails, one if it runs for long."""

from __future__ import annotations

import uuid
from collections.abc import Collection
from datetime import datetime
from typing import Any

from django.db import connection

from fluxcore import clock, events
from fluxcore.models import Event
from fluxcore.raw_sql import adapt_moment

# Starts have no event: most jobs end within a second, and the log would contain everything twice.
DONE, FAILED, PARKED, RUNNING = "job.done", "job.failed", "job.parked", "job.running"
KINDS = (DONE, FAILED, PARKED, RUNNING)
ACTOR = "worker"

_TABLE = Event._meta.db_table
_AT_ONCE = 2_000
_FORGET = (
    f"DELETE FROM {_TABLE} WHERE id IN (SELECT id FROM {_TABLE} WHERE {{space}} AND packed IS NULL AND at < %s "  # noqa: S608
    f"AND kind IN {KINDS} ORDER BY at LIMIT {_AT_ONCE})"
)


def add_outcome(outcome: str, job: uuid.UUID, kind: str, space: int | None, **data: Any) -> None:
    """Add the event of an outcome to the running write, which also changes the job's state."""
    events.append(outcome, space=space, actor=ACTOR, subject=str(job), data={"job": kind, **data})


def write_running(job: uuid.UUID, kind: str, space: int | None, seconds: float) -> None:
    """Write the event of a job that still runs, in the transaction that renews its lease (not a write of the booth)."""
    events.write([(space, RUNNING, clock.now(), ACTOR, str(job), {"job": kind, "seconds": round(seconds)}, None)])


def forget(spaces: Collection[int | None], before: datetime) -> None:
    """Delete old events of jobs in these spaces."""
    with connection.cursor() as cursor:
        for space in spaces:
            where = "space IS NULL" if space is None else "space = %s"
            cursor.execute(_FORGET.format(space=where), [*([] if space is None else [space]), adapt_moment(before)])
