"""Tables of the graph: grains, entries, conduits, vectors.

Integer keys inside, UUIDs at the edge; every index leads with the space. Kinds that the arena loads by
the million (relation, decay class) are small numbers with names.
"""

from __future__ import annotations

import uuid

from django.db import models
from django.db.models import Q


class DecayClass(models.IntegerChoices):
    """Decay class: how fast links of a grain decay, core slowest. Decay deletes no grain."""

    WORKING = 0
    CORE = 1
    EPHEMERAL = 2


class Relation(models.IntegerChoices):
    """Relation between the two ends of a conduit."""

    RELATED = 0
    SUPPORTS = 1
    CONTRADICTS = 2
    SUPERSEDES = 3
    CAUSED_BY = 4
    NEXT = 5


class Grain(models.Model):
    """One immutable memory text with its origin. Its status, validity and confidence may change, its text never."""

    class Status(models.TextChoices):
        ACTIVE = "active"
        DORMANT = "dormant"
        ARCHIVED = "archived"
        QUARANTINED = "quarantined"
        PENDING_DELETION = "pending_deletion"

    id = models.BigAutoField(primary_key=True)
    uuid = models.UUIDField(unique=True, default=uuid.uuid4)
    space = models.ForeignKey("accounts.Space", on_delete=models.PROTECT, related_name="+", db_index=False)
    text = models.TextField()
    # SHA-256 of the normalised text: the same for equal texts, unrelated for similar ones.
    digest = models.CharField(max_length=64)
    # The audit chain has the digest with this salt only: a purge deletes the salt, and the rest reveals nothing.
    salt = models.CharField(max_length=32, default="", db_default="")
    origin = models.CharField(max_length=16)
    # Position in `origins.AUTHORITY`: that of its origin, or the lowest of the grains it was derived from.
    authority = models.SmallIntegerField(default=2, db_default=2)
    confidence = models.FloatField(default=1.0, db_default=1.0)
    decay_class = models.SmallIntegerField(
        choices=DecayClass.choices, default=DecayClass.WORKING, db_default=DecayClass.WORKING
    )
    status = models.CharField(max_length=16, choices=Status.choices, default=Status.ACTIVE)
    writer = models.CharField(max_length=160)
    label = models.CharField(max_length=128, default="")
    corroborations = models.PositiveIntegerField(default=0)
    # Pinned by a person: exempt from decay and clean-up.
    pinned = models.BooleanField(default=False, db_default=False)
    # Context of the text: a conversation (or any series), the place in it, the speaker, tags.
    session = models.CharField(max_length=128, default="", db_default="")
    ordinal = models.IntegerField(default=0, db_default=0)
    speaker = models.CharField(max_length=128, default="", db_default="")
    tags = models.JSONField(default=list, db_default=[])
    said_at = models.DateTimeField(null=True)  # as the caller states it; recorded_at is our time
    valid_from = models.DateTimeField(null=True)
    valid_to = models.DateTimeField(null=True)
    recorded_at = models.DateTimeField()
    # False until it has its vector and neighbours: rows with False are the queue of enrichment.
    enriched = models.BooleanField(default=False, db_default=False)

    class Meta:
        indexes = [
            models.Index(fields=["space", "status", "id"], name="grain_space_status"),
            models.Index(fields=["space", "session", "ordinal"], name="grain_session", condition=~Q(session="")),
            models.Index(fields=["space", "id"], name="grain_pending", condition=Q(enriched=False)),
            models.Index(fields=["space", "id"], name="grain_pinned", condition=Q(pinned=True)),
        ]
        constraints = [
            models.UniqueConstraint(fields=["space", "digest", "origin", "session"], name="grain_space_text_session")
        ]

    def __str__(self) -> str:
        return str(self.uuid)


class Entry(models.Model):
    """Entry of the graph (entity): a name, number, date or learned term at which the signal of a query starts."""

    class Kind(models.TextChoices):
        NAME = "name"
        NUMBER = "number"
        DATE = "date"
        TERM = "term"

    id = models.BigAutoField(primary_key=True)
    space = models.ForeignKey("accounts.Space", on_delete=models.PROTECT, related_name="+", db_index=False)
    kind = models.CharField(max_length=8, choices=Kind.choices)
    feature = models.CharField(max_length=128)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["space", "kind", "feature"], name="entry_space_feature")]

    def __str__(self) -> str:
        return self.feature


class Conduit(models.Model):
    """A directed, weighted, typed link from an entry or a grain to a grain.

    Times are whole seconds since 1970: the arena reads millions of them as numbers.
    """

    id = models.BigAutoField(primary_key=True)
    space = models.ForeignKey("accounts.Space", on_delete=models.PROTECT, related_name="+", db_index=False)
    from_entry = models.ForeignKey(Entry, on_delete=models.PROTECT, related_name="+", null=True, db_index=False)
    from_grain = models.ForeignKey(Grain, on_delete=models.PROTECT, related_name="+", null=True, db_index=False)
    to_grain = models.ForeignKey(Grain, on_delete=models.PROTECT, related_name="+", db_index=False)
    relation = models.SmallIntegerField(choices=Relation.choices, default=Relation.RELATED)
    weight = models.FloatField()
    # Affinity: how well the entry fits the grain, learned from votes; 1 between grains.
    affinity = models.FloatField(default=1.0, db_default=1.0)
    decay_class = models.SmallIntegerField(choices=DecayClass.choices, default=DecayClass.WORKING)
    made_at = models.BigIntegerField()
    used_at = models.BigIntegerField()
    use_count = models.PositiveIntegerField(default=0, db_default=0)
    # What votes made of it. Whole numbers add up in any order and are taken back to the last digit; the weight
    # follows from these three (`learning/credit.py`). Without a vote there is no base: it is the weight itself.
    base = models.FloatField(null=True)
    # Other values changed by votes, as they were before the first vote: an import may have set them.
    base_affinity = models.FloatField(null=True)
    base_used_at = models.BigIntegerField(null=True)
    base_uses = models.PositiveIntegerField(null=True)
    gain = models.BigIntegerField(default=0, db_default=0)
    loss = models.BigIntegerField(default=0, db_default=0)

    class Meta:
        indexes = [models.Index(fields=["space", "to_grain"], name="conduit_inward")]
        constraints = [
            models.CheckConstraint(condition=Q(from_entry=None) ^ Q(from_grain=None), name="conduit_one_beginning"),
            models.UniqueConstraint(
                fields=["space", "from_grain", "to_grain", "relation"],
                name="conduit_between_grains",
                condition=Q(from_entry=None),
            ),
            models.UniqueConstraint(
                fields=["space", "from_entry", "to_grain", "relation"],
                name="conduit_from_entry",
                condition=Q(from_grain=None),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.from_entry_id or self.from_grain_id} to {self.to_grain_id}"


class Vector(models.Model):
    """Vector of a grain by one encoder: int8 numbers, and the scale that makes them a unit vector."""

    id = models.BigAutoField(primary_key=True)
    space = models.ForeignKey("accounts.Space", on_delete=models.PROTECT, related_name="+", db_index=False)
    grain = models.ForeignKey(Grain, on_delete=models.PROTECT, related_name="+", db_index=False)
    encoder = models.CharField(max_length=64)
    dimension = models.SmallIntegerField()
    scale = models.FloatField()
    data = models.BinaryField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["space", "encoder", "grain"], name="vector_of_a_grain")]

    def __str__(self) -> str:
        return f"{self.encoder} {self.grain_id}"
