"""What health is read from and what was read: sums that only grow, one condition per space, readings, warnings."""

from __future__ import annotations

from django.db import models
from django.db.models import Q


class LogPosition(models.Model):
    """How far the event log has been counted. One row."""

    id = models.PositiveSmallIntegerField(primary_key=True)
    xid = models.BigIntegerField(default=0)
    event = models.BigIntegerField(default=0)

    class Meta:
        db_table = "health_place"  # the name of release 0.5: tables keep theirs

    def __str__(self) -> str:
        return f"{self.xid}.{self.event}"


class HourlySum(models.Model):
    """How much of something there was in one hour, of a space or of one caller in it. Only ever added to."""

    id = models.BigAutoField(primary_key=True)
    space = models.ForeignKey("accounts.Space", on_delete=models.PROTECT, related_name="+", db_index=False)
    who = models.CharField(max_length=160, default="")  # "": the space as a whole
    hour = models.IntegerField()  # since 1970; 0: ever
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
    """What was counted of one judged question, so that a vote which changes changes the sums by the difference."""

    id = models.BigAutoField(primary_key=True)
    space = models.ForeignKey("accounts.Space", on_delete=models.PROTECT, related_name="+", db_index=False)
    judged = models.BigIntegerField(unique=True)  # the question's own number
    who = models.CharField(max_length=160)
    hour = models.IntegerField()  # in which it was asked
    confidence = models.FloatField(null=True)  # of the answer; None: its receipt is gone
    judged_now = models.BooleanField()  # whether any vote on it stands
    useful = models.BooleanField()  # whether something of the answer was
    evidence = models.BooleanField()  # whether it is known what would have answered it

    class Meta:
        db_table = "health_verdict"  # the name of release 0.5: tables keep theirs
        indexes = [models.Index(fields=["space", "judged"], name="verdict_evidence", condition=Q(evidence=True))]

    def __str__(self) -> str:
        return f"{'useful' if self.useful else 'not useful'}: {self.judged}"


class SpaceHealth(models.Model):
    """How one space is: what was last counted and measured of it, and how far the counting has come."""

    id = models.BigAutoField(primary_key=True)
    space = models.OneToOneField("accounts.Space", on_delete=models.PROTECT, related_name="+")
    beat = models.BigIntegerField(default=0)  # measurements so far: of two at once only one counts
    measured_at = models.DateTimeField(null=True, db_index=True)
    status = models.CharField(max_length=8, default="healthy")
    signals = models.JSONField(default=dict)  # by name, as `dwell.Held` has it
    levels = models.JSONField(default=dict)  # what is there, as of the last whole count
    walk = models.JSONField(default=dict)  # a count under way
    moved = models.BigIntegerField(default=0)  # how often the graph was seen to change
    counted = models.BigIntegerField(default=-1)  # that number when the last whole count began
    replay = models.JSONField(default=dict)  # what learning was worth, by the last `flux_eval`

    class Meta:
        db_table = "health_condition"  # the name of release 0.5: tables keep theirs

    def __str__(self) -> str:
        return self.status


class Reading(models.Model):
    """The value of one signal at one moment, with the range that was healthy then."""

    id = models.BigAutoField(primary_key=True)
    space = models.ForeignKey("accounts.Space", on_delete=models.PROTECT, related_name="+", db_index=False)
    at = models.BigIntegerField()  # seconds since 1970: pages gather them by hours
    signal = models.CharField(max_length=40)
    value = models.FloatField(null=True)
    low = models.FloatField(null=True)
    high = models.FloatField(null=True)
    state = models.CharField(max_length=8)
    hourly = models.BooleanField()  # the first of its hour is kept longer

    class Meta:
        indexes = [models.Index(fields=["at"], name="reading_fine", condition=Q(hourly=False))]
        constraints = [models.UniqueConstraint(fields=["space", "at", "signal"], name="reading_once")]

    def __str__(self) -> str:
        return f"{self.signal} {self.value}"


class Warning(models.Model):
    """A signal that left its range and stayed outside, from when until when."""

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
    times = models.PositiveIntegerField()  # 1: never before
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
