"""Work queues on a board: each task is claimed by one caller at a time and is gone when that one is done.

A claim holds for a time; a claimant that dies loses it, the next claim has a higher token, and whatever the first
one says after that is refused.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from typing import Any

from django.db import connection
from django.db.models import Count, Q

from accounts.principals import Principal
from accounts.verbs import Change, RunningCall, selector, verb
from fluxcore import clock
from fluxcore.errors import Fenced, Invalid, NotFound
from memory.keyvalue import moment, places, quotas
from memory.keyvalue.given import check_key, check_ttl, check_value, check_version, value_of
from memory.keyvalue.locks import DEFAULT_SECONDS, inside
from memory.keyvalue.models import Task
from memory.keyvalue.places import Room

_TABLE = Task._meta.db_table
_OLDEST = (
    f"SELECT id FROM {_TABLE} WHERE board_id = %s AND queue = %s AND expires <= %s "  # noqa: S608
    "ORDER BY id LIMIT 1{lock}"
)
_CLAIM = (
    f"UPDATE {_TABLE} SET token = token + 1, holder = %s, expires = %s "  # noqa: S608
    "WHERE id = ({oldest}) AND expires <= %s RETURNING uuid, value, token"
)
_MINE = "WHERE uuid = %s AND board_id = %s AND token = %s AND holder = %s AND expires > %s"
_RENEW = f"UPDATE {_TABLE} SET expires = %s {_MINE} RETURNING queue, size"  # noqa: S608
_RELEASE = f"UPDATE {_TABLE} SET expires = 0, holder = '' {_MINE} RETURNING queue, size"  # noqa: S608
_DONE = f"DELETE FROM {_TABLE} {_MINE} RETURNING queue, size"  # noqa: S608


def _writes(principal: Principal, arguments: dict[str, Any]) -> Iterable[tuple[str, str | None]]:
    """A queue's name is like a key of its board."""
    where = places.board(arguments.get("board", places.MAIN))
    return [(where.operation(principal, "write"), check_key(arguments.get("queue"), name="queue"))]


def _takes(principal: Principal, arguments: dict[str, Any]) -> Iterable[tuple[str, str | None]]:
    """To claim is to read a task and to change it."""
    where = places.board(arguments.get("board", places.MAIN))
    queue = check_key(arguments.get("queue"), name="queue")
    return [(where.operation(principal, action), queue) for action in ("write", "read")]


@verb("queues.add", needs="bb.write", asks=_writes)
def add(act: RunningCall, *, queue: str, value: Any, board: str = places.MAIN) -> Change:
    """Put a task at the end of a queue."""
    name, checked, identity = check_key(queue, name="queue"), check_value(value), uuid.uuid4()
    ticket = quotas.share(act)

    def change() -> dict[str, Any]:
        ticket.take()
        room = inside(act, board)
        quotas.count_tasks(room, tasks=1, size=checked.size)
        Task.objects.create(
            uuid=identity,
            board_id=room.id,
            queue=name,
            value=checked.text,
            size=checked.size,
            added_at=clock.now(),
            added_by=act.principal.actor,
        )
        _tell(act, room, "queue.added", name, str(identity), sha=checked.sha)
        return {"board": room.where.name, "queue": name, "task": str(identity)}

    return change


@verb("queues.claim", needs="bb.write", asks=_takes)
def claim(
    act: RunningCall, *, queue: str, board: str = places.MAIN, ttl_secs: float | None = DEFAULT_SECONDS
) -> Change:
    """Take the oldest task nobody has, for so many seconds; `task` is null where there is none."""
    name, ttl = check_key(queue, name="queue"), check_ttl(ttl_secs) or DEFAULT_SECONDS
    ticket = quotas.share(act)

    def change() -> dict[str, Any]:
        ticket.take()
        room = inside(act, board)
        until = room.now + ttl
        with connection.cursor() as cursor:
            lock = " FOR UPDATE SKIP LOCKED" if connection.vendor == "postgresql" else ""
            cursor.execute(
                _CLAIM.format(oldest=_OLDEST.format(lock=lock)),
                [act.principal.actor, until, room.id, name, room.now, room.now],
            )
            row = cursor.fetchone()
        if row is None:
            act.record(f"{room.where}/{name}", claimed=False)
            return {"board": room.where.name, "queue": name, "task": None}
        task = str(row[0] if isinstance(row[0], uuid.UUID) else uuid.UUID(row[0]))
        _tell(act, room, "queue.claimed", name, task, token=row[2])
        return {
            "board": room.where.name,
            "queue": name,
            "task": task,
            "value": value_of(row[1]),
            "token": row[2],
            "expires_at": moment.told(until),
        }

    return change


