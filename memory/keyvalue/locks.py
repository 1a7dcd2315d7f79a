"""Locks on a board: acquire, renew, release, break and list. Each has one holder for a lease, and a fencing token.

The token grows with each new holder. To renew or release a lock and for fenced writes (`fencing.py`) the newest token
is required.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.db import connection

from accounts.calls import handles
from accounts.principals import Principal
from accounts.verbs import Change, RunningCall
from flux.calls import boards as calls
from fluxcore import clock, raw_sql
from fluxcore.errors import Fenced, Held
from fluxcore.globs import compile_glob
from memory.keyvalue import expiry_clock, namespaces, quotas
from memory.keyvalue.models import Lock
from memory.keyvalue.namespaces import OpenNamespace
from memory.keyvalue.validation import check_key, check_pattern

MAX_LISTED = 500
DEFAULT_SECONDS = 30.0  # lease of locks and claims
_TABLE = Lock._meta.db_table
_ACQUIRE = (
    f"INSERT INTO {_TABLE} (board_id, name, token, holder, note, expires, acquired_at) "  # noqa: S608
    "VALUES (%s, %s, %s, %s, %s, %s, %s) ON CONFLICT (board_id, name) DO UPDATE SET "
    f"token = {_TABLE}.token + 1, holder = excluded.holder, note = excluded.note, expires = excluded.expires, "
    f"acquired_at = excluded.acquired_at WHERE {_TABLE}.holder = '' OR {_TABLE}.expires <= %s RETURNING token"
)
_MINE = "WHERE board_id = %s AND name = %s AND token = %s AND holder = %s AND expires > %s RETURNING token"
_RENEW = f"UPDATE {_TABLE} SET expires = %s {_MINE}"  # noqa: S608
_RELEASE = f"UPDATE {_TABLE} SET holder = '', expires = 0 {_MINE}"  # noqa: S608


def _writes(principal: Principal, arguments: dict[str, Any]) -> Iterable[tuple[str, str | None]]:
    """Capabilities of a change: to write the board's key with the name of the lock."""
    where = namespaces.board(arguments.get("board"))
    return [(where.operation(principal, "write"), check_key(arguments.get("lock"), name="lock"))]


def open_board(call: RunningCall, board: str | None) -> OpenNamespace:
    """Open the board of a call, inside the write."""
    return namespaces.open_namespace(call.principal, namespaces.board(board))


@handles(calls.AcquireLock, asks=_writes)
def acquire(call: RunningCall, request: calls.AcquireLock) -> Change:
    name, ttl = request.lock, request.ttl_secs or DEFAULT_SECONDS
    ticket = quotas.share(call)

    def change() -> dict[str, Any]:
        ticket.take()
        board = open_board(call, request.board)
        expires = board.now + ttl
        holder, at = call.principal.actor, raw_sql.adapt_moment(clock.now())
        values = [board.id, name, board.floor + 1, holder, request.note or "", expires, at, board.now]
        with connection.cursor() as cursor:
            cursor.execute(_ACQUIRE, values)
            row = cursor.fetchone()
        if row is None:
            raise _held_error(board, name)
        if row[0] == board.floor + 1:  # a new name
            quotas.count_locks(board)
        return _record(call, board, "lock.acquired", name, token=row[0], expires=expires)

    return change


@handles(calls.RenewLock, asks=_writes)
def renew(call: RunningCall, request: calls.RenewLock) -> Change:
    ttl = request.ttl_secs or DEFAULT_SECONDS
    ticket = quotas.share(call)

    def change() -> dict[str, Any]:
        ticket.take()
        board = open_board(call, request.board)
        _execute_as_holder(call, board, _RENEW, request.lock, request.token, [board.now + ttl])
        return _record(call, board, "lock.renewed", request.lock, token=request.token, expires=board.now + ttl)

    return change


