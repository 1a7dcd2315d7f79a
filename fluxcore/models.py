"""Tables everything stands on. `space` is a plain number here: the core lies below accounts."""

from __future__ import annotations

import uuid

from django.db import models


class Event(models.Model):
    """A row of the one log. Arenas, watches, dashboard and webhooks follow it (`events.follow`)."""

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
            # Arenas follow changes alone: however many recalls are told of in between, they cost them nothing.
            models.Index(fields=["space", "xid", "id"], name="event_change", condition=models.Q(packed__isnull=False)),
            # What changes nothing is news, and old news is let go.
            models.Index(fields=["space", "at"], name="event_news", condition=models.Q(packed__isnull=True)),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.subject}"


class Job(models.Model):
    """A piece of background work. The row is the queue; a message of the broker only says that there is work."""

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
    # At most one waiting job per key; "" = no such wish. A running one has read its input already.
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
    """When a recurring job was last asked for (`fluxcore/work/schedule.py`); `count` tells rivals apart."""

    name = models.CharField(max_length=64, primary_key=True)
    asked_at = models.DateTimeField()
    count = models.BigIntegerField(default=0)

    class Meta:
        db_table = "fluxcore_turn"  # the name of release 0.5: tables keep theirs

    def __str__(self) -> str:
        return self.name


class UptimeClock(models.Model):
    """One row: how many seconds the instance has run (`fluxcore/uptime.py`), whatever its clock says."""

    id = models.SmallIntegerField(primary_key=True)
    at = models.DateTimeField()
    lived = models.FloatField(default=0.0)
    doubted = models.FloatField(null=True)  # how long it had run when its clock last jumped
    jump = models.FloatField(default=0.0)  # by how many seconds

    class Meta:
        db_table = "fluxcore_pulse"  # the name of release 0.5: tables keep theirs

    def __str__(self) -> str:
        return f"{self.lived:.0f} s"


class IdempotencyKey(models.Model):
    """The answer given under a caller's key, kept 24 hours so that a retry gets the same one."""

    id = models.BigAutoField(primary_key=True)
    owner = models.CharField(max_length=160)
    key = models.CharField(max_length=128)
    request = models.CharField(max_length=64)  # digest of verb and arguments
    answer = models.TextField()  # JSON as it was given, so that a retry gets the same bytes on every database
    created_at = models.DateTimeField(db_index=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["owner", "key"], name="idempotency_owner_key")]

    def __str__(self) -> str:
        return self.key


class LimitWindow(models.Model):
    """Counts per second of the last minute for one limit: `fluxcore/writes/limits.py` says how it is read."""

    key = models.CharField(max_length=200, primary_key=True)
    counts = models.JSONField(default=dict)

    def __str__(self) -> str:
        return self.key
