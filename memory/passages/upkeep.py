"""Upkeep of passages: those that can come back no more are erased, with everything that was learned about them."""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import partial
from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet

from fluxcore import clock, config, uptime
from fluxcore.work.run import Run
from fluxcore.writes import booth, write_locks
from memory.artifacts.models import File, FileChange, Message, Store
from memory.engine.kinds import MADE_KINDS
from memory.grains.lifecycle import erase
from memory.grains.made import close_made
from memory.grains.models import Grain
from memory.keyvalue.models import Item, Revision, RevisionKind
from memory.passages.indexing import close_unused
from memory.passages.models import GrainSource, IndexedTranscript, ValueSource

PAGE = 50  # grains of one write
ACTOR = "worker"


def erase_removed(run: Run) -> None:
    """The handler of `passages.erase_removed`.

    Passages of deleted files and removed messages end when their deletion can be undone no more. Passages of earlier
    versions stay for questions about earlier times as long as the store keeps those versions, and values as long as the
    history of their key does.
    """
    if uptime.now().doubt:
        run.say("The clock is in doubt. Nothing was erased.")
        return
    oldest = clock.now() - timedelta(days=config.current().STORE_UNDELETE_DAYS)
    for gone in (_gone_with_store(oldest), _gone_passages(oldest), _gone_messages(oldest)):
        _forget_sources(gone)
    booth.write(IndexedTranscript.objects.filter(~Exists(Store.objects.filter(pk=OuterRef("store")))).delete)
    kept = Revision.objects.filter(item=OuterRef("item"), version=OuterRef("version"), kind=RevisionKind.WRITTEN)
    _erase(ValueSource.objects.filter(~Exists(kept), current=False), clock.now())


def _gone_with_store(oldest: datetime) -> QuerySet[GrainSource]:
    """Sources in stores that are erased, or were deleted or not recallable for long."""
    store = Store.objects.filter(pk=OuterRef("store"))
    deleted = Q(Exists(store.filter(deleted_at__lt=oldest))) | ~Q(Exists(store))
    closed = Q(current=False, grain__valid_to__lt=oldest) & Q(Exists(store.filter(recallable=False)))
    return GrainSource.objects.filter(deleted | closed)


def _gone_passages(oldest: datetime) -> QuerySet[GrainSource]:
    """Sources in files that were deleted long ago, and in versions of which the store has none any more."""
    file = File.objects.filter(pk=OuterRef("file"))
    kept = FileChange.objects.filter(
        file=OuterRef("file"), version__gte=OuterRef("version"), version__lte=OuterRef("last"), content__isnull=False
    )
    deleted = Q(Exists(file.filter(sha="", written_at__lt=oldest))) | ~Q(Exists(file))
    unkept = Q(current=False) & ~Q(Exists(kept))
    return GrainSource.objects.filter(deleted | unkept, message=None)


def _gone_messages(oldest: datetime) -> QuerySet[GrainSource]:
    """Sources in messages that were removed long ago."""
    message = Message.objects.filter(store=OuterRef("store"), seq=OuterRef("message"))
    lasting = message.filter(Q(removal="") | Q(removed_at__gte=oldest))
    return GrainSource.objects.filter(~Exists(lasting), file=None)


def _forget_sources(gone: QuerySet[GrainSource]) -> None:
    """Delete sources, and erase grains of which no source is left."""
    after = 0
    while True:
        rows = list(gone.filter(pk__gt=after).order_by("pk")[:PAGE])
        for space in {row.space_id for row in rows}:
            of_space = gone.filter(space=space, pk__in=[row.pk for row in rows])
            booth.write(partial(_forget_now, space, of_space), lock=write_locks.lock_name(space))
        if len(rows) < PAGE:
            return
        after = rows[-1].pk


def _forget_now(space: int, gone: QuerySet[GrainSource]) -> None:
    """Delete those that are gone still: what came back meanwhile stays."""
    rows = list(gone)
    GrainSource.objects.filter(pk__in=[row.pk for row in rows]).delete()
    grains = Grain.objects.filter(space=space, pk__in={row.grain_id for row in rows}, status__in=MADE_KINDS)
    close_unused(space, [row.grain_id for row in rows])
    unused = list(grains.filter(~Exists(GrainSource.objects.filter(grain=OuterRef("pk")))))
    if unused:
        erase.erase(space, unused, actor=ACTOR)


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
