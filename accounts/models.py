"""Who may do what, and who did what."""

from __future__ import annotations

import uuid

from django.contrib.auth.models import AbstractUser
from django.db import models


class User(AbstractUser):
    """A person. Signs in with password and second factor; agents are not users."""


class Space(models.Model):
    """The tenant boundary: every row of memory belongs to exactly one."""

    id = models.BigAutoField(primary_key=True)
    uuid = models.UUIDField(unique=True, default=uuid.uuid4)
    name = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField()

    def __str__(self) -> str:
        return self.name


class Agent(models.Model):
    """A machine caller of a space: it holds tokens and capabilities."""

    id = models.BigAutoField(primary_key=True)
    uuid = models.UUIDField(unique=True, default=uuid.uuid4)
    space = models.ForeignKey(Space, on_delete=models.PROTECT, related_name="agents")
    name = models.CharField(max_length=64)
    capabilities = models.JSONField(default=list)
    active = models.BooleanField(default=True)
    created_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["space", "name"], name="agent_space_name")]

    def __str__(self) -> str:
        return f"{self.space_id}/{self.name}"


class Token(models.Model):
    """A bearer token of an agent. Only its digest is kept; the text is shown once, at minting."""

    id = models.BigAutoField(primary_key=True)
    uuid = models.UUIDField(unique=True, default=uuid.uuid4)
    agent = models.ForeignKey(Agent, on_delete=models.PROTECT, related_name="tokens")
    prefix = models.CharField(max_length=8, unique=True)
    digest = models.CharField(max_length=64)
    ceiling = models.CharField(max_length=16)
    note = models.CharField(max_length=200, default="")
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)
    last_used_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"flux_{self.prefix}_…"


class AuditEntry(models.Model):
    """One link of a hash chain: `accounts/audit.py` says what is hashed."""

    class Outcome(models.TextChoices):
        DONE = "done"
        REFUSED = "refused"

    id = models.BigAutoField(primary_key=True)
    chain = models.CharField(max_length=32)  # hex id of a space, or "instance"
    seq = models.BigIntegerField()
    at = models.DateTimeField()
    actor = models.CharField(max_length=160)
    action = models.CharField(max_length=64)
    object = models.CharField(max_length=200)
    outcome = models.CharField(max_length=8, choices=Outcome.choices)
    reason = models.CharField(max_length=500, default="")
    details = models.TextField(default="{}")  # canonical JSON, hashed as it stands
    prev = models.CharField(max_length=64)
    hash = models.CharField(max_length=64)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["chain", "seq"], name="audit_chain_seq")]

    def __str__(self) -> str:
        return f"{self.chain}#{self.seq} {self.action}"


class Enrolment(models.Model):
    """A one-time link that lets the first administrator in. Only its digest is kept."""

    id = models.BigAutoField(primary_key=True)
    digest = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True)
    wrong_codes = models.PositiveSmallIntegerField(default=0)

    def __str__(self) -> str:
        return f"enrolment of {self.created_at:%Y-%m-%d %H:%M}"


class RefusalMinute(models.Model):
    """Refused requests without a valid token, counted per source and minute."""

    id = models.BigAutoField(primary_key=True)
    source = models.CharField(max_length=64)
    minute = models.DateTimeField()
    count = models.PositiveIntegerField(default=0)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["minute", "source"], name="refusal_minute_source")]

    def __str__(self) -> str:
        return f"{self.source} {self.minute:%H:%M} {self.count}"
