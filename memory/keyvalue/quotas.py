"""How much a namespace may hold, how many boards there may be, and how often an agent may change something."""

from __future__ import annotations

from django.db.models import Count, F, Q, Sum

from accounts.principals import Principal
from accounts.verbs import RunningCall
from fluxcore import config
from fluxcore.writes import limit_messages
from fluxcore.writes.limits import Ticket
from memory.keyvalue import history
from memory.keyvalue.models import Item, Lock, Namespace, NamespaceKind
from memory.keyvalue.namespaces import OpenNamespace

MAX_TASKS, MAX_LOCKS = 100_000, 10_000  # of a board
_BOARD = NamespaceKind.BOARD.value


def share(call: RunningCall, cost: int = 1) -> Ticket:
    return call.share("kv", cost=cost, limit=config.current().MAX_KV_WRITES_PER_MINUTE)


def count(namespace: OpenNamespace, *, keys: int, size: int, kept: int = 0) -> int:
    """Add keys, bytes of values and bytes of history to what the namespace has, inside the write.

    Values have precedence: where there is no more namespace, the oldest versions of the history go, and only when the
    values alone are more than the limit is the write refused. How many versions went.
    """
    if not keys and not size and not kept:
        return 0
    namespace.keys, namespace.bytes, namespace.history = (
        namespace.keys + keys,
        namespace.bytes + size,
        namespace.history + kept,
    )
    limits, pruned = config.current(), 0
    if (keys > 0 and namespace.keys > limits.MAX_KV_KEYS) or (size > 0 and namespace.bytes > limits.MAX_KV_BYTES):
        _refuse_if_full(namespace, grew_keys=keys > 0, grew_bytes=size > 0)
    over = namespace.bytes + namespace.history - limits.MAX_KV_BYTES
    if over > 0 and size + kept > 0:
        pruned, freed = history.prune(namespace.id, over, slack=limits.MAX_KV_BYTES // 64)
        namespace.history, kept = namespace.history - freed, kept - freed
    Namespace.objects.filter(pk=namespace.id).update(
        keys=F("keys") + keys, bytes=F("bytes") + size, history_bytes=F("history_bytes") + kept
    )
    return pruned


def count_tasks(namespace: OpenNamespace, *, tasks: int, size: int) -> None:
    """Add to what waits in the queues of a board, inside the write; past a limit the whole write is refused."""
    board = Namespace.objects.filter(pk=namespace.id)
    board.update(queued=F("queued") + tasks, queued_bytes=F("queued_bytes") + size)
    if tasks < 0:
        return
    queued, held = board.values_list("queued", "queued_bytes").get()
    full, do = f"The queues of {namespace.where}", "Finish tasks first"
    if queued > MAX_TASKS:
        raise limit_messages.quota_reached(full, limit=MAX_TASKS, what="tasks", raised_by=None, do=do)
    most = config.current().MAX_KV_BYTES
    if held > most:
        raise limit_messages.quota_reached(full, limit=most, what="bytes", raised_by="MAX_KV_BYTES", do=do)


def count_locks(namespace: OpenNamespace) -> None:
    """A lock's row stays for its token, so there is an end to their number; looked at when one gets a new name."""
    if Lock.objects.filter(board=namespace.id).count() > MAX_LOCKS:
        do = "Use one of the names again"
        raise limit_messages.quota_reached(str(namespace.where), limit=MAX_LOCKS, what="locks", raised_by=None, do=do)


def count_boards(principal: Principal) -> None:
    """After a board was made: refuse it if it is one too many for who made it, or for the space."""
    limits = config.current()
    found = Namespace.objects.filter(space=principal.space, kind=_BOARD)
    if principal.agent is not None and found.filter(created_by=principal.actor).count() > limits.MAX_BOARDS_PER_AGENT:
        raise limit_messages.quota_reached(
            f"The list of boards made by {principal.name}",
            limit=limits.MAX_BOARDS_PER_AGENT,
            what="boards",
            raised_by="MAX_BOARDS_PER_AGENT",
            do="Delete a board first",
        )
    if found.count() > limits.MAX_BOARDS_PER_SPACE:
        raise limit_messages.quota_reached(
            "The space",
            limit=limits.MAX_BOARDS_PER_SPACE,
            what="boards",
            raised_by="MAX_BOARDS_PER_SPACE",
            do="Delete a board first",
        )


def _refuse_if_full(namespace: OpenNamespace, *, grew_keys: bool, grew_bytes: bool) -> None:
    """What has expired is kept for a while and does not count: count again without it before refusing."""
    limits = config.current()
    live = Item.objects.filter(
        Q(expires=None) | Q(expires__gt=namespace.now), namespace=namespace.id, value__isnull=False
    )
    held = live.aggregate(keys=Count("id"), bytes=Sum("size"))
    if grew_keys and held["keys"] > limits.MAX_KV_KEYS:
        raise limit_messages.quota_reached(
            str(namespace.where), limit=limits.MAX_KV_KEYS, what="keys", raised_by="MAX_KV_KEYS"
        )
    if grew_bytes and (held["bytes"] or 0) > limits.MAX_KV_BYTES:
        raise limit_messages.quota_reached(
            str(namespace.where), limit=limits.MAX_KV_BYTES, what="bytes", raised_by="MAX_KV_BYTES"
        )
