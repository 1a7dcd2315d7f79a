"""Locks on a board: held by one caller for a time, with a fencing token that grows with each new holder.

Acquiring is one statement: whoever it does not give the lock to learns who holds it. The token is the proof of
holding: renewing, letting go and fenced writes (`fences.py`) count only with the newest one.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.db import connection

from accounts.principals import Principal
from accounts.verbs import Change, RunningCall, selector, verb
from fluxcore import clock, raw_sql
from fluxcore.errors import Fenced, Held, Invalid
from fluxcore.globs import compile_glob
from memory.keyvalue import moment, places, quotas
from memory.keyvalue.given import MAX_LOCK_SECONDS, check_key, check_pattern, check_ttl, check_version
from memory.keyvalue.models import Lock
from memory.keyvalue.places import Room

MAX_NOTE = 200
MAX_PAGE = 500
DEFAULT_SECONDS = 30.0
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
    """A lock's name is like a key of its board."""
    where = places.board(arguments.get("board", places.MAIN))
    return [(where.operation(principal, "write"), check_key(arguments.get("lock"), name="lock"))]


def inside(act: RunningCall, board: str) -> Room:
    """The board, inside the write."""
    found = places.room(act.principal, places.board(board), make=True)
    if found is None:
        raise TypeError(board)
    return found


@verb("locks.acquire", needs="bb.write", asks=_writes)
def acquire(
    act: RunningCall, *, lock: str, board: str = places.MAIN, ttl_secs: float | None = DEFAULT_SECONDS, note: str = ""
) -> Change:
    """Take a lock for so many seconds, if nobody holds it. The answer's token goes into whatever is done under it."""
    name, ttl = check_key(lock, name="lock"), check_ttl(ttl_secs, most=MAX_LOCK_SECONDS) or DEFAULT_SECONDS
    if not isinstance(note, str) or len(note) > MAX_NOTE or not note.isprintable():
        raise Invalid(f"A note is one line of at most {MAX_NOTE} characters.", field="note")
    ticket = quotas.share(act)

    def change() -> dict[str, Any]:
        ticket.take()
        room = inside(act, board)
        until = room.now + ttl
        who, at = act.principal.actor, raw_sql.adapt_moment(clock.now())
        with connection.cursor() as cursor:
            cursor.execute(_ACQUIRE, [room.id, name, room.floor + 1, who, note, until, at, room.now])
            row = cursor.fetchone()
        if row is None:
            raise held(room, name)
        if row[0] == room.floor + 1:
            quotas.count_locks(room)
        return _told(act, room, "lock.acquired", name, token=row[0], expires=until)

    return change


@verb("locks.renew", needs="bb.write", asks=_writes)
def renew(
    act: RunningCall, *, lock: str, token: int, board: str = places.MAIN, ttl_secs: float | None = DEFAULT_SECONDS
) -> Change:
    """Hold a lock for so many seconds from now. Only its holder, and only while it is one."""
    name, number = check_key(lock, name="lock"), check_version(token, name="token", low=1)
    ttl = check_ttl(ttl_secs, most=MAX_LOCK_SECONDS) or DEFAULT_SECONDS
    ticket = quotas.share(act)

    def change() -> dict[str, Any]:
        ticket.take()
        room = inside(act, board)
        _only_the_holder(act, room, _RENEW, name, number, [room.now + ttl])
        return _told(act, room, "lock.renewed", name, token=number, expires=room.now + ttl)

    return change


@verb("locks.release", needs="bb.write", asks=_writes)
def release(act: RunningCall, *, lock: str, token: int, board: str = places.MAIN) -> Change:
    """Let a lock go. Only its holder."""
    name, number = check_key(lock, name="lock"), check_version(token, name="token", low=1)
    ticket = quotas.share(act)

    def change() -> dict[str, Any]:
        ticket.take()
        room = inside(act, board)
        _only_the_holder(act, room, _RELEASE, name, number, [])
        return _told(act, room, "lock.released", name, token=number, expires=None)

    return change


@verb("locks.break", needs="bb.write", asks=_writes)
def break_lock(act: RunningCall, *, lock: str, board: str = places.MAIN) -> Change:
    """Take a lock from whoever holds it: for people, when its holder is known to be gone."""
    name = check_key(lock, name="lock")
    if act.principal.kind == "agent":
        raise Held("An agent waits until a lock runs out; a person can break it.")

    def change() -> dict[str, Any]:
        room = inside(act, board)
        row = Lock.objects.filter(board=room.id, name=name).first()
        if row is None or not row.holder or row.expires <= room.now:
            raise Fenced("Nobody holds that lock.", lock=name)
        Lock.objects.filter(pk=row.pk).update(holder="", expires=0.0)
        return _told(act, room, "lock.broken", name, token=row.token, expires=None, holder=row.holder)

    return change


def _only_the_holder(act: RunningCall, room: Room, statement: str, name: str, token: int, first: list[Any]) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement, [*first, room.id, name, token, act.principal.actor, room.now])
        if cursor.fetchone() is None:
            row = Lock.objects.filter(board=room.id, name=name).first()
            raise Fenced(lock=name, token=token, current_token=row.token if row else 0)


def held(room: Room, name: str) -> Held:
    """Who has it and until when: that is no secret to those who want it."""
    row = Lock.objects.get(board=room.id, name=name)
    until = max(0.0, row.expires - room.now)
    return Held(
        f"{row.holder} holds it.",
        retry_after=until,
        lock=name,
        holder=row.holder,
        note=row.note,
        token=row.token,
        expires_at=moment.told(row.expires),
    )


def _told(
    act: RunningCall, room: Room, kind: str, name: str, *, token: int, expires: float | None, **more: Any
) -> dict[str, Any]:
    act.record(f"{room.where}/{name}", fencing=token, **more)
    data = {"in": str(room.where), "key": name, "token": token, "holder": act.principal.actor if expires else ""}
    act.event(kind, str(room.where), {**data, "expires_at": moment.told(expires)})
    return {"board": room.where.name, "lock": name, "token": token, "expires_at": moment.told(expires)}


def _reads(principal: Principal, arguments: dict[str, Any]) -> Iterable[tuple[str, str | None]]:
    where = places.board(arguments.get("board", places.MAIN))
    return [] if places.reads_something(principal, where) else [(where.operation(principal, "read"), None)]


@selector("locks.list", needs="bb.read", asks=_reads)
def listed(principal: Principal, *, board: str = places.MAIN, pattern: str | None = None) -> dict[str, Any]:
    """The locks somebody holds, with holder, fencing token and how long they last; only those you may read."""
    where = places.board(board)
    matches, room = compile_glob(check_pattern(pattern or "*")), places.room(principal, where, make=False)
    readable = places.reader(principal, where)
    found = Lock.objects.filter(board=room.id, expires__gt=room.now).exclude(holder="").order_by("name") if room else []
    shown = [row for row in found if matches.matches(row.name) and readable(row.name)][:MAX_PAGE]
    return {
        "locks": [
            {
                "lock": row.name,
                "holder": row.holder,
                "token": row.token,
                "note": row.note,
                "acquired_at": clock.rfc3339(row.acquired_at),
                "expires_at": moment.told(row.expires),
            }
            for row in shown
        ],
        "count": len(shown),
    }
