"""Models of events, jobs, uptime, idempotency keys and limits. `space` is a number, not a foreign key."""

from __future__ import annotations

import uuid

from django.db import models


class Event(models.Model):
    """An event of the event log. Arenas, watches, dashboard and webhooks follow it (`events.follow`)."""

    id = models.BigAutoField(primary_key=True)
    # PostgreSQL: the writing transaction, because sequence order is not commit order. SQLite: always 0.
    xid = models.BigIntegerField(default=0)
    space = models.BigIntegerField(null=True)
    kind = models.CharField(max_length=64)
    at = models.DateTimeField()
    actor = models.CharField(max_length=160)
    subject = models.CharField(max_length=200)
    data = models.JSONField(default=dict)
    packed = models.BinaryField(null=True)

    class Meta:
        indexes = [
            models.Index(fields=["xid", "id"], name="event_position"),
            models.Index(fields=["space", "xid", "id"], name="event_space_position"),
            # For arenas, which follow only changes: events of recalls between them must not slow them down.
            models.Index(fields=["space", "xid", "id"], name="event_change", condition=models.Q(packed__isnull=False)),
            # For deleting old events that change nothing (recalls, outcomes of jobs).
            models.Index(fields=["space", "at"], name="event_news", condition=models.Q(packed__isnull=True)),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.subject}"


class Job(models.Model):
    """A background job. The table is the queue; messages of the broker only wake workers."""

    class State(models.TextChoices):
        QUEUED = "queued"
        RUNNING = "running"
        DONE = "done"
        PARKED = "parked"

    id = models.BigAutoField(primary_key=True)
    uuid = models.UUIDField(unique=True, default=uuid.uuid4)
    space = models.BigIntegerField(null=True)
    kind = models.CharField(max_length=64)
    args = models.JSONField(default=dict)
    state = models.CharField(max_length=8, choices=State.choices, default=State.QUEUED)
    attempts = models.PositiveSmallIntegerField(default=0)
    due_at = models.DateTimeField()
    lease_owner = models.CharField(max_length=80, default="")
    lease_until = models.DateTimeField(null=True)
    # At most one waiting job per key; "" = no limit. Running jobs do not count: they have read their input already.
    once_key = models.CharField(max_length=200, default="")
    error = models.TextField(default="")
    created_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True)

    class Meta:
        indexes = [
            models.Index(fields=["state", "due_at", "id"], name="job_ready"),
            models.Index(fields=["space", "kind", "id"], name="job_space_kind"),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["kind", "once_key"],
                condition=models.Q(state="queued") & ~models.Q(once_key=""),
                name="job_once",
            )
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.uuid}"


class JobLine(models.Model):
    """A line of a job's log."""

    id = models.BigAutoField(primary_key=True)
    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="lines")
    at = models.DateTimeField()
    text = models.TextField()

    def __str__(self) -> str:
        return self.text


class ScheduleState(models.Model):
    """When a recurring job was last scheduled (`fluxcore/work/schedule.py`); `count` detects concurrent changes."""

    name = models.CharField(max_length=64, primary_key=True)
    asked_at = models.DateTimeField()
    count = models.BigIntegerField(default=0)

    class Meta:
        db_table = "fluxcore_turn"  # tables keep the names of release 0.5

    def __str__(self) -> str:
        return self.name


class UptimeClock(models.Model):
    """The single row of uptime: seconds the instance has run, independent of its clock (`fluxcore/uptime.py`)."""

    id = models.SmallIntegerField(primary_key=True)
    at = models.DateTimeField()
    lived = models.FloatField(default=0.0)
    doubted = models.FloatField(null=True)  # uptime when the clock last jumped
    jump = models.FloatField(default=0.0)  # by how many seconds

    class Meta:
        db_table = "fluxcore_pulse"  # tables keep the names of release 0.5

    def __str__(self) -> str:
        return f"{self.lived:.0f} s"


class IdempotencyKey(models.Model):
    """The answer to a request with an idempotency key, kept 24 hours so that a retry gets the same one."""

    id = models.BigAutoField(primary_key=True)
    owner = models.CharField(max_length=160)
    key = models.CharField(max_length=128)
    request = models.CharField(max_length=64)  # digest of verb and arguments
    answer = models.TextField()  # the JSON text, so that a retry gets the same bytes on every database
    created_at = models.DateTimeField(db_index=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["owner", "key"], name="idempotency_owner_key")]

    def __str__(self) -> str:
        return self.key


class LimitWindow(models.Model):
    """Counts per second of the last minute for one limit (`fluxcore/writes/limits.py`)."""

    key = models.CharField(max_length=200, primary_key=True)
    counts = models.JSONField(default=dict)

    def __str__(self) -> str:
        return self.key
