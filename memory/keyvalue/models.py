"""What is remembered exactly: namespaces, their items with earlier revisions, locks, tasks, and the clock of expiry.

Moments that decide whether something is there are numbers of that one clock (`memory/keyvalue/expiry_clock.py`),
seconds since 1970; moments that only tell are times like everywhere else.
"""

from __future__ import annotations

import uuid

from django.db import models
from django.db.models import Q

from flux.calls.rules import MAX_KEY


class Namespace(models.Model):
    """Where keys live: an agent's own, or a board that the agents of a space share."""

    class Kind(models.TextChoices):
        AGENT = "agent"
        BOARD = "board"

    id = models.BigAutoField(primary_key=True)
    space = models.ForeignKey("accounts.Space", on_delete=models.PROTECT, related_name="+", db_index=False)
    kind = models.CharField(max_length=5, choices=Kind.choices)
    name = models.CharField(max_length=64)  # the agent's or the board's
    agent = models.ForeignKey("accounts.Agent", on_delete=models.PROTECT, null=True, related_name="+")
    ephemeral = models.BooleanField(default=False)  # a start of the instance empties it
    keys = models.BigIntegerField(default=0)  # what is kept, expired or not
    bytes = models.BigIntegerField(default=0)
    history_bytes = models.BigIntegerField(default=0, db_default=0)  # of all revisions of its keys
    queued = models.BigIntegerField(default=0)  # tasks of its queues, and their bytes
    queued_bytes = models.BigIntegerField(default=0)
    floor = models.BigIntegerField(default=0)  # no version up to here is given again to a key nobody remembers
    created_at = models.DateTimeField()
    created_by = models.CharField(max_length=160)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["space", "kind", "name"], name="namespace_once")]

    def __str__(self) -> str:
        return f"{self.kind}s/{self.name}"


class VersionFloor(models.Model):
    """The highest version and fencing token on the deleted boards of a space: boards made since begin above it.

    Otherwise a version or token of a deleted board could be taken for one of a new board of the same name.
    """

    space = models.OneToOneField("accounts.Space", on_delete=models.PROTECT, related_name="+", primary_key=True)
    floor = models.BigIntegerField()

    def __str__(self) -> str:
        return str(self.floor)


class Item(models.Model):
    """One key. A row without a value remembers the last version, so that none is ever given twice."""

    id = models.BigAutoField(primary_key=True)
    namespace = models.ForeignKey(Namespace, on_delete=models.PROTECT, related_name="items", db_index=False)
    key = models.CharField(max_length=MAX_KEY)
    value = models.TextField(null=True)  # noqa: DJ001  canonical JSON, where "" is none; null: deleted
    version = models.BigIntegerField()
    sha = models.CharField(max_length=64)  # of the canonical text
    size = models.IntegerField()  # bytes of it
    expires = models.FloatField(null=True)
    told = models.BooleanField(default=False)  # whether its expiry was told to who watches
    written_at = models.DateTimeField()
    writer = models.CharField(max_length=160)
    displaced = models.IntegerField(default=-1)  # bytes the last change took away; -1: there were none

    class Meta:
        indexes = [models.Index(fields=["expires"], name="item_expiry", condition=Q(expires__isnull=False))]
        constraints = [models.UniqueConstraint(fields=["namespace", "key"], name="item_once")]

    def __str__(self) -> str:
        return self.key


class Revision(models.Model):
    """What a key held or what became of it, as long as its history is kept."""

    class Kind(models.TextChoices):
        WRITTEN = "written"
        DELETED = "deleted"

    id = models.BigAutoField(primary_key=True)
    item = models.ForeignKey(Item, on_delete=models.CASCADE, related_name="revisions", db_index=False)
    version = models.BigIntegerField()
    kind = models.CharField(max_length=7, choices=Kind.choices)
    value = models.TextField(null=True)  # noqa: DJ001
    sha = models.CharField(max_length=64)
    size = models.IntegerField()
    expires = models.FloatField(null=True)
    at = models.DateTimeField(db_index=True)
    writer = models.CharField(max_length=160)

    class Meta:
        indexes = [
            models.Index(fields=["item", "version"], name="revision_version"),
            models.Index(fields=["expires"], name="revision_expiry", condition=Q(expires__isnull=False)),
        ]

    def __str__(self) -> str:
        return f"v{self.version} {self.kind}"


class Lock(models.Model):
    """A name that one caller holds at a time. The row stays when nobody does: its token only grows."""

    id = models.BigAutoField(primary_key=True)
    board = models.ForeignKey(Namespace, on_delete=models.PROTECT, related_name="locks", db_index=False)
    name = models.CharField(max_length=MAX_KEY)
    token = models.BigIntegerField()  # the fencing token of the newest holder
    holder = models.CharField(max_length=160)  # "": let go
    note = models.CharField(max_length=200, default="")
    expires = models.FloatField()
    acquired_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["board", "name"], name="lock_once")]

    def __str__(self) -> str:
        return self.name


class Task(models.Model):
    """A piece of work in a queue of a board, claimed by one caller at a time and gone when that one is done."""

    id = models.BigAutoField(primary_key=True)
    uuid = models.UUIDField(unique=True, default=uuid.uuid4)
    board = models.ForeignKey(Namespace, on_delete=models.PROTECT, related_name="tasks", db_index=False)
    queue = models.CharField(max_length=MAX_KEY)
    value = models.TextField()  # canonical JSON
    size = models.IntegerField()
    token = models.BigIntegerField(default=0)  # how often it was claimed; the proof of the newest claim
    holder = models.CharField(max_length=160, default="")
    expires = models.FloatField(default=0.0)  # until when the claim holds; 0: it waits
    added_at = models.DateTimeField()
    added_by = models.CharField(max_length=160)

    class Meta:
        indexes = [models.Index(fields=["board", "queue", "id"], name="task_queue")]

    def __str__(self) -> str:
        return f"{self.queue} {self.uuid}"


class Horizon(models.Model):
    """How far back the log holds every change of a key. One row, once the oldest were let go."""

    id = models.PositiveSmallIntegerField(primary_key=True)
    xid = models.BigIntegerField(default=0)
    event = models.BigIntegerField(default=0)

    def __str__(self) -> str:
        return f"{self.xid}.{self.event}"


class Clockwork(models.Model):
    """How far the clock of expiry is ahead of a machine's steady clock, one row for each time it was switched on."""

    boot = models.CharField(max_length=64, primary_key=True)
    ahead = models.FloatField()  # seconds
    reached = models.FloatField()  # the latest moment known to be true
    wandered = models.FloatField(null=True)  # steady seconds since when the wall clock says something else

    def __str__(self) -> str:
        return self.boot
