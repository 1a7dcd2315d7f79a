"""Fencing tokens: a write with a fence is refused unless its caller still holds the lock with that token."""

from __future__ import annotations

from accounts.principals import Principal
from fluxcore.errors import Fenced, Invalid
from memory.keyvalue.models import Lock, NamespaceKind
from memory.keyvalue.namespaces import OpenNamespace, reader


def check_fence(principal: Principal, namespace: OpenNamespace, name: str, token: int) -> None:
    """Raise Fenced unless the lock is held with this token. Inside the write: check and write are one step."""
    if namespace.where.kind != NamespaceKind.BOARD.value:
        raise Invalid("fence works on boards only, where locks are: leave it out.", field="fence")
    lock = Lock.objects.filter(board=namespace.id, name=name).first()
    if lock is None or lock.token != token or not lock.holder or lock.expires <= namespace.now:
        # The capability was checked for the key: about a lock whose name the caller may not read, reveal nothing.
        if not reader(principal, namespace.where)(name):
            raise Fenced(lock=name, token=token)
        raise Fenced(lock=name, token=token, current_token=lock.token if lock else 0)
