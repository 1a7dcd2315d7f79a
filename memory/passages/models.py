"""Tables of where passages, messages and values come from."""

from __future__ import annotations

from django.db import models
from django.db.models import Q


class GrainSource(models.Model):
    """Where a passage or message is from: lines of a file, or a message of a transcript. Deleted with its grain.

    Of a passage there is a row for each range of versions that have it at the same lines; a message has one for each of
    its parts. Stores and files are named by the numbers of their rows, which may be deleted first.
    """

    id = models.BigAutoField(primary_key=True)
    space = models.ForeignKey("accounts.Space", on_delete=models.PROTECT, related_name="+", db_index=False)
    grain = models.ForeignKey("grains.Grain", on_delete=models.CASCADE, related_name="+")
    store = models.BigIntegerField()
    file = models.BigIntegerField(null=True)  # null: a message
    message = models.BigIntegerField(null=True)  # its number in the transcript
    version = models.BigIntegerField(default=0)  # the first version of the file that has it at these lines
    last = models.BigIntegerField(default=0)  # the last version so far; every kept one between has it, too
    first_line = models.IntegerField(default=0)
    last_line = models.IntegerField(default=0)
    heading = models.CharField(max_length=200, default="")
    session = models.CharField(max_length=128, default="")  # as the message says it
    # Whether the file has it in the version that was indexed last, or the transcript has the message. False too while
    # the file, the message or the store is deleted.
    current = models.BooleanField(default=True)

    class Meta:
        indexes = [
            models.Index(fields=["file", "current"], name="source_file", condition=Q(message=None)),
            models.Index(fields=["store", "message"], name="source_message"),
        ]

    def __str__(self) -> str:
        return f"{self.store}: {self.file or self.message}"


class IndexedTranscript(models.Model):
    """How far the transcript of a store is indexed. Jobs begin there, whatever has asked for them."""

    store = models.BigIntegerField(primary_key=True)
    upto = models.BigIntegerField(default=0)  # number of the last message that was looked at
    restarts = models.BigIntegerField(default=0)  # how often indexing was begun anew, as messages came back

    def __str__(self) -> str:
        return f"{self.store}: {self.upto}"


class ValueSource(models.Model):
    """Where a value is from: a key, and its version. Deleted with its grain.

    Keys and namespaces are named by the numbers of their rows, which may be deleted first.
    """

    id = models.BigAutoField(primary_key=True)
    space = models.ForeignKey("accounts.Space", on_delete=models.PROTECT, related_name="+", db_index=False)
    grain = models.OneToOneField("grains.Grain", on_delete=models.CASCADE, related_name="+")
    namespace = models.BigIntegerField()
    item = models.BigIntegerField()
    version = models.BigIntegerField()  # of the key that last had it
    current = models.BooleanField(default=True)  # False: the key has it no more

    class Meta:
        indexes = [
            models.Index(fields=["item"], name="value_item"),
            models.Index(fields=["namespace", "item"], name="value_namespace", condition=Q(current=True)),
        ]

    def __str__(self) -> str:
        return f"{self.item} v{self.version}"
