"""What waits for the model, what the model made of it, what that cost, and how the model is."""

from __future__ import annotations

from django.db import models
from django.db.models import Q


class Extraction(models.Model):
    """A grain whose statements the model is to find. The row is its own place in the queue."""

    class ExtractionState(models.TextChoices):
        WAITING = "waiting"
        DONE = "done"
        GIVEN_UP = "given_up"

    id = models.BigAutoField(primary_key=True)
    space = models.ForeignKey("accounts.Space", on_delete=models.PROTECT, related_name="+", db_index=False)
    grain = models.OneToOneField("grains.Grain", on_delete=models.PROTECT, related_name="+")
    # Position in `origins.AUTHORITY` of the highest origin its writer's token could vouch for.
    ceiling = models.SmallIntegerField()
    asked_by = models.CharField(max_length=160, default="", db_default="")  # whose share of the budget it takes
    state = models.CharField(max_length=8, choices=ExtractionState.choices, default=ExtractionState.WAITING)
    tries = models.PositiveSmallIntegerField(default=0)
    asked_at = models.DateTimeField()
    due_at = models.DateTimeField()
    taken_until = models.DateTimeField(null=True)  # somebody asks the model about it now
    finished_at = models.DateTimeField(null=True)
    found = models.PositiveSmallIntegerField(default=0)
    problem = models.CharField(max_length=200, default="")

    class Meta:
        indexes = [
            models.Index(fields=["space", "due_at", "id"], name="extraction_waiting", condition=Q(state="waiting")),
            models.Index(fields=["space", "id"], name="extraction_given_up", condition=Q(state="given_up")),
        ]

    def __str__(self) -> str:
        return f"{self.state} {self.grain_id}"


class DerivedGrain(models.Model):
    """Which words of which grain a statement rests on, by the model's word."""

    id = models.BigAutoField(primary_key=True)
    space = models.ForeignKey("accounts.Space", on_delete=models.PROTECT, related_name="+", db_index=False)
    source = models.ForeignKey("grains.Grain", on_delete=models.PROTECT, related_name="+", db_index=False)
    grain = models.ForeignKey("grains.Grain", on_delete=models.PROTECT, related_name="+")
    begins = models.PositiveIntegerField()  # characters of the source's text
    ends = models.PositiveIntegerField()
    model = models.CharField(max_length=120)
    at = models.DateTimeField()

    class Meta:
        db_table = "extraction_derived"  # the name of release 0.5: tables keep theirs
        verbose_name_plural = "derived"
        constraints = [models.UniqueConstraint(fields=["source", "grain"], name="derived_once")]

    def __str__(self) -> str:
        return f"{self.grain_id} from {self.source_id}"


class ModelSpend(models.Model):
    """What one space has spent on the model in one day (UTC). Counted before a call is made, never given back."""

    id = models.BigAutoField(primary_key=True)
    space = models.ForeignKey("accounts.Space", on_delete=models.PROTECT, related_name="+", db_index=False)
    day = models.DateField()
    calls = models.PositiveIntegerField(default=0)
    failed = models.PositiveIntegerField(default=0)
    tokens = models.BigIntegerField(default=0)

    class Meta:
        db_table = "extraction_spend"  # the name of release 0.5: tables keep theirs
        constraints = [models.UniqueConstraint(fields=["space", "day"], name="spend_space_day")]

    def __str__(self) -> str:
        return f"{self.day} {self.calls}"


class AgentSpend(models.Model):
    """What one agent has spent of its space's budget in one day (UTC)."""

    id = models.BigAutoField(primary_key=True)
    space = models.ForeignKey("accounts.Space", on_delete=models.PROTECT, related_name="+", db_index=False)
    day = models.DateField()
    who = models.CharField(max_length=160)  # "agent:alice"
    calls = models.PositiveIntegerField(default=0)
    tokens = models.BigIntegerField(default=0)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["space", "day", "who"], name="spend_agent_day")]

    def __str__(self) -> str:
        return f"{self.day} {self.who} {self.calls}"


class ModelServer(models.Model):
    """How one model at one address is, by how its last calls went, over all processes."""

    name = models.CharField(max_length=300, primary_key=True)  # address and model
    failures = models.PositiveIntegerField(default=0)  # in a row; 0: it is well
    down_since = models.DateTimeField(null=True)
    next_at = models.DateTimeField(null=True)  # while it is down: when the next call may be made
    well_at = models.DateTimeField(null=True)
    problem = models.CharField(max_length=200, default="")

    class Meta:
        db_table = "extraction_server"  # the name of release 0.5: tables keep theirs

    def __str__(self) -> str:
        return self.name
