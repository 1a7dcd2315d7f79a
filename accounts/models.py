"""Models of people, spaces, agents, tokens, grants, sign-in and the audit log."""

from __future__ import annotations

import hashlib
import uuid
from typing import Any

from django.contrib.auth.models import AbstractUser
from django.contrib.sessions.base_session import AbstractBaseSession
from django.db import models
from django_otp.models import Device


class User(AbstractUser):  # type: ignore[django-manager-missing]
    """A person, who signs in with password and second factor. Agents are not users.

    A superuser is an administrator: owner of every space and of the instance. Other people see the spaces they are
    members of.
    """


class Space(models.Model):
    """A space, the tenant boundary: every memory belongs to exactly one."""

    id = models.BigAutoField(primary_key=True)
    uuid = models.UUIDField(unique=True, default=uuid.uuid4)
    name = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField()

    def __str__(self) -> str:
        return self.name


class Membership(models.Model):
    """Role of a person in a space (`accounts/roles.py`)."""

    class Role(models.TextChoices):
        OWNER = "owner"
        OPERATOR = "operator"
        VIEWER = "viewer"

    id = models.BigAutoField(primary_key=True)
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="memberships")
    space = models.ForeignKey(Space, on_delete=models.PROTECT, related_name="memberships")
    role = models.CharField(max_length=8, choices=Role.choices)
    created_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "space"], name="membership_user_space")]

    def __str__(self) -> str:
        return f"{self.user_id} {self.role} of {self.space_id}"


class Agent(models.Model):
    """An agent: a program that uses a space, with tokens and capabilities."""

    class Trust(models.TextChoices):
        """Maximum trust level of an agent (`accounts/trust.py`)."""

        UNTRUSTED = "untrusted"
        SANDBOXED = "sandboxed"
        TRUSTED = "trusted"
        PRIVILEGED = "privileged"

    id = models.BigAutoField(primary_key=True)
    uuid = models.UUIDField(unique=True, default=uuid.uuid4)
    space = models.ForeignKey(Space, on_delete=models.PROTECT, related_name="agents")
    name = models.CharField(max_length=64)
    capabilities = models.JSONField(default=list)
    trust = models.CharField(max_length=10, choices=Trust.choices, default=Trust.TRUSTED)
    # An agent never has a capability that its parent lacks.
    parent = models.ForeignKey("self", on_delete=models.PROTECT, null=True, related_name="children")
    active = models.BooleanField(default=True)
    # Whether recalls are refused while feedback on the agent's earlier answers is missing.
    must_rate = models.BooleanField(default=False, db_default=False)
    # Groups of MCP tools in addition to the default ones (`accounts/tool_groups.py`).
    tools = models.JSONField(default=list)
    created_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["space", "name"], name="agent_space_name")]

    def __str__(self) -> str:
        return f"{self.space_id}/{self.name}"


class Token(models.Model):
    """A bearer token of an agent. Only its digest is stored; the text is shown once, when it is minted."""

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
    """An audit entry, part of a hash chain (`accounts/audit/chain.py`)."""

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
    details = models.TextField(default="{}")  # canonical JSON, hashed unchanged
    prev = models.CharField(max_length=64)
    hash = models.CharField(max_length=64)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["chain", "seq"], name="audit_chain_seq")]

    def __str__(self) -> str:
        return f"{self.chain}#{self.seq} {self.action}"


class Grant(models.Model):
    """A capability granted to an agent in addition to its own, until it expires or is revoked."""

    id = models.BigAutoField(primary_key=True)
    uuid = models.UUIDField(unique=True, default=uuid.uuid4)
    agent = models.ForeignKey(Agent, on_delete=models.PROTECT, related_name="grants")
    capability = models.CharField(max_length=600)
    reason = models.CharField(max_length=500, default="")
    granted_by = models.CharField(max_length=160)
    granted_at = models.DateTimeField()
    expires_at = models.DateTimeField(null=True)
    revoked_by = models.CharField(max_length=160, default="")
    revoked_at = models.DateTimeField(null=True)

    class Meta:
        indexes = [models.Index(fields=["agent", "revoked_at"], name="grant_agent_open")]

    def __str__(self) -> str:
        return self.capability


