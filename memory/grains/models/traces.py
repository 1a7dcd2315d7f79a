"""Tables of traces: one row for each recall, and one for each grain it returned."""

from __future__ import annotations

import uuid

from django.db import models
from django.db.models import Q

from memory.grains.models.graph import Grain


class Trace(models.Model):
    """Trace of one recall: who asked what, which grains were returned, and by which path."""

    id = models.BigAutoField(primary_key=True)
    uuid = models.UUIDField(unique=True, default=uuid.uuid4)
    space = models.ForeignKey("accounts.Space", on_delete=models.PROTECT, related_name="+", db_index=False)
    actor = models.CharField(max_length=160)
    label = models.CharField(max_length=128, default="")
    at = models.DateTimeField()
    query = models.TextField()
    rung = models.CharField(max_length=16)
    confidence = models.FloatField()
    hop_count = models.SmallIntegerField()
    # JSON as `traces.py` writes and reads it: features, grains with their contributions, top paths.
    body = models.TextField()
    # Whether its caller gave feedback; True for an answer without grains, which needs none.
    rated = models.BooleanField(default=True, db_default=True)

    class Meta:
        indexes = [
            models.Index(fields=["space", "id"], name="trace_space"),
            models.Index(fields=["space", "actor", "id"], name="trace_unrated", condition=Q(rated=False)),
        ]

    def __str__(self) -> str:
        return str(self.uuid)


class TraceGrain(models.Model):
    """One grain returned by one recall, so that the page of a grain can list its recalls.

    Not a foreign key: either end may be deleted, and rows without one are not shown.
    """

    id = models.BigAutoField(primary_key=True)
    space = models.ForeignKey("accounts.Space", on_delete=models.PROTECT, related_name="+", db_index=False)
    grain = models.ForeignKey(Grain, on_delete=models.DO_NOTHING, related_name="+", db_index=False, db_constraint=False)
    trace = models.ForeignKey(Trace, on_delete=models.DO_NOTHING, related_name="+", db_index=False, db_constraint=False)
    place = models.SmallIntegerField()  # 1 for the first

    class Meta:
        db_table = "grains_recalled"  # the name of release 0.5: tables keep theirs
        indexes = [
            models.Index(fields=["space", "grain", "trace"], name="recalled_grain"),
            models.Index(fields=["space", "trace"], name="recalled_trace"),
        ]

    def __str__(self) -> str:
        return f"{self.grain_id} by {self.trace_id}"