@handles(calls.ReleaseLock, asks=_writes)
def release(call: RunningCall, request: calls.ReleaseLock) -> Change:
    ticket = quotas.share(call)

    def change() -> dict[str, Any]:
        ticket.take()
        board = open_board(call, request.board)
        _execute_as_holder(call, board, _RELEASE, request.lock, request.token, [])
        return _record(call, board, "lock.released", request.lock, token=request.token, expires=None)

    return change


@handles(calls.BreakLock, asks=_writes)
def break_lock(call: RunningCall, request: calls.BreakLock) -> Change:
    name = request.lock
    if call.principal.kind == "agent":
        raise Held("Agents cannot break locks. Wait until the lock expires, or have a person break it.")

    def change() -> dict[str, Any]:
        board = open_board(call, request.board)
        row = Lock.objects.filter(board=board.id, name=name).first()
        if row is None or not row.holder or row.expires <= board.now:
            raise Fenced("The lock is not held.", lock=name)
        Lock.objects.filter(pk=row.pk).update(holder="", expires=0.0)
        return _record(call, board, "lock.broken", name, token=row.token, expires=None, holder=row.holder)

    return change


def _execute_as_holder(
    call: RunningCall, board: OpenNamespace, statement: str, name: str, token: int, first: list[Any]
) -> None:
    """Execute a statement that changes the lock only for its holder; raise Fenced for anybody else."""
    with connection.cursor() as cursor:
        cursor.execute(statement, [*first, board.id, name, token, call.principal.actor, board.now])
        if cursor.fetchone() is None:
            row = Lock.objects.filter(board=board.id, name=name).first()
            raise Fenced(lock=name, token=token, current_token=row.token if row else 0)


def _held_error(board: OpenNamespace, name: str) -> Held:
    """The error of a lock that is held; it names the holder and the expiry to anybody who may acquire the lock."""
    row = Lock.objects.get(board=board.id, name=name)
    return Held(
        f"The lock is held by {row.holder}. Try again after it expires or is released.",
        retry_after=max(0.0, row.expires - board.now),
        lock=name,
        holder=row.holder,
        note=row.note,
        token=row.token,
        expires_at=expiry_clock.rfc3339(row.expires),
    )


def _record(
    call: RunningCall, board: OpenNamespace, kind: str, name: str, *, token: int, expires: float | None, **more: Any
) -> dict[str, Any]:
    """Write the audit entry and the event of a change of a lock; the answer of the call."""
    call.record(f"{board.where}/{name}", fencing=token, **more)
    data = {"in": str(board.where), "key": name, "token": token, "holder": call.principal.actor if expires else ""}
    call.event(kind, str(board.where), {**data, "expires_at": expiry_clock.rfc3339(expires)})
    return {"board": board.where.name, "lock": name, "token": token, "expires_at": expiry_clock.rfc3339(expires)}


def _reads(principal: Principal, arguments: dict[str, Any]) -> Iterable[tuple[str, str | None]]:
    """Capabilities of a list: to read some key of the board."""
    where = namespaces.board(arguments.get("board"))
    return [] if namespaces.reads_something(principal, where) else [(where.operation(principal, "read"), None)]


@handles(calls.ListLocks, asks=_reads)
def list_locks(principal: Principal, request: calls.ListLocks) -> dict[str, Any]:
    where = namespaces.board(request.board)
    matches = compile_glob(check_pattern(request.pattern if request.pattern is not None else "*"))
    board = namespaces.find_namespace(principal, where)
    readable = namespaces.reader(principal, where)
    held_locks = (
        Lock.objects.filter(board=board.id, expires__gt=board.now).exclude(holder="").order_by("name") if board else []
    )
    listed = [row for row in held_locks if matches.matches(row.name) and readable(row.name)][:MAX_LISTED]
    return {
        "locks": [
            {
                "lock": row.name,
                "holder": row.holder,
                "token": row.token,
                "note": row.note,
                "acquired_at": clock.rfc3339(row.acquired_at),
                "expires_at": expiry_clock.rfc3339(row.expires),
            }
            for row in listed
        ],
        "count": len(listed),
    }
