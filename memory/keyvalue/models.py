"""Tables of exact memory: namespaces, keys with their revisions, locks, tasks, and the clock of expiry.

Times that decide whether a key, lock or claim has expired are floats of that clock
(`memory/keyvalue/expiry_clock.py`), seconds since 1970. Times that are only shown are datetimes.
"""

from __future__ import annotations

import uuid

from django.db import models
from django.db.models import Q

from flux.calls.rules import MAX_KEY


class NamespaceKind(models.TextChoices):
    """Whether an agent or a board has the keys of a namespace."""

    AGENT = "agent"
    BOARD = "board"


class Namespace(models.Model):
    """A set of keys: of one agent, or of a board that the agents of a space share."""

    id = models.BigAutoField(primary_key=True)
    space = models.ForeignKey("accounts.Space", on_delete=models.PROTECT, related_name="+", db_index=False)
    kind = models.CharField(max_length=5, choices=NamespaceKind.choices)
    name = models.CharField(max_length=64)  # the agent's or the board's
    agent = models.ForeignKey("accounts.Agent", on_delete=models.PROTECT, null=True, related_name="+")
    ephemeral = models.BooleanField(default=False)  # emptied whenever the instance starts
    keys = models.BigIntegerField(default=0)  # keys with a value, expired or not
    bytes = models.BigIntegerField(default=0)
    history_bytes = models.BigIntegerField(default=0, db_default=0)  # bytes of all revisions of its keys
    queued = models.BigIntegerField(default=0)  # tasks in its queues
    queued_bytes = models.BigIntegerField(default=0)  # bytes of these tasks
    floor = models.BigIntegerField(default=0)  # versions of new keys begin above it
    # Beginnings of the keys that recall finds, one on each line; "": all keys, null: none.
    recalled = models.TextField(null=True)  # noqa: DJ001
    created_at = models.DateTimeField()
    created_by = models.CharField(max_length=160)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["space", "kind", "name"], name="namespace_once")]

    def __str__(self) -> str:
        return f"{self.kind}s/{self.name}"


class VersionFloor(models.Model):
    """Highest version and fencing token on the deleted boards of a space; new boards begin above it.

    Otherwise a version or token of a deleted board could be taken for one of a new board of the same name.
    """

    space = models.OneToOneField("accounts.Space", on_delete=models.PROTECT, related_name="+", primary_key=True)
    floor = models.BigIntegerField()

    def __str__(self) -> str:
        return str(self.floor)


class Item(models.Model):
    """A key with its value. A row without a value keeps the last version, so that no version is used twice."""

    id = models.BigAutoField(primary_key=True)
    namespace = models.ForeignKey(Namespace, on_delete=models.PROTECT, related_name="items", db_index=False)
    key = models.CharField(max_length=MAX_KEY)
    value = models.TextField(null=True)  # noqa: DJ001  canonical JSON, where "" is none; null: deleted
    version = models.BigIntegerField()
    sha = models.CharField(max_length=64)  # of the canonical text
    size = models.IntegerField()  # bytes of it
    expires = models.FloatField(null=True)
    told = models.BooleanField(default=False)  # whether the event of its expiry was written
    written_at = models.DateTimeField()
    writer = models.CharField(max_length=160)
    displaced = models.IntegerField(default=-1)  # bytes of the value that the last change replaced; -1: there was none
    origin = models.CharField(max_length=16, default="", db_default="")  # provenance; "": from before it was kept

    class Meta:
        indexes = [models.Index(fields=["expires"], name="item_expiry", condition=Q(expires__isnull=False))]
        constraints = [models.UniqueConstraint(fields=["namespace", "key"], name="item_once")]

    def __str__(self) -> str:
        return self.key


class RevisionKind(models.TextChoices):
    """Whether a key was written or deleted in a revision."""

    WRITTEN = "written"
    DELETED = "deleted"


class Revision(models.Model):
    """A version of a key in its history: the value that was written, or that the key was deleted."""

    id = models.BigAutoField(primary_key=True)
    item = models.ForeignKey(Item, on_delete=models.CASCADE, related_name="revisions", db_index=False)
    version = models.BigIntegerField()
    kind = models.CharField(max_length=7, choices=RevisionKind.choices)
    value = models.TextField(null=True)  # noqa: DJ001
    sha = models.CharField(max_length=64)
    size = models.IntegerField()
    expires = models.FloatField(null=True)
    at = models.DateTimeField(db_index=True)
    writer = models.CharField(max_length=160)
    origin = models.CharField(max_length=16, default="", db_default="")

    class Meta:
        indexes = [
            models.Index(fields=["item", "version"], name="revision_version"),
            models.Index(fields=["expires"], name="revision_expiry", condition=Q(expires__isnull=False)),
        ]

    def __str__(self) -> str:
        return f"v{self.version} {self.kind}"


class Lock(models.Model):
    """A lock on a board, held by one caller at a time. A released lock keeps its row, so that its token only grows."""

    id = models.BigAutoField(primary_key=True)
    board = models.ForeignKey(Namespace, on_delete=models.PROTECT, related_name="locks", db_index=False)
    name = models.CharField(max_length=MAX_KEY)
    token = models.BigIntegerField()  # the fencing token of the newest holder
    holder = models.CharField(max_length=160)  # "": released
    note = models.CharField(max_length=200, default="")
    expires = models.FloatField()
    acquired_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["board", "name"], name="lock_once")]

    def __str__(self) -> str:
        return self.name


class Task(models.Model):
    """A task in a queue of a board: claimed by one caller at a time and deleted when it is done."""

    id = models.BigAutoField(primary_key=True)
    uuid = models.UUIDField(unique=True, default=uuid.uuid4)
    board = models.ForeignKey(Namespace, on_delete=models.PROTECT, related_name="tasks", db_index=False)
    queue = models.CharField(max_length=MAX_KEY)
    value = models.TextField()  # canonical JSON
    size = models.IntegerField()
    token = models.BigIntegerField(default=0)  # number of claims so far; proves the newest claim
    holder = models.CharField(max_length=160, default="")
    expires = models.FloatField(default=0.0)  # when the claim ends; 0: unclaimed
    added_at = models.DateTimeField()
    added_by = models.CharField(max_length=160)

    class Meta:
        indexes = [models.Index(fields=["board", "queue", "id"], name="task_queue")]

    def __str__(self) -> str:
        return f"{self.queue} {self.uuid}"


class WatchLimit(models.Model):
    """Position of the event log from which every change of a key is still there. No row until events were deleted."""

    id = models.PositiveSmallIntegerField(primary_key=True)
    xid = models.BigIntegerField(default=0)
    event = models.BigIntegerField(default=0)

    class Meta:
        db_table = "keyvalue_horizon"

    def __str__(self) -> str:
        return f"{self.xid}.{self.event}"


class ExpiryClock(models.Model):
    """Offset of the clock of expiry from a machine's steady clock, one row for each boot of a machine."""

    boot = models.CharField(max_length=64, primary_key=True)
    ahead = models.FloatField()  # seconds
    reached = models.FloatField()  # the latest moment known to be true
    wandered = models.FloatField(null=True)  # steady seconds since which the wall clock has been far ahead

    class Meta:
        db_table = "keyvalue_clockwork"

    def __str__(self) -> str:
        return self.boot
