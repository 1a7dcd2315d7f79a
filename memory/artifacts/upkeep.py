"""Handlers of the jobs of stores, and the deletion of ephemeral stores at the start of the instance."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial

from django.db.models import Exists, F, OuterRef, Q, QuerySet

from accounts import audit
from accounts.models import Space
from accounts.principals import Principal, shell
from fluxcore import blobs, clock, config, events, uptime
from fluxcore.work.run import Run
from fluxcore.writes import booth, write_locks
from memory.artifacts import contents, hooks, names, proposals, quotas, stored_bytes
from memory.artifacts.models import File, FileChange, Message, Store

BATCH = 1_000  # rows of one write
INSTANCE = "instance"


def sweep(run: Run) -> None:
    """The handler of `artifacts.sweep`. Each step writes batches of rows, so that nobody waits long for it."""
    if _is_clock_in_doubt(run):
        return
    now, found = clock.now(), config.current()
    undelete = now - timedelta(days=found.STORE_UNDELETE_DAYS)
    for store in Store.objects.filter(_PRUNES, deleted_at=None):
        if _outdated(store, now).exists():
            _until_done(store, partial(_forget_outdated, store.pk, now))
    for store in Store.objects.filter(pk__in=_stores_with_removed(undelete)):
        _until_done(store, partial(_delete_removed_messages, store, undelete))
    for store in Store.objects.filter(deleted_at__lt=undelete):
        _until_done(store, partial(_empty, store))
        booth.write(partial(_delete, store), lock=write_locks.lock_name(store.space_id))
    _forget_log(now - timedelta(days=found.STORE_LOG_DAYS))
    proposals.forget_decided(now - timedelta(days=found.STORE_LOG_DAYS))


def _is_clock_in_doubt(run: Run) -> bool:
    """A clock that jumped makes everything look old: then nothing is deleted."""
    doubt = uptime.now().doubt
    if doubt:
        run.say("The clock is in doubt. Nothing was deleted.")
    return bool(doubt)


def _until_done(store: Store, step: Callable[[], int]) -> None:
    """Repeat a write of a store until it changes less than a whole batch."""
    while booth.write(step, lock=write_locks.lock_name(store.space_id)) >= BATCH:
        pass


_PRUNES = Q(keep_versions=False) | Q(max_versions__isnull=False) | Q(retention_days__isnull=False)


def _outdated(store: Store, now: datetime) -> QuerySet[FileChange]:
    """Earlier versions that the policy does not keep. The current version of a file is never among them."""
    outdated = Q()
    if not store.keep_versions or store.max_versions is not None:
        kept = store.max_versions if store.keep_versions else 0
        outdated |= Q(version__lt=F("file__version") - kept)
    if store.retention_days is not None:
        oldest = now - timedelta(days=store.retention_days)
        following = FileChange.objects.filter(file=OuterRef("file"), version=OuterRef("version") + 1, at__lt=oldest)
        outdated |= Q(Exists(following))  # a version is as old as the one that replaced it
    earlier = FileChange.objects.filter(store=store, content__isnull=False, version__gt=0)
    return earlier.filter(outdated, version__lt=F("file__version"))


def _forget_outdated(number: int, now: datetime) -> int:
    """Forget a batch of the versions that the policy, as it is now, does not keep."""
    store = Store.objects.filter(_PRUNES, pk=number, deleted_at=None).first()
    if store is None:
        return 0
    rows = list(_outdated(store, now).values_list("id", "content_id", "size")[:BATCH])
    forgotten = [(content, size) for _, content, size in rows if content is not None]
    FileChange.objects.filter(pk__in=[row[0] for row in rows]).update(content=None)
    contents.release(content for content, _ in forgotten)
    quotas.count_in_store(store.space_id, store.pk, history=-stored_bytes.freed(store.pk, forgotten))
    return len(rows)


def _stores_with_removed(oldest: datetime) -> list[int]:
    removed = Message.objects.exclude(removal="").filter(removed_at__lt=oldest)
    return list(removed.values_list("store_id", flat=True).distinct())


def _delete_removed_messages(store: Store, oldest: datetime) -> int:
    removed = Message.objects.filter(store=store, removed_at__lt=oldest).exclude(removal="")
    rows = list(removed.values_list("id", "size")[:BATCH])
    Message.objects.filter(pk__in=[row[0] for row in rows]).delete()
    quotas.count_in_store(store.space_id, store.pk, message_size=-sum(size for _, size in rows))
    return len(rows)


def _empty(store: Store) -> int:
    """Delete a batch of what a deleted store still has. From the first one on it cannot be restored."""
    if not Store.objects.filter(pk=store.pk).exclude(deleted_at=None).update(ended=True):
        return 0  # restored meanwhile
    File.objects.filter(store=store).exclude(content=None).update(content=None)
    changes = list(FileChange.objects.filter(store=store).values_list("id", "content_id")[:BATCH])
    FileChange.objects.filter(pk__in=[row[0] for row in changes]).delete()
    contents.release(content for _, content in changes if content is not None)
    if len(changes) == BATCH:
        return BATCH
    messages = list(Message.objects.filter(store=store).values_list("id", flat=True)[:BATCH])
    Message.objects.filter(pk__in=messages).delete()
    return len(messages)


def _delete(store: Store) -> None:
    """Delete an emptied store, and what it counted in its space."""
    row = Store.objects.filter(pk=store.pk, ended=True).first()
    if row is None:
        return
    File.objects.filter(store=row).delete()
    proposals.store_erased(row.pk)
    quotas.count_in_store(
        row.space_id, row.pk, size=-row.bytes, history=-row.history_bytes, message_size=-row.message_bytes
    )
    quotas.count_stores(row.space_id, -1)
    row.delete()


def _forget_log(oldest: datetime) -> None:
    """Delete old entries of logs that are no versions: refusals, changes of transcripts, no-ops."""
    while True:
        rows = list(FileChange.objects.filter(version=0, at__lt=oldest).values_list("id", flat=True)[:BATCH])
        if rows:
            booth.write(FileChange.objects.filter(pk__in=rows).delete)
        if len(rows) < BATCH:
            return


def collect_blobs(run: Run) -> None:
    """The handler of `artifacts.collect_blobs`: delete blobs that no content refers to."""
    if _is_clock_in_doubt(run):
        return
    blobs.of_instance().collect(contents.referenced)


def delete_ephemeral() -> int:
    """Delete all ephemeral stores when the instance starts; how many. The sweep ends them later."""
    stores = list(Store.objects.filter(ephemeral=True, deleted_at=None).select_related("space"))
    for store in stores:
        booth.write(partial(_delete_ephemeral, store), lock=write_locks.lock_name(store.space_id))
    return len(stores)


def _delete_ephemeral(store: Store) -> None:
    now = clock.now()
    Store.objects.filter(pk=store.pk, deleted_at=None).update(deleted_at=now, deleted_by=INSTANCE)
    hooks.store_changed(store.pk)
    proposals.store_deleted(store.pk, at=now, by=INSTANCE)
    counts = {"files": store.files, "messages": store.messages}
    where = f"stores/{names.target(store)}"
    audit.record(_instance(store.space), "stores.delete", where, reason="ephemeral", details=counts)
    events.append(
        "store.deleted",
        space=store.space_id,
        actor=INSTANCE,
        subject=f"stores/{store.uuid}",
        data={"store": str(store.uuid), "key": store.key},
    )


def _instance(space: Space) -> Principal:
    """Principal of the instance itself, as the audit chain names it."""
    return replace(shell(space), name=INSTANCE)
