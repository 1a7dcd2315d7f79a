"""Upkeep of passages: those that can come back no more are erased, with everything that was learned about them."""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import partial
from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet

from fluxcore import clock, config
from fluxcore.work.run import Run
from fluxcore.writes import booth, write_locks
from memory.artifacts.models import Store
from memory.engine.kinds import MADE_KINDS
from memory.grains.lifecycle import erase
from memory.grains.made import close_made
from memory.grains.models import Grain
from memory.keyvalue.models import Item, Revision, RevisionKind
from memory.passages.models import GrainSource, ValueSource

PAGE = 50  # grains of one write
ACTOR = "worker"


def erase_removed(run: Run) -> None:
    """The handler of `passages.erase_removed`.

    Passages of deleted files and removed messages end when those can be restored no more. Passages of earlier versions
    stay for questions about earlier times as long as the store keeps those versions, and values as long as the history
    of their key does.
    """
    now = clock.now()
    oldest = now - timedelta(days=config.current().STORE_UNDELETE_DAYS)
    _erase(GrainSource.objects.filter(removed=True), oldest)
    for store in Store.objects.filter(Q(keep_versions=False) | Q(retention_days__isnull=False)):
        days = 0.0 if not store.keep_versions else store.retention_days or 0.0
        _erase(
            GrainSource.objects.filter(store=store.pk, file__isnull=False, current=False), now - timedelta(days=days)
        )
    kept = Revision.objects.filter(item=OuterRef("item"), version=OuterRef("version"), kind=RevisionKind.WRITTEN)
    _erase(ValueSource.objects.filter(~Exists(kept), current=False), now)


def erase_value(run: Run) -> None:
    """The handler of `passages.erase_value`: erase what was indexed of a purged key, in all its versions."""
    now, sources = clock.now(), ValueSource.objects.filter(item=run.args["item"])
    current = Item.objects.filter(pk=run.args["item"], value__isnull=False).values("version")
    gone = sources.exclude(version__in=current)  # the key may have been written again
    for space in set(gone.values_list("space_id", flat=True)):
        numbers = list(gone.values_list("grain_id", flat=True))
        booth.write(partial(close_made, space, numbers, now), lock=write_locks.lock_name(space))
    _erase(gone, now + timedelta(seconds=1))


def _erase(sources: QuerySet[Any], oldest: datetime) -> None:
    while True:
        found = Grain.objects.filter(pk__in=sources.values("grain"), valid_to__lt=oldest)
        rows = list(found.filter(status__in=MADE_KINDS)[:PAGE])
        for space in {row.space_id for row in rows}:
            numbers = [row.pk for row in rows if row.space_id == space]
            booth.write(partial(_erase_now, space, numbers, oldest), lock=write_locks.lock_name(space))
        if len(rows) < PAGE:
            return


def _erase_now(space: int, numbers: list[int], oldest: datetime) -> None:
    """Erase grains that are still as they were found: one whose text has come back is valid again."""
    rows = list(Grain.objects.filter(pk__in=numbers, valid_to__lt=oldest))
    if rows:
        erase.erase(space, rows, actor=ACTOR)
