"""Who may do what, and who did what."""

from __future__ import annotations

import hashlib
import uuid
from typing import Any

from django.contrib.auth.models import AbstractUser
from django.contrib.sessions.base_session import AbstractBaseSession
from django.db import models
from django_otp.models import Device


class User(AbstractUser):  # type: ignore[django-manager-missing]
    """A person. Signs in with password and second factor; agents are not users.

    A superuser is an administrator: owner of every space and of the instance. Everybody else sees the
    spaces they are a member of.
    """


class Space(models.Model):
    """The tenant boundary: every row of memory belongs to exactly one."""

    id = models.BigAutoField(primary_key=True)
    uuid = models.UUIDField(unique=True, default=uuid.uuid4)
    name = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField()

    def __str__(self) -> str:
        return self.name


class Membership(models.Model):
    """What a person is in a space; `accounts/roles.py` says what that allows."""

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
    """A machine caller of a space: it holds tokens and capabilities."""

    class Trust(models.TextChoices):
        """How far an agent may ever be let; `accounts/trust.py` says what each level reaches."""

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
    # An agent that was made for another one never holds what that one lacks.
    parent = models.ForeignKey("self", on_delete=models.PROTECT, null=True, related_name="children")
    active = models.BooleanField(default=True)
    # Asked for by its people: it recalls no further while earlier answers of its own wait for a vote.
    must_rate = models.BooleanField(default=False, db_default=False)
    # Groups of MCP tools beyond the usual ones (`accounts/tool_groups.py`): a long list distracts every model.
    tools = models.JSONField(default=list)
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
    """One link of a hash chain: `accounts/audit/chain.py` says what is hashed."""

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


class Grant(models.Model):
    """A capability added to an agent at run time, until it expires or is taken back."""

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
    """A refused action an agent asked a person about."""

    class State(models.TextChoices):
        WAITING = "waiting"
        ACCEPTED = "accepted"
        DECLINED = "declined"

    id = models.BigAutoField(primary_key=True)
    uuid = models.UUIDField(unique=True, default=uuid.uuid4)
    agent = models.ForeignKey(Agent, on_delete=models.PROTECT, related_name="grant_requests")
    capability = models.CharField(max_length=600)
    reason = models.CharField(max_length=500, default="")  # the agent's words
    state = models.CharField(max_length=8, choices=State.choices, default=State.WAITING)
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
    """A person's authenticator app. Its key is sealed with the instance's key, never kept in clear."""

    sealed_key = models.CharField(max_length=200)
    # The newest time step whose code was used: it and everything before it are spent.
    last_step = models.BigIntegerField(default=-1)
    created_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user"], name="authenticator_user")]


class BackupCode(models.Model):
    """One way in without the phone, good once. Only a keyed digest is kept."""

    id = models.BigAutoField(primary_key=True)
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="backup_codes")
    digest = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"backup code {self.pk} of {self.user_id}"


class SessionKeyField(models.CharField):  # type: ignore[type-arg]
    """Written and looked up as a digest, so that who reads the database cannot take over a session."""

    def get_prep_value(self, value: Any) -> Any:
        prepared = super().get_prep_value(value)
        return hashlib.sha256(prepared.encode()).hexdigest() if prepared and len(prepared) == 32 else prepared


class GuessCount(models.Model):
    """Guesses at one secret; `accounts/signin/lockout.py` says when no more are looked at."""

    id = models.BigAutoField(primary_key=True)
    key = models.CharField(max_length=80, unique=True)
    count = models.PositiveIntegerField(default=0)
    last_at = models.DateTimeField()
    day_count = models.PositiveIntegerField(default=0)
    day_from = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.key} {self.count}"


class Session(AbstractBaseSession):
    """A visitor's session; once somebody signs in, whose it is and where it came from."""

    session_key = SessionKeyField(max_length=64, primary_key=True)
    user = models.ForeignKey(User, on_delete=models.CASCADE, null=True, related_name="sessions")
    created_at = models.DateTimeField()
    seen_at = models.DateTimeField()
    source = models.CharField(max_length=64, default="")
    browser = models.CharField(max_length=200, default="")

    @classmethod
    def get_session_store_class(cls) -> Any:
        from accounts.signin.sessions import SessionStore  # it is made of this model

        return SessionStore

    def __str__(self) -> str:
        return f"session of {self.user_id or 'a visitor'}"


class Enrolment(models.Model):
    """A one-time link from the shell or an administrator. Only its digest is kept."""

    class Purpose(models.TextChoices):
        FIRST = "first"  # become the first administrator
        ACCOUNT = "account"  # choose password and second factor of an account that was made for you
        FACTOR = "factor"  # replace a lost second factor; the password is still asked for
        UNLOCK = "unlock"  # sign in while somebody else's guesses keep the name locked

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
