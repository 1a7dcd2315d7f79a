"""Tables of the lifecycle: transitions, last recalls, removals by people, tombstones of purged grains."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from memory.grains.models.graph import Grain


class Transition(models.Model):
    """Transition: one change of a grain's status or decay class, with reason, measured values and actor."""

    id = models.BigAutoField(primary_key=True)
    space = models.ForeignKey("accounts.Space", on_delete=models.PROTECT, related_name="+", db_index=False)
    grain = models.ForeignKey(Grain, on_delete=models.PROTECT, related_name="+", db_index=False)
    before = models.CharField(max_length=16)  # a status, or a decay class
    after = models.CharField(max_length=16)
    why = models.CharField(max_length=32)  # one of the reasons in `lifecycle/rules.py`
    numbers = models.JSONField(default=dict)  # measured values that decided it
    actor = models.CharField(max_length=160)
    reason = models.CharField(max_length=500, default="")  # a person's or an agent's own words
    at = models.DateTimeField()
    lived = models.FloatField()  # seconds the instance had lived: a clock that jumps does not end a window

    class Meta:
        indexes = [
            models.Index(fields=["space", "grain", "id"], name="transition_grain"),
            models.Index(fields=["space", "id"], name="transition_space"),
        ]

    def __str__(self) -> str:
        return f"{self.before} to {self.after}"


class LastRecall(models.Model):
    """Time of the last recall that returned a grain, kept longer than traces."""

    id = models.BigAutoField(primary_key=True)
    space = models.ForeignKey("accounts.Space", on_delete=models.PROTECT, related_name="+", db_index=False)
    grain = models.ForeignKey(Grain, on_delete=models.PROTECT, related_name="+", db_index=False)
    recalled_at = models.DateTimeField()

    class Meta:
        db_table = "grains_standing"  # the name of release 0.5: tables keep theirs
        constraints = [models.UniqueConstraint(fields=["space", "grain"], name="standing_of_a_grain")]

    def __str__(self) -> str:
        return f"{self.grain_id}"


class Removal(models.Model):
    """Removal: a person's decision that a text must not be recalled in a space; deleted by its undo or a purge.

    It covers every grain of that text whose authority is not higher than that of the grain they removed.
    """

    id = models.BigAutoField(primary_key=True)
    space = models.ForeignKey("accounts.Space", on_delete=models.PROTECT, related_name="+", db_index=False)
    digest = models.CharField(max_length=64)  # of the text, as `Grain.digest`
    status = models.CharField(max_length=16, choices=Grain.Status.choices)  # status of grains with this text
    authority = models.SmallIntegerField()  # position in `origins.AUTHORITY`; a lower position is a higher authority
    actor = models.CharField(max_length=160)
    at = models.DateTimeField()
    lived = models.FloatField()  # as in Transition: later grains of the text are purged together with the first
    # How often the text was stored again since, when last and by whom; shown to the person.
    repeats = models.PositiveIntegerField(default=0)
    repeated_at = models.DateTimeField(null=True)
    repeated_by = models.CharField(max_length=160, default="")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["space", "digest"], name="removal_of_a_text")]
        indexes = [models.Index(fields=["space", "repeated_at"], name="removal_repeated", condition=Q(repeats__gt=0))]

    def __str__(self) -> str:
        return f"{self.status} by {self.actor}"


class Tombstone(models.Model):
    """Tombstone of a purged grain: its id, without text or digest, from which the text could be guessed."""

    id = models.BigAutoField(primary_key=True)
    uuid = models.UUIDField(unique=True)  # of the grain
    space = models.ForeignKey("accounts.Space", on_delete=models.PROTECT, related_name="+", db_index=False)
    origin = models.CharField(max_length=16)
    recorded_at = models.DateTimeField()
    purged_at = models.DateTimeField()
    actor = models.CharField(max_length=160)
    links = models.PositiveIntegerField()  # conduits deleted with it
    votes = models.PositiveIntegerField()

    class Meta:
        indexes = [models.Index(fields=["space", "id"], name="tombstone_space")]

    def __str__(self) -> str:
        return str(self.uuid)


class Cursor(models.Model):
    """Cursor of a job that reads a growing table in pages."""

    name = models.CharField(max_length=64, primary_key=True)
    number = models.BigIntegerField()

    class Meta:
        db_table = "grains_bookmark"  # the name of release 0.5: tables keep theirs

    def __str__(self) -> str:
        return f"{self.name}: {self.number}"
