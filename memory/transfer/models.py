"""Tables of imports started in the browser: their pieces, and the result of each item."""

from __future__ import annotations

import uuid

from django.db import models


class Import(models.Model):
    """Import of a file or folder into a space, by a job that takes one piece at a time."""

    id = models.BigAutoField(primary_key=True)
    uuid = models.UUIDField(unique=True, default=uuid.uuid4)
    space = models.ForeignKey("accounts.Space", on_delete=models.PROTECT, related_name="+", db_index=False)
    by = models.CharField(max_length=160)  # the person who started it, the writer of its grains
    source = models.CharField(max_length=200)  # the name of the file
    format = models.CharField(max_length=16)
    ceiling = models.CharField(max_length=16)  # maximum provenance of its items
    total = models.PositiveIntegerField()  # grains and links
    done = models.PositiveIntegerField(default=0)
    stored = models.PositiveIntegerField(default=0)
    there = models.PositiveIntegerField(default=0)
    refused = models.PositiveIntegerField(default=0)
    capped = models.PositiveIntegerField(default=0)
    links = models.PositiveIntegerField(default=0)
    job = models.UUIDField(null=True)
    asked_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True)

    class Meta:
        indexes = [models.Index(fields=["space", "id"], name="import_of_a_space")]

    def __str__(self) -> str:
        return self.source

    @property
    def percent(self) -> int:
        return 100 if self.finished_at else min(99, 100 * self.done // max(1, self.total))


class ImportPiece(models.Model):
    """Piece of an import that is one commit. Its items are deleted when it is imported, its results are kept."""

    id = models.BigAutoField(primary_key=True)
    whole = models.ForeignKey(Import, on_delete=models.CASCADE, related_name="pieces", db_index=False)
    place = models.PositiveIntegerField()
    links = models.BooleanField(default=False)
    items = models.JSONField()  # [place, key, given, problem]
    report = models.JSONField(default=list)  # [place, key, status, grain, code, message]
    taken = models.BooleanField(default=False)

    class Meta:
        db_table = "transfer_piece"  # the name of release 0.5: tables keep theirs
        constraints = [models.UniqueConstraint(fields=["whole", "place"], name="piece_once")]

    def __str__(self) -> str:
        return f"{self.whole_id}.{self.place}"
