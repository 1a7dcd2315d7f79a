"""Tables of health: hourly sums, counted questions, measured state of each space, readings, warnings."""

from __future__ import annotations

from django.db import models
from django.db.models import Q


class LogPosition(models.Model):
    """Position up to which the event log was counted. One row."""

    id = models.PositiveSmallIntegerField(primary_key=True)
    xid = models.BigIntegerField(default=0)
    event = models.BigIntegerField(default=0)

    class Meta:
        db_table = "health_place"  # the name of release 0.5: tables keep theirs

    def __str__(self) -> str:
        return f"{self.xid}.{self.event}"


class HourlySum(models.Model):
    """Sum of one quantity in one hour, of a space or of one caller in it. Values only increase."""

    id = models.BigAutoField(primary_key=True)
    space = models.ForeignKey("accounts.Space", on_delete=models.PROTECT, related_name="+", db_index=False)
    who = models.CharField(max_length=160, default="")  # "": the space as a whole
    hour = models.IntegerField()  # hours since 1970; 0: sum of all time
    name = models.CharField(max_length=32)
    value = models.FloatField()

    class Meta:
        db_table = "health_tally"  # the name of release 0.5: tables keep theirs
        verbose_name_plural = "tallies"
        indexes = [models.Index(fields=["space", "hour"], name="tally_callers", condition=~Q(who=""))]
        constraints = [models.UniqueConstraint(fields=["space", "who", "hour", "name"], name="tally_once")]

    def __str__(self) -> str:
        return f"{self.name} {self.value:g}"


class CountedQuestion(models.Model):
    """State of one judged question as it was counted, so that a changed vote changes the sums by the difference."""

    id = models.BigAutoField(primary_key=True)
    space = models.ForeignKey("accounts.Space", on_delete=models.PROTECT, related_name="+", db_index=False)
    judged = models.BigIntegerField(unique=True)  # id of the question
    who = models.CharField(max_length=160)
    hour = models.IntegerField()  # hour of the question
    confidence = models.FloatField(null=True)  # of the answer; None: its trace was deleted
    judged_now = models.BooleanField()  # whether it has any vote
    useful = models.BooleanField()  # whether any result of the answer was useful
    evidence = models.BooleanField()  # whether a right answer is known

    class Meta:
        db_table = "health_verdict"  # the name of release 0.5: tables keep theirs
        indexes = [models.Index(fields=["space", "judged"], name="verdict_evidence", condition=Q(evidence=True))]

    def __str__(self) -> str:
        return f"{'useful' if self.useful else 'not useful'}: {self.judged}"


class SpaceHealth(models.Model):
    """Health of one space: its last measurement, and the state of the running count."""

    id = models.BigAutoField(primary_key=True)
    space = models.OneToOneField("accounts.Space", on_delete=models.PROTECT, related_name="+")
    beat = models.BigIntegerField(default=0)  # number of measurements; of two at once only one is written
    measured_at = models.DateTimeField(null=True, db_index=True)
    status = models.CharField(max_length=8, default="healthy")
    signals = models.JSONField(default=dict)  # by signal, the fields of `warning_rules.SignalStatus`
    levels = models.JSONField(default=dict)  # numbers of grains and links by the last complete count
    walk = models.JSONField(default=dict)  # state of a running count
    moved = models.BigIntegerField(default=0)  # number of observed changes of the graph
    counted = models.BigIntegerField(default=-1)  # value of `moved` when the last complete count began
    replay = models.JSONField(default=dict)  # effect of learning, by the last replay

    class Meta:
        db_table = "health_condition"  # the name of release 0.5: tables keep theirs

    def __str__(self) -> str:
        return self.status


class Reading(models.Model):
    """Value of one signal at one time, with its healthy range at that time."""

    id = models.BigAutoField(primary_key=True)
    space = models.ForeignKey("accounts.Space", on_delete=models.PROTECT, related_name="+", db_index=False)
    at = models.BigIntegerField()  # seconds since 1970, because pages group them by hours
    signal = models.CharField(max_length=40)
    value = models.FloatField(null=True)
    low = models.FloatField(null=True)
    high = models.FloatField(null=True)
    state = models.CharField(max_length=8)
    hourly = models.BooleanField()  # first of its hour, which is kept longer

    class Meta:
        indexes = [models.Index(fields=["at"], name="reading_fine", condition=Q(hourly=False))]
        constraints = [models.UniqueConstraint(fields=["space", "at", "signal"], name="reading_once")]

    def __str__(self) -> str:
        return f"{self.signal} {self.value}"


class Warning(models.Model):
    """Warning about a signal outside its healthy range, with begin and end."""

    class Severity(models.TextChoices):
        INFO = "INFO"
        WARNING = "WARNING"
        CRITICAL = "CRITICAL"

    id = models.BigAutoField(primary_key=True)
    space = models.ForeignKey("accounts.Space", on_delete=models.PROTECT, related_name="+", db_index=False)
    signal = models.CharField(max_length=40)
    severity = models.CharField(max_length=8, choices=Severity.choices)
    value = models.FloatField(null=True)
    low = models.FloatField(null=True)
    high = models.FloatField(null=True)
    times = models.PositiveIntegerField()  # how often it was raised; 1: first time
    raised_at = models.DateTimeField()
    seen_at = models.DateTimeField()
    cleared_at = models.DateTimeField(null=True)
    acknowledged_at = models.DateTimeField(null=True)
    acknowledged_by = models.CharField(max_length=160, default="")
    alerted_at = models.DateTimeField(null=True)  # when the webhook took it

    class Meta:
        indexes = [models.Index(fields=["space", "id"], name="warning_space")]
        constraints = [
            models.UniqueConstraint(fields=["space", "signal"], name="warning_open", condition=Q(cleared_at=None))
        ]

    def __str__(self) -> str:
        return self.signal
