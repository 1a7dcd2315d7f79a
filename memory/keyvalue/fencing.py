"""Fencing: a write that says under which lock it is made counts only while that lock is its maker's."""

from __future__ import annotations

from accounts.principals import Principal
from fluxcore.errors import Fenced, Invalid
from memory.keyvalue.models import Lock, NamespaceKind
from memory.keyvalue.namespaces import OpenNamespace, reader


def hold(principal: Principal, namespace: OpenNamespace, lock: str, token: int) -> None:
    """Refuse a write whose lock has another holder by now, or none. Inside the write: both are one step."""
    if namespace.where.kind != NamespaceKind.BOARD.value:
        raise Invalid("Locks are on boards: fence works there.", field="fence")
    held = Lock.objects.filter(board=namespace.id, name=lock).first()
    if held is None or held.token != token or not held.holder or held.expires <= namespace.now:
        # The capability was for the key: of a lock whose name the caller may not read nothing is told.
        if not reader(principal, namespace.where)(lock):
            raise Fenced(lock=lock, token=token)
        raise Fenced(lock=lock, token=token, current_token=held.token if held else 0)
