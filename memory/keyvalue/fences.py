"""Fencing: a write that says under which lock it is made counts only while that lock is its maker's."""

from __future__ import annotations

from typing import Any

from accounts.principals import Principal
from fluxcore.errors import Fenced, Invalid
from memory.keyvalue.given import check_key, check_version
from memory.keyvalue.models import Lock, Namespace
from memory.keyvalue.places import Room, reader


def check(fence: Any) -> tuple[str, int] | None:
    """`{"lock": NAME, "token": N}`."""
    if fence is None:
        return None
    if not isinstance(fence, dict) or set(fence) != {"lock", "token"}:
        raise Invalid('fence is {"lock": NAME, "token": N}.', field="fence")
    return check_key(fence["lock"], name="lock"), check_version(fence["token"], name="token", low=1)


def hold(principal: Principal, room: Room, lock: str, token: int) -> None:
    """Refuse a write whose lock has another holder by now, or none. Inside the write: both are one step."""
    if room.where.kind != Namespace.Kind.BOARD.value:
        raise Invalid("Locks are on boards: fence works there.", field="fence")
    held = Lock.objects.filter(board=room.id, name=lock).first()
    if held is None or held.token != token or not held.holder or held.expires <= room.now:
        # The capability was for the key: of a lock whose name the caller may not read nothing is told.
        if not reader(principal, room.where)(lock):
            raise Fenced(lock=lock, token=token)
        raise Fenced(lock=lock, token=token, current_token=held.token if held else 0)
