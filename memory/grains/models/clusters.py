"""What hangs together: clusters of grains and of entries, and which of them a grain was useful in."""

from __future__ import annotations

import uuid

from django.db import models
from django.db.models import Q

from memory.grains.models.graph import Entry, Grain


class Cluster(models.Model):
    """Grains, or entries, that are tied to each other more than to the rest. It keeps its id while most of it stays."""

    class Layer(models.IntegerChoices):
        GRAINS = 0
        ENTRIES = 1

    id = models.BigAutoField(primary_key=True)
    uuid = models.UUIDField(unique=True, default=uuid.uuid4)
    space = models.ForeignKey("accounts.Space", on_delete=models.PROTECT, related_name="+", db_index=False)
    layer = models.SmallIntegerField(choices=Layer.choices)
    name = models.CharField(max_length=200, default="")  # its most typical terms
    terms = models.JSONField(default=list, db_default=[])
    size = models.PositiveIntegerField(default=0, db_default=0)
    made_at = models.DateTimeField()
    changed_at = models.DateTimeField()
    dissolved_at = models.DateTimeField(null=True)

    class Meta:
        indexes = [models.Index(fields=["space", "layer", "id"], name="cluster_space")]

    def __str__(self) -> str:
        return self.name or str(self.uuid)


class Member(models.Model):
    """Who belongs to a cluster: a grain to one with its whole weight, an entry to several by its shares."""

    id = models.BigAutoField(primary_key=True)
    space = models.ForeignKey("accounts.Space", on_delete=models.PROTECT, related_name="+", db_index=False)
    cluster = models.ForeignKey(Cluster, on_delete=models.PROTECT, related_name="+", db_index=False)
    grain = models.ForeignKey(Grain, on_delete=models.PROTECT, related_name="+", null=True, db_index=False)
    entry = models.ForeignKey(Entry, on_delete=models.PROTECT, related_name="+", null=True, db_index=False)
    weight = models.FloatField(default=1.0, db_default=1.0)

    class Meta:
        indexes = [models.Index(fields=["space", "cluster", "id"], name="member_cluster")]
        constraints = [
            models.CheckConstraint(condition=Q(grain=None) ^ Q(entry=None), name="member_one_kind"),
            models.UniqueConstraint(fields=["space", "grain"], name="member_grain", condition=Q(entry=None)),
            models.UniqueConstraint(fields=["space", "entry", "cluster"], name="member_entry", condition=Q(grain=None)),
        ]

    def __str__(self) -> str:
        return f"{self.grain_id or self.entry_id} in {self.cluster_id}"


class Touch(models.Model):
    """How much of a grain's use came through the entries of one cluster: many clusters make it core."""

    id = models.BigAutoField(primary_key=True)
    space = models.ForeignKey("accounts.Space", on_delete=models.PROTECT, related_name="+", db_index=False)
    grain = models.ForeignKey(Grain, on_delete=models.PROTECT, related_name="+", db_index=False)
    cluster = models.ForeignKey(Cluster, on_delete=models.PROTECT, related_name="+", db_index=False)
    weight = models.FloatField()
    at = models.DateTimeField()

    class Meta:
        verbose_name_plural = "touches"
        indexes = [models.Index(fields=["space", "cluster", "weight"], name="touch_cluster")]
        constraints = [models.UniqueConstraint(fields=["space", "grain", "cluster"], name="touch_once")]

    def __str__(self) -> str:
        return f"{self.grain_id} in {self.cluster_id}"
