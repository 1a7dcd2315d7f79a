"""Quotas of exact memory: keys, bytes, tasks and locks of a namespace, boards of a space, writes per minute."""

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
    """Ticket of the limit on writes per minute (MAX_KV_WRITES_PER_MINUTE), to be taken inside the write."""
    return call.share("kv", cost=cost, limit=config.current().MAX_KV_WRITES_PER_MINUTE)


def count(namespace: OpenNamespace, *, keys: int, size: int, history_size: int = 0) -> int:
    """Add to the counts of a namespace, inside the write: keys, bytes of values, bytes of history.

    Values have precedence: past the limit the oldest versions of the history are deleted, and only when the values
    alone exceed it is the write refused. How many versions were deleted.
    """
    if not keys and not size and not history_size:
        return 0
    namespace.keys, namespace.bytes, namespace.history = (
        namespace.keys + keys,
        namespace.bytes + size,
        namespace.history + history_size,
    )
    limits, pruned = config.current(), 0
    if (keys > 0 and namespace.keys > limits.MAX_KV_KEYS) or (size > 0 and namespace.bytes > limits.MAX_KV_BYTES):
        _refuse_if_full(namespace, grew_keys=keys > 0, grew_bytes=size > 0)
    over = namespace.bytes + namespace.history - limits.MAX_KV_BYTES
    if over > 0 and size + history_size > 0:
        pruned, freed = history.prune(namespace.id, over, slack=limits.MAX_KV_BYTES // 64)
        namespace.history, history_size = namespace.history - freed, history_size - freed
    Namespace.objects.filter(pk=namespace.id).update(
        keys=F("keys") + keys, bytes=F("bytes") + size, history_bytes=F("history_bytes") + history_size
    )
    return pruned


def count_tasks(namespace: OpenNamespace, *, tasks: int, size: int) -> None:
    """Add to the counts of tasks of a board, inside the write; past a limit the whole write is refused."""
    board = Namespace.objects.filter(pk=namespace.id)
    board.update(queued=F("queued") + tasks, queued_bytes=F("queued_bytes") + size)
    if tasks < 0:
        return
    queued, queued_bytes = board.values_list("queued", "queued_bytes").get()
    full, do = f"The queues of {namespace.where}", "Finish tasks first"
    if queued > MAX_TASKS:
        raise limit_messages.quota_reached(full, limit=MAX_TASKS, what="tasks", raised_by=None, do=do)
    max_bytes = config.current().MAX_KV_BYTES
    if queued_bytes > max_bytes:
        raise limit_messages.quota_reached(full, limit=max_bytes, what="bytes", raised_by="MAX_KV_BYTES", do=do)


def count_locks(namespace: OpenNamespace) -> None:
    """Refuse more than MAX_LOCKS lock names on a board (rows of released locks stay). Called for each new name."""
    if Lock.objects.filter(board=namespace.id).count() > MAX_LOCKS:
        do = "Reuse the name of an existing lock"
        raise limit_messages.quota_reached(str(namespace.where), limit=MAX_LOCKS, what="locks", raised_by=None, do=do)


def count_boards(principal: Principal) -> None:
    """Refuse a board that was just created if it exceeds the limit of its creator or of the space."""
    limits = config.current()
    boards = Namespace.objects.filter(space=principal.space, kind=_BOARD)
    if principal.agent is not None and boards.filter(created_by=principal.actor).count() > limits.MAX_BOARDS_PER_AGENT:
        raise limit_messages.quota_reached(
            f"The list of boards created by {principal.name}",
            limit=limits.MAX_BOARDS_PER_AGENT,
            what="boards",
            raised_by="MAX_BOARDS_PER_AGENT",
            do="Delete a board first",
        )
    if boards.count() > limits.MAX_BOARDS_PER_SPACE:
        raise limit_messages.quota_reached(
            "The space",
            limit=limits.MAX_BOARDS_PER_SPACE,
            what="boards",
            raised_by="MAX_BOARDS_PER_SPACE",
            do="Delete a board first",
        )


def _refuse_if_full(namespace: OpenNamespace, *, grew_keys: bool, grew_bytes: bool) -> None:
    """Refuse if the namespace is full even without expired keys, whose values stay for a grace time."""
    limits = config.current()
    live = Item.objects.filter(
        Q(expires=None) | Q(expires__gt=namespace.now), namespace=namespace.id, value__isnull=False
    )
    totals = live.aggregate(keys=Count("id"), bytes=Sum("size"))
    if grew_keys and totals["keys"] > limits.MAX_KV_KEYS:
        raise limit_messages.quota_reached(
            str(namespace.where), limit=limits.MAX_KV_KEYS, what="keys", raised_by="MAX_KV_KEYS"
        )
    if grew_bytes and (totals["bytes"] or 0) > limits.MAX_KV_BYTES:
        raise limit_messages.quota_reached(
            str(namespace.where), limit=limits.MAX_KV_BYTES, what="bytes", raised_by="MAX_KV_BYTES"
        )
