"""Tables of stores: stores, contents, files, changes of files, messages."""

from __future__ import annotations

import uuid

from django.db import models
from django.db.models import Q

from flux.paths import MAX_NAME, MAX_PATH


class Store(models.Model):
    """A set of files and a transcript under one name, with the policy its creator gave it."""

    id = models.BigAutoField(primary_key=True)
    uuid = models.UUIDField(unique=True, default=uuid.uuid4)
    space = models.ForeignKey("accounts.Space", on_delete=models.PROTECT, related_name="+", db_index=False)
    org = models.CharField(max_length=64, default="")  # empty: the space, whatever its name is
    project = models.CharField(max_length=64)
    domain = models.CharField(max_length=64)
    key = models.CharField(max_length=MAX_NAME)
    # Policy. The creator sets it, and only an owner of the space changes it.
    read_only = models.TextField(default="")  # prefixes agents cannot write, one in a line
    staging = models.CharField(max_length=MAX_NAME, default="")  # prefix of proposed files; empty: none
    audit = models.BooleanField(default=True)  # whether changes of files are listed in the store's own log
    keep_versions = models.BooleanField(default=True)
    max_versions = models.BigIntegerField(null=True)  # earlier versions of each file; null: all
    max_files = models.BigIntegerField(null=True)
    max_bytes = models.BigIntegerField(null=True)
    retention_days = models.FloatField(null=True)  # age at which earlier versions are removed
    recallable = models.BooleanField(default=False)
    ephemeral = models.BooleanField(default=False)  # deleted whenever the instance starts
    # Counts.
    files = models.BigIntegerField(default=0)
    bytes = models.BigIntegerField(default=0)  # of contents that files have, each once (`stored_bytes.py`)
    history_bytes = models.BigIntegerField(default=0)  # of contents that only earlier versions have, each once
    messages = models.BigIntegerField(default=0)
    message_bytes = models.BigIntegerField(default=0)
    next_seq = models.BigIntegerField(default=1)  # number of the next message
    created_at = models.DateTimeField()
    created_by = models.CharField(max_length=160)
    deleted_at = models.DateTimeField(null=True)
    deleted_by = models.CharField(max_length=160, default="")
    ended = models.BooleanField(default=False)  # it is being emptied, so it can no longer be restored

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["space", "org", "project", "domain", "key"],
                condition=Q(deleted_at=None),
                name="store_once",
            )
        ]

    def __str__(self) -> str:
        return self.key


class StoreUsage(models.Model):
    """Sums over all stores of a space, deleted ones included."""

    space = models.OneToOneField("accounts.Space", on_delete=models.CASCADE, primary_key=True, related_name="+")
    stores = models.BigIntegerField(default=0)
    bytes = models.BigIntegerField(default=0)  # of files, their versions and messages

    def __str__(self) -> str:
        return f"{self.bytes} bytes"


class Content(models.Model):
    """Bytes under their SHA-256, once in a space: in this row, or if they are large in blob storage."""

    id = models.BigAutoField(primary_key=True)
    space = models.ForeignKey("accounts.Space", on_delete=models.PROTECT, related_name="+", db_index=False)
    sha = models.CharField(max_length=64)
    size = models.BigIntegerField()
    data = models.BinaryField(null=True)  # null: the blob with this SHA-256
    uses = models.BigIntegerField()  # changes that refer to it; without any the row is deleted

    class Meta:
        constraints = [models.UniqueConstraint(fields=["space", "sha"], name="content_once")]
        indexes = [models.Index(fields=["sha"], name="content_in_blobs", condition=Q(data=None))]

    def __str__(self) -> str:
        return self.sha


