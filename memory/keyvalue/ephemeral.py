"""Ephemeral boards: emptied whenever the instance starts."""

from __future__ import annotations

from fluxcore import events
from fluxcore.writes import booth, write_locks
from memory.keyvalue import hooks
from memory.keyvalue.models import Item, Lock, Namespace, NamespaceKind, Revision, Task


def clear_ephemeral() -> int:
    """Empty all ephemeral boards; how many. Versions and fencing tokens continue to grow."""
    boards = list(Namespace.objects.filter(kind=NamespaceKind.BOARD.value, ephemeral=True))
    for board in boards:
        booth.write(lambda board=board: _clear(board), lock=write_locks.lock_name(board.space_id))  # type: ignore[misc]
    return len(boards)


def _clear(board: Namespace) -> None:
    Revision.objects.filter(item__namespace=board).delete()
    Item.objects.filter(namespace=board).update(value=None, sha="", size=0, expires=None, displaced=-1)
    Task.objects.filter(board=board).delete()
    Lock.objects.filter(board=board).update(holder="", expires=0.0)
    Namespace.objects.filter(pk=board.pk).update(keys=0, bytes=0, history_bytes=0, queued=0, queued_bytes=0)
    if board.recalled is not None:
        hooks.place_changed(board.space_id, board.pk)
    where = f"boards/{board.name}"
    events.append("board.cleared", space=board.space_id, actor="instance", subject=where, data={"in": where})
