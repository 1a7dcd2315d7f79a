"""Tables of clusters: their members, the usefulness of grains by cluster, and context shifts."""

from __future__ import annotations

import uuid

from django.db import models
from django.db.models import Q

from memory.grains.models.graph import Entry, Grain
from memory.grains.models.votes import Vote


class Cluster(models.Model):
    """Group of grains, or of entries, with more links among each other than to others. Keeps its id while most stay."""

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
    """Member of a cluster: a grain belongs to one cluster, an entry to several.

    The weight of a grain is how typical it is, 1 for the most typical; that of an entry is its share, all of which
    add up to 1.
    """

    id = models.BigAutoField(primary_key=True)
    space = models.ForeignKey("accounts.Space", on_delete=models.PROTECT, related_name="+", db_index=False)
    cluster = models.ForeignKey(Cluster, on_delete=models.PROTECT, related_name="+", db_index=False)
    grain = models.ForeignKey(Grain, on_delete=models.PROTECT, related_name="+", null=True, db_index=False)
    entry = models.ForeignKey(Entry, on_delete=models.PROTECT, related_name="+", null=True, db_index=False)
    weight = models.FloatField(default=1.0, db_default=1.0)

    class Meta:
        indexes = [models.Index(fields=["space", "cluster", "-weight", "id"], name="member_cluster")]
        constraints = [
            models.CheckConstraint(condition=Q(grain=None) ^ Q(entry=None), name="member_one_kind"),
            models.UniqueConstraint(fields=["space", "grain"], name="member_grain", condition=Q(entry=None)),
            models.UniqueConstraint(fields=["space", "entry", "cluster"], name="member_entry", condition=Q(grain=None)),
        ]

    def __str__(self) -> str:
        return f"{self.grain_id or self.entry_id} in {self.cluster_id}"


class ClusterUse(models.Model):
    """Usefulness of a grain through the entries of one cluster; use through many clusters makes it core.

    Always the sum of the grain's ClusterUseVote rows.
    """

    id = models.BigAutoField(primary_key=True)
    space = models.ForeignKey("accounts.Space", on_delete=models.PROTECT, related_name="+", db_index=False)
    grain = models.ForeignKey(Grain, on_delete=models.PROTECT, related_name="+", db_index=False)
    cluster = models.ForeignKey(Cluster, on_delete=models.PROTECT, related_name="+", db_index=False)
    weight = models.FloatField()
    at = models.DateTimeField()

    class Meta:
        db_table = "grains_touch"  # the name of release 0.5: tables keep theirs
        verbose_name_plural = "touches"
        indexes = [models.Index(fields=["space", "cluster", "weight"], name="touch_cluster")]
        constraints = [models.UniqueConstraint(fields=["space", "grain", "cluster"], name="touch_once")]

    def __str__(self) -> str:
        return f"{self.grain_id} in {self.cluster_id}"


class ClusterUseVote(models.Model):
    """Contribution of one useful vote to the ClusterUse of its grain, so that it can be undone exactly."""

    id = models.BigAutoField(primary_key=True)
    space = models.ForeignKey("accounts.Space", on_delete=models.PROTECT, related_name="+", db_index=False)
    vote = models.ForeignKey(Vote, on_delete=models.PROTECT, related_name="+", db_index=False)
    grain = models.ForeignKey(Grain, on_delete=models.PROTECT, related_name="+", db_index=False)
    cluster = models.ForeignKey(Cluster, on_delete=models.PROTECT, related_name="+", db_index=False)
    amount = models.BigIntegerField()  # in units of 2^-32

    class Meta:
        db_table = "grains_passage"  # the name of release 0.5: tables keep theirs
        indexes = [
            models.Index(fields=["space", "grain"], name="passage_grain"),
            models.Index(fields=["space", "cluster"], name="passage_cluster"),
        ]
        constraints = [models.UniqueConstraint(fields=["vote", "cluster"], name="passage_once")]

    def __str__(self) -> str:
        return f"{self.vote_id} through {self.cluster_id}"


class Clustering(models.Model):
    """Last clustering of a space and its size then, from which it is decided whether another is due."""

    id = models.BigAutoField(primary_key=True)
    space = models.OneToOneField("accounts.Space", on_delete=models.PROTECT, related_name="+")
    run = models.PositiveIntegerField()  # counts up; a run that finds another number than it began with is stale
    at = models.DateTimeField()
    grains = models.PositiveIntegerField()
    conduits = models.PositiveIntegerField()
    # Modularity of each layer, -0.5 to 1.
    of_grains = models.FloatField()
    of_entries = models.FloatField()

    def __str__(self) -> str:
        return f"run {self.run} of {self.space_id}"


class ContextShift(models.Model):
    """Context shift of a space: after a change of subject, recall explores for a number of recalls."""

    id = models.BigAutoField(primary_key=True)
    space = models.OneToOneField("accounts.Space", on_delete=models.PROTECT, related_name="+")
    judged = models.BigIntegerField()  # id of the newest judged question that was examined
    was = models.FloatField()  # success of the earlier half of the window when the last shift was seen
    became = models.FloatField()
    at = models.DateTimeField()
    remaining = models.PositiveIntegerField()  # recalls that still explore

    class Meta:
        db_table = "grains_shift"  # the name of release 0.5: tables keep theirs

    def __str__(self) -> str:
        return f"{self.remaining} recalls left in {self.space_id}"
