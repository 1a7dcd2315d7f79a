"""Tables of feedback: judged questions, votes, their effects on conduits, pairs of grains, ranker weights."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from memory.grains.models.graph import Conduit, Grain


class JudgedQuestion(models.Model):
    """A question whose answer got votes, kept when its trace is deleted, because votes refer to it."""

    id = models.BigAutoField(primary_key=True)
    uuid = models.UUIDField(unique=True)  # of the trace
    space = models.ForeignKey("accounts.Space", on_delete=models.PROTECT, related_name="+", db_index=False)
    actor = models.CharField(max_length=160)
    label = models.CharField(max_length=128, default="")
    asked_at = models.DateTimeField()
    query = models.TextField()
    # As the arena reads it: 64-bit keys of its terms, and its vector as one encoder sees it.
    terms = models.BinaryField()
    encoder = models.CharField(max_length=64, default="")
    scale = models.FloatField(null=True)
    data = models.BinaryField(null=True)

    class Meta:
        db_table = "grains_judged"  # the name of release 0.5: tables keep theirs
        verbose_name_plural = "judged"
        indexes = [
            models.Index(fields=["space", "actor", "id"], name="judged_by"),
            models.Index(fields=["space", "id"], name="judged_last"),
        ]

    def __str__(self) -> str:
        return self.query


class Vote(models.Model):
    """Vote of a caller on one grain of an answer: the last one counts, and can be withdrawn.

    `scale` is fixed when the vote is given, so that votes may be applied in any order.
    """

    id = models.BigAutoField(primary_key=True)
    space = models.ForeignKey("accounts.Space", on_delete=models.PROTECT, related_name="+", db_index=False)
    judged = models.ForeignKey(JudgedQuestion, on_delete=models.PROTECT, related_name="+", db_index=False)
    grain = models.ForeignKey(Grain, on_delete=models.PROTECT, related_name="+", db_index=False)
    useful = models.BooleanField()
    strength = models.FloatField()
    scale = models.FloatField()
    missed = models.BooleanField(default=False)  # it was not in the answer; the caller named it
    place = models.SmallIntegerField(null=True)  # its place in the answer
    implied = models.BooleanField(default=False)  # inferred from later queries, not given by a caller
    # Inferred from a correction by the caller a few turns later; QUARANTINE_CORRECTION_COUNT of them quarantine it.
    corrected = models.BooleanField(default=False, db_default=False)
    at = models.DateTimeField()
    undone_at = models.DateTimeField(null=True)
    undone_by = models.CharField(max_length=160, default="")
    applied = models.BooleanField(default=False)  # False: the worker must still apply or undo it
    counted = models.BooleanField(default=False, db_default=False)  # as useful, in the pairs of its question

    class Meta:
        indexes = [
            models.Index(fields=["space", "grain", "at"], name="vote_grain"),
            models.Index(fields=["space", "id"], name="vote_waiting", condition=Q(applied=False)),
        ]
        constraints = [models.UniqueConstraint(fields=["judged", "grain"], name="vote_once")]

    def __str__(self) -> str:
        return f"{'useful' if self.useful else 'not useful'}: {self.grain_id}"


class SpaceRankerWeights(models.Model):
    """Ranker weights of a space, as differences from the default weights, fitted to its present votes."""

    id = models.BigAutoField(primary_key=True)
    space = models.OneToOneField("accounts.Space", on_delete=models.PROTECT, related_name="+")
    version = models.CharField(max_length=64)  # of the default weights; ignored with another one
    weights = models.JSONField()  # feature -> step
    questions = models.IntegerField()
    # nDCG@10 of judged questions held out of the fit: with the default weights, and with these.
    before = models.FloatField()
    after = models.FloatField()
    at = models.DateTimeField()

    class Meta:
        db_table = "grains_attunement"  # the name of release 0.5: tables keep theirs

    def __str__(self) -> str:
        return f"{self.space_id}: {self.questions} questions"


class VoteEffect(models.Model):
    """Effect of one vote on one conduit, so that it can be shown and undone."""

    id = models.BigAutoField(primary_key=True)
    space = models.ForeignKey("accounts.Space", on_delete=models.PROTECT, related_name="+", db_index=False)
    vote = models.ForeignKey(Vote, on_delete=models.PROTECT, related_name="+", db_index=False)
    conduit = models.ForeignKey(Conduit, on_delete=models.PROTECT, related_name="+", db_index=False)
    gain = models.BigIntegerField()
    loss = models.BigIntegerField()

    class Meta:
        db_table = "grains_effect"  # the name of release 0.5: tables keep theirs
        indexes = [models.Index(fields=["space", "vote"], name="effect_vote")]
        constraints = [models.UniqueConstraint(fields=["conduit", "vote"], name="effect_once")]

    def __str__(self) -> str:
        return f"{self.vote_id} on {self.conduit_id}"


class UsefulPair(models.Model):
    """Pair of grains useful for the same questions, and how often; frequent pairs are linked by a shortcut."""

    id = models.BigAutoField(primary_key=True)
    space = models.ForeignKey("accounts.Space", on_delete=models.PROTECT, related_name="+", db_index=False)
    one = models.ForeignKey(Grain, on_delete=models.PROTECT, related_name="+", db_index=False)  # the lower number
    other = models.ForeignKey(Grain, on_delete=models.PROTECT, related_name="+", db_index=False)
    count = models.IntegerField()
    conduit = models.BigIntegerField(null=True)  # of the shortcut that was made for it

    class Meta:
        db_table = "grains_pair"  # the name of release 0.5: tables keep theirs
        constraints = [models.UniqueConstraint(fields=["space", "one", "other"], name="pair_once")]

    def __str__(self) -> str:
        return f"{self.one_id} and {self.other_id}"