class GrantRequest(models.Model):
    """An agent's request for a capability it lacks."""

    class RequestState(models.TextChoices):
        WAITING = "waiting"
        ACCEPTED = "accepted"
        DECLINED = "declined"

    id = models.BigAutoField(primary_key=True)
    uuid = models.UUIDField(unique=True, default=uuid.uuid4)
    agent = models.ForeignKey(Agent, on_delete=models.PROTECT, related_name="grant_requests")
    capability = models.CharField(max_length=600)
    reason = models.CharField(max_length=500, default="")  # as given by the agent
    state = models.CharField(max_length=8, choices=RequestState.choices, default=RequestState.WAITING)
    asked_at = models.DateTimeField()
    answered_by = models.CharField(max_length=160, default="")
    answered_at = models.DateTimeField(null=True)
    answer = models.CharField(max_length=500, default="")
    grant = models.OneToOneField(Grant, on_delete=models.PROTECT, null=True, related_name="request")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["agent", "capability"], condition=models.Q(state="waiting"), name="grant_request_waiting"
            )
        ]
        indexes = [models.Index(fields=["state", "id"], name="grant_request_state")]

    def __str__(self) -> str:
        return f"{self.agent_id} asks for {self.capability}"


class Authenticator(Device):  # type: ignore[misc]
    """A person's authenticator app. Its key is stored encrypted with the instance's secret key."""

    sealed_key = models.CharField(max_length=200)
    # Newest time step whose code was used; codes of this step and earlier ones are refused.
    last_step = models.BigIntegerField(default=-1)
    created_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user"], name="authenticator_user")]


class BackupCode(models.Model):
    """A backup code, which replaces the authenticator app once. Only a keyed digest is stored."""

    id = models.BigAutoField(primary_key=True)
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="backup_codes")
    digest = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"backup code {self.pk} of {self.user_id}"


class SessionKeyField(models.CharField):  # type: ignore[type-arg]
    """Session key stored as a digest, so that nobody who reads the database can take over a session."""

    def get_prep_value(self, value: Any) -> Any:
        prepared = super().get_prep_value(value)
        return hashlib.sha256(prepared.encode()).hexdigest() if prepared and len(prepared) == 32 else prepared


class GuessCount(models.Model):
    """Wrong attempts at one secret, for the lock-out (`accounts/signin/lockout.py`)."""

    id = models.BigAutoField(primary_key=True)
    key = models.CharField(max_length=80, unique=True)
    count = models.PositiveIntegerField(default=0)
    last_at = models.DateTimeField()
    day_count = models.PositiveIntegerField(default=0)
    day_from = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.key} {self.count}"


class Session(AbstractBaseSession):
    """A browser session; after sign-in with its user, address and browser."""

    session_key = SessionKeyField(max_length=64, primary_key=True)
    user = models.ForeignKey(User, on_delete=models.CASCADE, null=True, related_name="sessions")
    created_at = models.DateTimeField()
    seen_at = models.DateTimeField()
    source = models.CharField(max_length=64, default="")
    browser = models.CharField(max_length=200, default="")

    @classmethod
    def get_session_store_class(cls) -> Any:
        from accounts.signin.sessions import SessionStore  # imports this model

        return SessionStore

    def __str__(self) -> str:
        return f"session of {self.user_id or 'a visitor'}"


class Enrolment(models.Model):
    """A one-time link from the shell or an administrator. Only its digest is stored."""

    class Purpose(models.TextChoices):
        FIRST = "first"  # become the first administrator
        ACCOUNT = "account"  # choose password and second factor of a new account
        FACTOR = "factor"  # replace a lost second factor; needs the password
        UNLOCK = "unlock"  # sign in while the user name is locked by other people's attempts

    id = models.BigAutoField(primary_key=True)
    purpose = models.CharField(max_length=8, choices=Purpose.choices, default=Purpose.FIRST)
    user = models.ForeignKey(User, on_delete=models.CASCADE, null=True, related_name="enrolments")
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
