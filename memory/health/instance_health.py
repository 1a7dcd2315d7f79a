"""Health of the instance, with the details that the caller may see."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.db import DatabaseError, connection

from accounts.authorise import may
from accounts.principals import Principal
from accounts.verbs import selector
from fluxcore import config, uptime
from fluxcore import metrics as numbers
from fluxcore.command_names import typed_command
from fluxcore.version import VERSION
from fluxcore.work import jobs
from fluxcore.writes import booth
from memory.embedding import active_encoder as embedding
from memory.engine.kinds import MADE_KINDS
from memory.extraction import model_status as model
from memory.grains import jobs as grains_jobs
from memory.health import alerts, report


def health(principal: Principal | None) -> dict[str, Any]:
    """`ok` for every caller, because the server answers; with health.read also the state of space and instance."""
    if principal is None or not may(principal, "health.read"):
        return {"status": "ok"}
    return {**instance_details(), "model": model.overview(principal.space), **report.report(principal)}


def instance_details(durability: str | None = None) -> dict[str, Any]:
    """Details of the instance; `durability` is that of the running servers, if another process asks."""
    import platform

    import django

    return {
        "version": VERSION,
        "instance": settings.HOME.name,
        "mode": config.current().OPERATING_MODE,
        "database": database_state(),
        "durability": durability or settings.DURABILITY,
        "encoder": encoder_state(),
        "model": model.overview(),
        "queue": {
            "broker": "redis" if settings.REDIS_URL else "files",
            "jobs": jobs.counts(),
            "oldest_wait_seconds": round(jobs.oldest_wait_seconds(), 1),
        },
        "booth": {"waiting": booth.depth(), "limit": config.current().MAX_WRITE_QUEUE_DEPTH},
        "versions": {"python": platform.python_version(), "django": django.get_version()},
        "warnings": warnings(durability or settings.DURABILITY),
    }


def encoder_state() -> dict[str, Any]:
    found = embedding.state()
    return {
        "name": found.name,
        "dimension": found.dimension,
        "wanted": found.wanted,
        "state": found.says,
        "problem": found.problem,
        "pending": grains_jobs.pending(),  # grains that wait for their vector
    }


def database_state() -> dict[str, str]:
    if connection.vendor == "sqlite":
        import sqlite3

        return {"kind": "sqlite", "version": sqlite3.sqlite_version}
    with connection.cursor() as cursor:
        cursor.execute("SHOW server_version")
        return {"kind": "postgresql", "version": str(cursor.fetchone()[0]).split()[0]}


def warnings(durability: str) -> list[str]:
    """Warnings for operators, each with the next step."""
    found = []
    live = config.live()
    live()
    if live.problem:
        found.append(f"config.yaml has an error and is ignored: {live.problem}")
    if live.waiting_for_restart:
        found.append(f"restart to apply {', '.join(live.waiting_for_restart)}")
    found += live.warnings()
    if embedding.state().broken:
        found.append(f"recall works without vectors: {embedding.state().problem}")
    found += model.warnings()
    parked = jobs.counts()["parked"]
    if parked:
        found.append(f"{parked} parked job(s): {typed_command('flux_jobs list --state parked')}")
    if jobs.oldest_wait_seconds() > 300:
        found.append("jobs are queued for more than five minutes: check that the worker is running")
    doubt = uptime.now().doubt
    if doubt:
        found.append(doubt)
    unsendable = alerts.alert_problem()
    if unsendable:
        found.append(unsendable)
    if durability == "normal":
        found.append("durability is normal: confirmed writes survive a crash, but not a power loss")
    return found


def is_ready() -> bool:
    from django.db.migrations.executor import MigrationExecutor

    global _migrated
    try:
        if not _migrated:
            executor = MigrationExecutor(connection)
            _migrated = not executor.migration_plan(executor.loader.graph.leaf_nodes())
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError:
        return False
    return _migrated and booth.depth() < config.current().MAX_WRITE_QUEUE_DEPTH


_migrated = False  # once true it stays true for a running process


def _memories(space: int | None) -> int:
    from memory.grains.models import Grain

    return Grain.objects.filter(space=space).exclude(status__in=MADE_KINDS).count()


@selector("metrics.read", needs="metrics.read")
def metrics(principal: Principal) -> bytes:
    from accounts.models import RefusalMinute

    counts = jobs.counts()
    gauges: dict[str, tuple[str, float]] = {
        f"flux_jobs_{state}": (f"Jobs in the state {state}", count) for state, count in counts.items()
    }
    gauges["flux_job_wait_seconds"] = ("Age of the oldest due job", jobs.oldest_wait_seconds())
    gauges["flux_grains"] = ("Memories of the caller's space", _memories(principal.space))
    gauges["flux_refused_sources"] = ("Source minutes with refused requests, last week", RefusalMinute.objects.count())
    by_kind = numbers.LabelledGauge(
        "flux_jobs",
        "Job rows by kind, queue and state; finished jobs stay for a week",
        ("kind", "queue", "state"),
        jobs.counts_by_kind(),
    )
    return numbers.render(gauges, [by_kind])
