"""Refused writes in the log of a store: who wanted to write which path, and the code of the refusal.

The audit chain of the space has refusals of rights, too; this log is for those who work with the store. It keeps few
refusals of one caller per minute, because each takes a row.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from accounts.principals import Principal
from accounts.verbs import Refused
from fluxcore import clock
from fluxcore.errors import FluxError, NotFound, RateLimited
from fluxcore.writes import booth, limits, write_locks
from memory.artifacts import change_log, names
from memory.artifacts.change_log import Writer
from memory.artifacts.models import Store

MAX_PER_MINUTE = 60  # of one caller
_NOT_LISTED = (404, 429, 500, 503, 507)  # says nothing about the store


def noted_as(op: str, path: str | None = None) -> Refused:
    """The function that lists refusals of an operation, on the path that the call gives or on this one."""

    def note(principal: Principal, given: dict[str, Any], error: FluxError) -> None:
        if error.status in _NOT_LISTED or principal.space is None or not isinstance(given.get("store"), str):
            return
        with suppress(FluxError):  # the caller gets the refusal itself, whatever becomes of the list
            _list(principal, op, given if path is None else {**given, "path": path}, error.code)

    return note


def _list(principal: Principal, op: str, given: dict[str, Any], code: str) -> None:
    try:
        store = names.find_store(principal, given["store"])
    except NotFound:
        return
    if not store.audit:
        return
    ticket = limits.ask(f"store_refusals:{principal.actor_in_space}", cost=1, limit=MAX_PER_MINUTE)
    writer = Writer(principal.actor, _text(given.get("actor"), 128), _text(given.get("reason"), 500), clock.now())
    path = _text(given.get("path"), 1024)

    def write() -> None:
        ticket.take()
        if Store.objects.filter(pk=store.pk, deleted_at=None).exists():
            change_log.add(store.pk, None, path, op, writer, listed=True, outcome=code)

    with suppress(RateLimited):
        booth.write(write, lock=write_locks.lock_name(principal.space), agent=principal.actor)


def _text(given: Any, most: int) -> str:
    """What was given as text that both databases store; a refused path may hold anything."""
    if not isinstance(given, str):
        return ""
    return "".join(char if char.isprintable() else "\ufffd" for char in given[:most])
