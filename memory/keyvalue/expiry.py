"""Expiry jobs: emit events of expired keys, destroy their values after the grace time, prune histories and events."""

from __future__ import annotations

from datetime import timedelta
from functools import partial

from django.db.models import Count, F, Q

from fluxcore import clock, config, events, uptime
from fluxcore.models import Event
from fluxcore.work.jobs import enqueue
from fluxcore.work.run import Apply, Run
from fluxcore.writes import booth, write_locks
from memory.keyvalue import expiry_clock, history, hooks
from memory.keyvalue.models import Item, Namespace, Revision, WatchLimit
from memory.keyvalue.namespaces import is_recalled

BATCH = 1_000  # rows one run of a job changes at most
ACTOR = "worker"


def sweep(run: Run) -> Apply:
    """The handler of `keyvalue.sweep`: expire keys, prune histories and events. Only the clock while it is in doubt."""

    def apply() -> None:
        expiry_clock.adjust()
        if uptime.now().doubt:
            return
        now = expiry_clock.current()
        has_more = emit_expired(now) + destroy(now) >= BATCH
        prune_history()
        prune_events()
        if has_more:
            enqueue(run.kind, once_key="all")

    return apply


def emit_expired(now: float) -> int:
    """Append a `kv.expired` event for each expired key that has none yet; how many keys."""
    expired = list(
        Item.objects.filter(expires__lte=now, told=False, value__isnull=False)
        .select_related("namespace")
        .order_by("expires", "id")[:BATCH]
    )
    for item in expired:
        place = str(item.namespace)
        data = {"in": place, "key": item.key, "version": item.version, "op": "expire"}
        events.append("kv.expired", space=item.namespace.space_id, actor=ACTOR, subject=place, data=data)
        if is_recalled(item.namespace.recalled, item.key):
            hooks.value_changed(item.namespace.space_id, item.pk)
    # On condition of the version: the key may have been written again since it was read.
    for item in expired:
        Item.objects.filter(pk=item.pk, version=item.version, expires__lte=now).update(told=True)
    return len(expired)


def destroy(now: float) -> int:
    """Delete values and revisions that expired longer ago than KV_EXPIRY_GRACE_HOURS; rows keep the version."""
    latest = now - config.current().KV_EXPIRY_GRACE_HOURS * 3600
    expired = list(Item.objects.filter(expires__lte=latest, told=True).order_by("expires", "id")[:BATCH])
    for item in expired:
        destroyed = Item.objects.filter(
            pk=item.pk, version=item.version, expires__lte=latest, value__isnull=False
        ).update(value=None, sha="", size=0, expires=None, displaced=-1)
        if destroyed:
            Namespace.objects.filter(pk=item.namespace_id).update(keys=F("keys") - 1, bytes=F("bytes") - item.size)
    history.remove(Revision.objects.filter(expires__lte=latest)[:BATCH])
    return len(expired)


def prune_history() -> None:
    """Delete revisions older than KV_HISTORY_DAYS."""
    oldest = clock.now() - timedelta(days=config.current().KV_HISTORY_DAYS)
    history.remove(Revision.objects.filter(at__lt=oldest).order_by("at")[:BATCH])


_KEY_EVENTS = Q(kind__startswith="kv.") | Q(kind__startswith="lock.") | Q(kind__startswith="queue.")


def prune_events() -> None:
    """Delete events of keys, locks and queues older than KV_WATCH_DAYS; the last position is saved as WatchLimit."""
    oldest = clock.now() - timedelta(days=config.current().KV_WATCH_DAYS)
    for space in Namespace.objects.values_list("space_id", flat=True).distinct():
        old = Event.objects.filter(_KEY_EVENTS, space=space, packed=None, at__lt=oldest).order_by("at")[:BATCH]
        positions = list(old.values_list("xid", "id"))
        if not positions:
            continue
        last = max(positions)
        limit = WatchLimit.objects.filter(pk=1).first()
        if limit is None or (limit.xid, limit.event) < last:
            WatchLimit.objects.update_or_create(pk=1, defaults={"xid": last[0], "event": last[1]})
        Event.objects.filter(pk__in=[event for _, event in positions]).delete()


def forget_deleted_keys(run: Run) -> None:
    """The handler of `keyvalue.forget_deleted`: delete the oldest rows of deleted keys beyond KV_TOMBSTONES.

    Their highest version becomes the floor of the namespace. It takes the write lock of the space: a writer that has
    read the floor must not find the row of its key gone.
    """
    deleted = Count("items", filter=Q(items__value=None))
    namespaces = Namespace.objects.annotate(deleted=deleted).filter(deleted__gt=config.current().KV_TOMBSTONES)
    for namespace, space in list(namespaces.values_list("pk", "space_id")):
        booth.write(partial(_forget_deleted_keys, namespace), lock=write_locks.lock_name(space))


def _forget_deleted_keys(namespace: int) -> None:
    deleted = Item.objects.filter(namespace=namespace, value=None).order_by("written_at", "id")
    oldest = list(deleted[: min(max(deleted.count() - config.current().KV_TOMBSTONES, 0), BATCH)])
    if not oldest:
        return
    floor = max(item.version for item in oldest)
    Namespace.objects.filter(pk=namespace, floor__lt=floor).update(floor=floor)
    history.remove(Revision.objects.filter(item__in=oldest))
    Item.objects.filter(pk__in=[item.pk for item in oldest], value=None).delete()
