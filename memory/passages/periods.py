"""Which version of a file a passage is cited from: only one whose content the store still has."""

from __future__ import annotations

from datetime import datetime

from django.db.models import F, IntegerField, OuterRef, QuerySet, Subquery

from memory.artifacts.models import FileChange
from memory.passages.models import GrainSource


def with_cited_version(rows: QuerySet[GrainSource]) -> QuerySet[GrainSource]:
    """Sources of passages with the newest kept version that has them, as `cited`; those without one are left out."""
    kept = FileChange.objects.filter(
        file=OuterRef("file"), version__gte=OuterRef("version"), version__lte=OuterRef("last")
    )
    newest = kept.exclude(content=None).order_by("-version").values("version")[:1]
    return rows.annotate(cited=Subquery(newest, output_field=IntegerField())).exclude(cited=None)


def cited_at(rows: QuerySet[GrainSource], moment: datetime) -> QuerySet[GrainSource]:
    """Sources of passages that their file had at a time, if that version is kept, with its number as `cited`."""
    then = FileChange.objects.filter(file=OuterRef("file"), version__gt=0, at__lte=moment).order_by("-version")
    found = rows.annotate(cited=Subquery(then.values("version")[:1]), content=Subquery(then.values("content")[:1]))
    return found.filter(version__lte=F("cited"), last__gte=F("cited")).exclude(content=None)