def _finisher(name: str, statement: str, kind: str, says: str, *, lasts: bool = False) -> Any:
    def body(
        act: RunningCall, *, queue: str, task: str, token: int, board: str = places.MAIN, ttl_secs: float | None = None
    ) -> Change:
        named, number = check_key(queue, name="queue"), check_version(token, name="token", low=1)
        identity, ttl = _identity(task), check_ttl(ttl_secs) or DEFAULT_SECONDS
        ticket = quotas.share(act)

        def change() -> dict[str, Any]:
            ticket.take()
            room = inside(act, board)
            key = identity.hex if connection.vendor == "sqlite" else identity
            until = [room.now + ttl] if lasts else []
            with connection.cursor() as cursor:
                cursor.execute(statement, [*until, key, room.id, number, act.principal.actor, room.now])
                row = cursor.fetchone()
            if row is None or row[0] != named:  # of another queue: whatever was done is undone with the refusal
                held = Task.objects.filter(uuid=identity, board=room.id, queue=named).first()
                if held is None:
                    raise NotFound("There is no such task; somebody may be done with it.", task=str(identity))
                raise Fenced(
                    "You no longer have that task: your claim ran out.",
                    task=str(identity),
                    token=number,
                    current_token=held.token,
                )
            if statement is _DONE:
                quotas.count_tasks(room, tasks=-1, size=-row[1])
            _tell(act, room, kind, named, str(identity), token=number)
            expires = {"expires_at": moment.told(until[0])} if lasts else {}
            return {"board": room.where.name, "queue": named, "task": str(identity), "token": number, **expires}

        return change

    body.__doc__ = says
    return verb(name, needs="bb.write", asks=_writes)(body)


done = _finisher("queues.done", _DONE, "queue.done", "A claimed task is done and gone.")
renew = _finisher("queues.renew", _RENEW, "queue.renewed", "Keep a claimed task for so many seconds more.", lasts=True)
release = _finisher("queues.release", _RELEASE, "queue.released", "Give a claimed task back; it waits for the next.")


def _identity(task: Any) -> uuid.UUID:
    try:
        return uuid.UUID(task)
    except (ValueError, TypeError, AttributeError):
        raise Invalid("task is the id that claiming answered.", field="task") from None


def _tell(act: RunningCall, room: Room, kind: str, queue: str, task: str, **details: Any) -> None:
    act.record(f"{room.where}/{queue}", task=task, **details)
    act.event(kind, str(room.where), {"in": str(room.where), "key": queue, "task": task})


def _reads(principal: Principal, arguments: dict[str, Any]) -> Iterable[tuple[str, str | None]]:
    where = places.board(arguments.get("board", places.MAIN))
    return [] if places.reads_something(principal, where) else [(where.operation(principal, "read"), None)]


@selector("queues.list", needs="bb.read", asks=_reads)
def listed(principal: Principal, *, board: str = places.MAIN) -> dict[str, Any]:
    """The queues of a board that you may read, with how many tasks wait and how many are claimed."""
    where = places.board(board)
    room, readable = places.room(principal, where, make=False), places.reader(principal, where)
    if room is None:
        return {"queues": [], "count": 0}
    claimed = Count("id", filter=Q(expires__gt=room.now))
    found = Task.objects.filter(board=room.id).values("queue").annotate(all=Count("id"), claimed=claimed)
    shown = [
        {"queue": one["queue"], "waiting": one["all"] - one["claimed"], "claimed": one["claimed"]}
        for one in found.order_by("queue")
        if readable(one["queue"])
    ]
    return {"queues": shown, "count": len(shown)}
