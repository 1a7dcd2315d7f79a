"""Jobs of grains: vectors and neighbours of stored grains; also loads the jobs of the packages below."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db import connection

from fluxcore.work.jobs import enqueue
from fluxcore.work.kinds import job
from fluxcore.work.sweep import every_minute
from memory.arena import jobs as arena_jobs
from memory.clusters import jobs as cluster_jobs
from memory.grains.lifecycle import jobs as lifecycle_jobs
from memory.grains.models import Grain
from memory.learning import jobs as learning_jobs

# Packages that are not Django apps: importing their modules registers their jobs.
BELOW = (arena_jobs, cluster_jobs, learning_jobs, lifecycle_jobs)
ENRICH = job("grains.enrich", "memory.grains.enrich.enrich")

_TABLE = Grain._meta.db_table
_OF_SPACE = f"SELECT COUNT(*) FROM {_TABLE} WHERE space_id = %s AND NOT enriched"  # noqa: S608
_OF_ALL = f"SELECT COUNT(*) FROM {_TABLE} WHERE NOT enriched"  # noqa: S608

every_minute("memory.grains.enrich.ask_for_what_is_left")


def pending(space: int | None = None) -> int:
    """Number of grains without vector and neighbours, of one space or of all."""
    with connection.cursor() as cursor:
        cursor.execute(_OF_ALL if space is None else _OF_SPACE, [] if space is None else [space])
        return int(cursor.fetchone()[0])


def ask_for_enrichment(space: int, *, due_at: datetime | None = None, **args: Any) -> None:
    """Request one enrichment job for the pending grains of a space, however many are stored until it runs."""
    enqueue(ENRICH, args, space=space, due_at=due_at, once_key=f"space:{space}")
