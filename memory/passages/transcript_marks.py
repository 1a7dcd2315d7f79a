"""Marks of how far transcripts are indexed, read by jobs before they compute and again inside their write."""

from __future__ import annotations

from typing import NamedTuple

from django.db.models import F

from memory.passages.models import IndexedTranscript


class TranscriptMark(NamedTuple):
    """The last message that was looked at, and how often indexing was begun anew."""

    upto: int = 0
    restarts: int = 0


def read(store: int) -> TranscriptMark:
    row = IndexedTranscript.objects.filter(store=store).first()
    return TranscriptMark() if row is None else TranscriptMark(row.upto, row.restarts)


def advance(store: int, upto: int) -> None:
    """Note, inside the write of a job, that all messages up to this number were looked at."""
    IndexedTranscript.objects.update_or_create(store=store, defaults={"upto": upto})


def begin_anew(store: int) -> None:
    """Have the whole transcript looked at again. A job that is reading it now notices, and writes nothing."""
    row, _ = IndexedTranscript.objects.get_or_create(store=store)
    IndexedTranscript.objects.filter(pk=row.pk).update(upto=0, restarts=F("restarts") + 1)
