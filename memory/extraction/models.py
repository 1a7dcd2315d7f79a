"""Tables of extraction: texts that wait for the model, derived grains, model use, state of the model server."""

from __future__ import annotations

from django.db import models
from django.db.models import Q


class Extraction(models.Model):
    """Extraction request of a grain, and its place in the queue."""

    class ExtractionState(models.TextChoices):
        WAITING = "waiting"
        DONE = "done"
        GIVEN_UP = "given_up"

    id = models.BigAutoField(primary_key=True)
    space = models.ForeignKey("accounts.Space", on_delete=models.PROTECT, related_name="+", db_index=False)
    grain = models.OneToOneField("grains.Grain", on_delete=models.PROTECT, related_name="+")
    # Position in `origins.AUTHORITY` of the maximum provenance of its writer's token.
    ceiling = models.SmallIntegerField()
    asked_by = models.CharField(max_length=160, default="", db_default="")  # whose share of the budget it takes
    state = models.CharField(max_length=8, choices=ExtractionState.choices, default=ExtractionState.WAITING)
    tries = models.PositiveSmallIntegerField(default=0)
    asked_at = models.DateTimeField()
    due_at = models.DateTimeField()
    taken_until = models.DateTimeField(null=True)  # reserved by a worker that calls the model now
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
    """Source of a derived grain: the words of another grain that support it, as quoted by the model."""

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
    """Model use of one space on one day (UTC), counted before each call."""

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
    """Model use of one agent on one day (UTC), part of the budget of its space."""

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
    """State of one model at one address from its last calls, shared by all processes."""

    name = models.CharField(max_length=300, primary_key=True)  # address and model
    failures = models.PositiveIntegerField(default=0)  # in a row; 0: it is up
    down_since = models.DateTimeField(null=True)
    next_at = models.DateTimeField(null=True)  # while it is down: when the next call may be made
    well_at = models.DateTimeField(null=True)
    problem = models.CharField(max_length=200, default="")

    class Meta:
        db_table = "extraction_server"  # the name of release 0.5: tables keep theirs

    def __str__(self) -> str:
        return self.name
