"""The table of review items."""

from __future__ import annotations

import uuid

from django.db import models
from django.db.models import Q


class ReviewItem(models.Model):
    """Something that waits for a decision, or waited for one. A subject has one open item of a kind."""

    class ReviewState(models.TextChoices):
        OPEN = "open"
        ACCEPTED = "accepted"
        DENIED = "denied"
        WITHDRAWN = "withdrawn"

    id = models.BigAutoField(primary_key=True)
    uuid = models.UUIDField(unique=True, default=uuid.uuid4)
    space = models.ForeignKey("accounts.Space", on_delete=models.PROTECT, related_name="+", db_index=False)
    kind = models.CharField(max_length=32)
    container = models.CharField(max_length=64)  # what the subject is in, such as the number of a store
    subject = models.CharField(max_length=1100)  # with the container: what the item is about
    target = models.CharField(max_length=1700)  # what scopes of capabilities match
    title = models.CharField(max_length=1400)
    state = models.CharField(max_length=16, choices=ReviewState, default=ReviewState.OPEN)
    origin = models.CharField(max_length=16)  # provenance of what is proposed
    authors = models.TextField()  # everybody who wrote it, each in a line of its own, with line ends around all
    label = models.CharField(max_length=128, default="")  # the one the newest author gave itself
    reason = models.CharField(max_length=500, default="")  # of the newest author
    created_at = models.DateTimeField()
    created_by = models.CharField(max_length=160)
    updated_at = models.DateTimeField()
    updated_by = models.CharField(max_length=160)
    decided_at = models.DateTimeField(null=True)
    decided_by = models.CharField(max_length=160, default="")
    decision_reason = models.CharField(max_length=500, default="")
    details = models.JSONField(default=dict)  # what the kind needs to describe and to decide it

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["space", "kind", "container", "subject"], condition=Q(state="open"), name="review_once"
            )
        ]
        indexes = [
            models.Index(fields=["space", "state", "id"], name="review_queue"),
            models.Index(fields=["kind", "container"], name="review_container"),
        ]

    def __str__(self) -> str:
        return self.title

    @staticmethod
    def by_author(actor: str) -> Q:
        """The items that somebody has written."""
        return Q(authors__contains=f"\n{actor}\n")

    @property
    def author_names(self) -> list[str]:
        return self.authors.strip("\n").split("\n")
