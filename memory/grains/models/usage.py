"""Table of storage use by writer."""

from __future__ import annotations

from django.db import models


class GrainUsage(models.Model):
    """Number and bytes of the grains one writer stored in a space; with no writer, of the whole space."""

    id = models.BigAutoField(primary_key=True)
    space = models.ForeignKey("accounts.Space", on_delete=models.PROTECT, related_name="+", db_index=False)
    writer = models.CharField(max_length=160)  # as the grains name it: "agent:alice"
    grains = models.BigIntegerField()
    bytes = models.BigIntegerField()  # UTF-8, of the texts

    class Meta:
        constraints = [models.UniqueConstraint(fields=["space", "writer"], name="grain_usage_writer")]

    def __str__(self) -> str:
        return self.writer
