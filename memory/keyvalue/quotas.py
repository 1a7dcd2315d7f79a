"""How much a namespace may hold and how often an agent may change something."""

from __future__ import annotations

from django.db.models import Count, F, Q, Sum

from accounts.verbs import Act
from fluxcore import config
from fluxcore.errors import QuotaReached
from fluxcore.limits import Ticket
from memory.keyvalue.models import Item, Lock, Namespace
from memory.keyvalue.places import Room

MAX_TASKS, MAX_LOCKS = 100_000, 10_000  # of a board


def share(act: Act, cost: int = 1) -> Ticket:
    return act.share("kv", cost=cost, limit=config.current().MAX_KV_WRITES_PER_MINUTE)


def count(room: Room, *, keys: int, size: int) -> None:
    """Add to what the namespace holds, inside the write; past a limit the whole write is refused."""
    if not keys and not size:
        return
    room.keys, room.bytes = room.keys + keys, room.bytes + size
    limits = config.current()
    if (keys > 0 and room.keys > limits.MAX_KV_KEYS) or (size > 0 and room.bytes > limits.MAX_KV_BYTES):
        _refuse_if_full(room, grew_keys=keys > 0, grew_bytes=size > 0)
    Namespace.objects.filter(pk=room.id).update(keys=F("keys") + keys, bytes=F("bytes") + size)


def count_tasks(room: Room, *, tasks: int, size: int) -> None:
    """Add to what waits in the queues of a board, inside the write; past a limit the whole write is refused."""
    board = Namespace.objects.filter(pk=room.id)
    board.update(queued=F("queued") + tasks, queued_bytes=F("queued_bytes") + size)
    if tasks < 0:
        return
    queued, held = board.values_list("queued", "queued_bytes").get()
    if queued > MAX_TASKS:
        raise QuotaReached(f"A board has at most {MAX_TASKS} tasks.", limit=MAX_TASKS, what="tasks")
    most = config.current().MAX_KV_BYTES
    if held > most:
        raise QuotaReached(
            f"The tasks of {room.where} hold {most} bytes; that is the most (MAX_KV_BYTES).", limit=most, what="bytes"
        )


def count_locks(room: Room) -> None:
    """A lock's row stays for its token, so there is an end to their number; looked at when one gets a new name."""
    if Lock.objects.filter(board=room.id).count() > MAX_LOCKS:
        raise QuotaReached(f"A board has at most {MAX_LOCKS} locks.", limit=MAX_LOCKS, what="locks")


def _refuse_if_full(room: Room, *, grew_keys: bool, grew_bytes: bool) -> None:
    """What has expired is kept for a while and does not count: count again without it before refusing."""
    limits = config.current()
    live = Item.objects.filter(Q(expires=None) | Q(expires__gt=room.now), namespace=room.id, value__isnull=False)
    held = live.aggregate(keys=Count("id"), bytes=Sum("size"))
    if grew_keys and held["keys"] > limits.MAX_KV_KEYS:
        raise QuotaReached(
            f"{room.where} holds {limits.MAX_KV_KEYS} keys; that is the most (MAX_KV_KEYS).",
            limit=limits.MAX_KV_KEYS, what="keys",
        )  # fmt: skip
    if grew_bytes and (held["bytes"] or 0) > limits.MAX_KV_BYTES:
        raise QuotaReached(
            f"{room.where} holds {limits.MAX_KV_BYTES} bytes; that is the most (MAX_KV_BYTES).",
            limit=limits.MAX_KV_BYTES, what="bytes",
        )  # fmt: skip
