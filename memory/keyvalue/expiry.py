"""What has expired is told to those who watch, and destroyed when its grace is over; histories are cut."""

from __future__ import annotations

from datetime import timedelta
from functools import partial

from django.db.models import Count, F, Q

from fluxcore import clock, config, events, uptime
from fluxcore.models import Event
from fluxcore.work.jobs import enqueue
from fluxcore.work.run import Apply, Run
from fluxcore.writes import booth, write_locks
from memory.keyvalue import expiry_clock, history
from memory.keyvalue.models import Item, Namespace, Revision, WatchLimit

AT_ONCE = 1_000
ACTOR = "worker"


def sweep(run: Run) -> Apply:
    """A clock that jumped is no reason to destroy anything: then only the clock is looked at."""

    def apply() -> None:
        expiry_clock.wind()
        if uptime.now().doubt:
            return
        now = expiry_clock.current()
        busy = tell(now) + destroy(now) >= AT_ONCE
        cut()
        forget()
        if busy:
            enqueue(run.kind, once_key="all")

    return apply


def tell(now: float) -> int:
    """An `expired` event for each key whose time is over, once."""
    found = list(
        Item.objects.filter(expires__lte=now, told=False, value__isnull=False)
        .select_related("namespace")
        .order_by("expires", "id")[:AT_ONCE]
    )
    for item in found:
        where = str(item.namespace)
        data = {"in": where, "key": item.key, "version": item.version, "op": "expire"}
        events.append("kv.expired", space=item.namespace.space_id, actor=ACTOR, subject=where, data=data)
    # On condition of the version: somebody may have written it anew since.
    for item in found:
        Item.objects.filter(pk=item.pk, version=item.version, expires__lte=now).update(told=True)
    return len(found)


def destroy(now: float) -> int:
    """The values of what expired longer ago than the grace, and the revisions; versions stay."""
    over = now - config.current().KV_EXPIRY_GRACE_HOURS * 3600
    found = list(Item.objects.filter(expires__lte=over, told=True).order_by("expires", "id")[:AT_ONCE])
    for item in found:
        gone = Item.objects.filter(pk=item.pk, version=item.version, expires__lte=over, value__isnull=False).update(
            value=None, sha="", size=0, expires=None, displaced=-1
        )
        if gone:
            Namespace.objects.filter(pk=item.namespace_id).update(keys=F("keys") - 1, bytes=F("bytes") - item.size)
    history.remove(Revision.objects.filter(expires__lte=over)[:AT_ONCE])
    return len(found)


def cut() -> None:
    """Revisions older than histories go back."""
    before = clock.now() - timedelta(days=config.current().KV_HISTORY_DAYS)
    history.remove(Revision.objects.filter(at__lt=before).order_by("at")[:AT_ONCE])


_NEWS = Q(kind__startswith="kv.") | Q(kind__startswith="lock.") | Q(kind__startswith="queue.")


def forget() -> None:
    """News of keys go when nobody can watch from so far back any more; how far that is is kept first."""
    before = clock.now() - timedelta(days=config.current().KV_WATCH_DAYS)
    for space in Namespace.objects.values_list("space_id", flat=True).distinct():
        old = Event.objects.filter(_NEWS, space=space, packed=None, at__lt=before).order_by("at")[:AT_ONCE]
        found = list(old.values_list("xid", "id"))
        if not found:
            continue
        last = max(found)
        held = WatchLimit.objects.filter(pk=1).first()
        if held is None or (held.xid, held.event) < last:
            WatchLimit.objects.update_or_create(pk=1, defaults={"xid": last[0], "event": last[1]})
        Event.objects.filter(pk__in=[number for _, number in found]).delete()


def bury(run: Run) -> None:
    """Of deleted keys a number is remembered; below the versions of the rest nothing is ever given again.

    In turn with the writers of the space: one that has read the floor must not find its tombstone gone.
    """
    gone = Count("items", filter=Q(items__value=None))
    found = Namespace.objects.annotate(gone=gone).filter(gone__gt=config.current().KV_TOMBSTONES)
    for number, space in list(found.values_list("pk", "space_id")):
        booth.write(partial(_bury, number), lock=write_locks.lock_name(space))


def _bury(namespace: int) -> None:
    deleted = Item.objects.filter(namespace=namespace, value=None).order_by("written_at", "id")
    rows = list(deleted[: min(max(deleted.count() - config.current().KV_TOMBSTONES, 0), AT_ONCE)])
    if not rows:
        return
    floor = max(item.version for item in rows)
    Namespace.objects.filter(pk=namespace, floor__lt=floor).update(floor=floor)
    history.remove(Revision.objects.filter(item__in=rows))
    Item.objects.filter(pk__in=[item.pk for item in rows], value=None).delete()
