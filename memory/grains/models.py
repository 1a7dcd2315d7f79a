"""What is remembered."""

from __future__ import annotations

import uuid

from django.db import models


class Grain(models.Model):
    """One immutable memory text with its origin. Integer key inside, UUID at the edge."""

    class Status(models.TextChoices):
        ACTIVE = "active"
        DORMANT = "dormant"
        ARCHIVED = "archived"
        QUARANTINED = "quarantined"
        PENDING_DELETION = "pending_deletion"

    id = models.BigAutoField(primary_key=True)
    uuid = models.UUIDField(unique=True, default=uuid.uuid4)
    space = models.ForeignKey("accounts.Space", on_delete=models.PROTECT, related_name="+")
    text = models.TextField()
    # SHA-256 of the normalised text: equal statements meet here, near ones never do.
    digest = models.CharField(max_length=64)
    origin = models.CharField(max_length=16)
    status = models.CharField(max_length=16, choices=Status.choices, default=Status.ACTIVE)
    writer = models.CharField(max_length=160)
    label = models.CharField(max_length=128, default="")
    corroborations = models.PositiveIntegerField(default=0)
    # A person's word that this one matters: decay and clean-up leave it alone.
    pinned = models.BooleanField(default=False, db_default=False)
    recorded_at = models.DateTimeField()

    class Meta:
        indexes = [models.Index(fields=["space", "status", "id"], name="grain_space_status")]
        constraints = [models.UniqueConstraint(fields=["space", "digest", "origin"], name="grain_space_text_origin")]

    def __str__(self) -> str:
        return str(self.uuid)