class File(models.Model):
    """A file of a store. A deleted one keeps its row without content, so that no version is used twice.

    Its content is that of the change with its version, which counts as the use of both.
    """

    id = models.BigAutoField(primary_key=True)
    store = models.ForeignKey(Store, on_delete=models.PROTECT, related_name="+", db_index=False)
    path = models.CharField(max_length=MAX_PATH)
    uuid = models.UUIDField(unique=True, default=uuid.uuid4)
    version = models.BigIntegerField()
    content = models.ForeignKey(Content, on_delete=models.PROTECT, related_name="+", null=True, db_index=False)
    sha = models.CharField(max_length=64)  # empty: deleted
    size = models.BigIntegerField()
    content_type = models.CharField(max_length=127)
    origin = models.CharField(max_length=16)  # provenance of the content
    created_at = models.DateTimeField()
    created_by = models.CharField(max_length=160)
    written_at = models.DateTimeField()
    writer = models.CharField(max_length=160)
    actor = models.CharField(max_length=128, default="")
    reason = models.CharField(max_length=500, default="")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["store", "path"], name="file_once")]
        indexes = [models.Index(fields=["store", "content"], name="file_content", condition=~Q(content=None))]

    def __str__(self) -> str:
        return self.path


class FileChange(models.Model):
    """An entry of the log of a store: a change of a file or of the transcript, or a refused one.

    Those with a version are the versions of the file.
    """

    class ChangeOutcome(models.TextChoices):
        DONE = "done"
        NOOP = "noop"  # the file had these bytes already

    id = models.BigAutoField(primary_key=True)
    store = models.ForeignKey(Store, on_delete=models.PROTECT, related_name="+", db_index=False)
    file = models.ForeignKey(File, on_delete=models.PROTECT, related_name="+", null=True, db_index=False)
    path = models.CharField(max_length=MAX_PATH)
    op = models.CharField(max_length=16)
    outcome = models.CharField(max_length=32)  # a `ChangeOutcome`, or the code of the refusal
    listed = models.BooleanField()  # whether the store's log shows it
    version = models.BigIntegerField(default=0)
    old_sha = models.CharField(max_length=64, default="")
    new_sha = models.CharField(max_length=64, default="")
    content = models.ForeignKey(Content, on_delete=models.PROTECT, related_name="+", null=True, db_index=False)
    size = models.BigIntegerField(default=0)
    content_type = models.CharField(max_length=127, default="")
    origin = models.CharField(max_length=16, default="")
    at = models.DateTimeField(db_index=True)
    principal = models.CharField(max_length=160)
    actor = models.CharField(max_length=128, default="")
    reason = models.CharField(max_length=500, default="")

    class Meta:
        indexes = [
            models.Index(fields=["store", "id"], name="change_log"),
            models.Index(fields=["file", "version"], name="change_version"),
            models.Index(fields=["store", "content"], name="change_content", condition=~Q(content=None)),
        ]

    def __str__(self) -> str:
        return f"{self.op} {self.path}"


class Message(models.Model):
    """A message of a store's transcript. A removed one stays for a while, so that the removal can be undone."""

    id = models.BigAutoField(primary_key=True)
    store = models.ForeignKey(Store, on_delete=models.PROTECT, related_name="+", db_index=False)
    uuid = models.UUIDField(unique=True, default=uuid.uuid4)
    seq = models.BigIntegerField()
    body = models.TextField()  # the whole message as JSON
    text = models.TextField(default="")  # what it says, folded for search
    size = models.IntegerField()
    role = models.CharField(max_length=64, default="")
    session = models.CharField(max_length=128, default="")
    speaker = models.CharField(max_length=128, default="")
    origin = models.CharField(max_length=16)
    said_at = models.DateTimeField(null=True)
    at = models.DateTimeField()
    writer = models.CharField(max_length=160)
    actor = models.CharField(max_length=128, default="")
    removal = models.CharField(max_length=32, default="")  # of which removal; empty: it was not removed
    removed_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["store", "seq"], name="message_once")]
        indexes = [models.Index(fields=["removed_at"], name="message_removed", condition=~Q(removal=""))]

    def __str__(self) -> str:
        return f"{self.seq} {self.role}"
