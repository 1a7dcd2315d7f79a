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

from accounts.calls import Handler, handles
from accounts.principals import Principal
from accounts.verbs import Change, RunningCall
from flux.calls import boards as calls
from fluxcore import clock
from fluxcore.errors import Fenced, Invalid, NotFound
from memory.keyvalue import expiry_clock, kept_answers, namespaces, quotas
from memory.keyvalue.locks import DEFAULT_SECONDS, open_board
from memory.keyvalue.models import Task
from memory.keyvalue.namespaces import OpenNamespace
from memory.keyvalue.validation import check_key, check_value, value_of

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
    where = namespaces.board(arguments.get("board"))
    return [(where.operation(principal, "write"), check_key(arguments.get("queue"), name="queue"))]


def _takes(principal: Principal, arguments: dict[str, Any]) -> Iterable[tuple[str, str | None]]:
    """To claim is to read a task and to change it."""
    where = namespaces.board(arguments.get("board"))
    queue = check_key(arguments.get("queue"), name="queue")
    return [(where.operation(principal, action), queue) for action in ("write", "read")]


@handles(calls.AddTask, asks=_writes)
def add(call: RunningCall, request: calls.AddTask) -> Change:
    name, checked, identity = request.queue, check_value(request.value), uuid.uuid4()
    ticket = quotas.share(call)

    def change() -> dict[str, Any]:
        ticket.take()
        board = open_board(call, request.board)
        quotas.count_tasks(board, tasks=1, size=checked.size)
        Task.objects.create(
            uuid=identity,
            board_id=board.id,
            queue=name,
            value=checked.text,
            size=checked.size,
            added_at=clock.now(),
            added_by=call.principal.actor,
        )
        # Without the digest of its value: an entry of the chain stays for ever, and a task is deleted when it is done.
        _tell(call, board, "queue.added", name, str(identity))
        return {"board": board.where.name, "queue": name, "task": str(identity)}

    return change


@handles(calls.ClaimTask, asks=_takes, large=kept_answers.OF_TASKS)
def claim(call: RunningCall, request: calls.ClaimTask) -> Change:
    name, ttl = request.queue, request.ttl_secs or DEFAULT_SECONDS
    ticket = quotas.share(call)

    def change() -> dict[str, Any]:
        ticket.take()
        board = open_board(call, request.board)
        until = board.now + ttl
        with connection.cursor() as cursor:
            lock = " FOR UPDATE SKIP LOCKED" if connection.vendor == "postgresql" else ""
            cursor.execute(
                _CLAIM.format(oldest=_OLDEST.format(lock=lock)),
                [call.principal.actor, until, board.id, name, board.now, board.now],
            )
            row = cursor.fetchone()
        if row is None:
            call.record(f"{board.where}/{name}", claimed=False)
            return {"board": board.where.name, "queue": name, "task": None}
        task = str(row[0] if isinstance(row[0], uuid.UUID) else uuid.UUID(row[0]))
        _tell(call, board, "queue.claimed", name, task, token=row[2])
        return {
            "board": board.where.name,
            "queue": name,
            "task": task,
            "value": value_of(row[1]),
            "token": row[2],
            "expires_at": expiry_clock.told(until),
        }

    return change


def _on_claimed(call: type[calls.ClaimedTask], statement: str, kind: str) -> Handler:
    """The handler of a call on a task that was claimed: one statement that holds only for the newest claim."""

    def body(call: RunningCall, request: calls.ClaimedTask) -> Change:
        queue, token, identity = request.queue, request.token, _identity(request.task)
        ttl = (request.ttl_secs or DEFAULT_SECONDS) if isinstance(request, calls.RenewTask) else None
        ticket = quotas.share(call)

        def change() -> dict[str, Any]:
            ticket.take()
            board = open_board(call, request.board)
            key = identity.hex if connection.vendor == "sqlite" else identity
            until = [board.now + ttl] if ttl is not None else []
            with connection.cursor() as cursor:
                cursor.execute(statement, [*until, key, board.id, token, call.principal.actor, board.now])
                row = cursor.fetchone()
            if row is None or row[0] != queue:  # of another queue: whatever was done is undone with the refusal
                raise _not_yours(board, queue, identity, token)
            if statement is _DONE:
                quotas.count_tasks(board, tasks=-1, size=-row[1])
            _tell(call, board, kind, queue, str(identity), token=token)
            expires = {"expires_at": expiry_clock.told(until[0])} if until else {}
            return {"board": board.where.name, "queue": queue, "task": str(identity), "token": token, **expires}

        return change

    return handles(call, asks=_writes)(body)


done = _on_claimed(calls.FinishTask, _DONE, "queue.done")
renew = _on_claimed(calls.RenewTask, _RENEW, "queue.renewed")
release = _on_claimed(calls.ReleaseTask, _RELEASE, "queue.released")


def _not_yours(board: OpenNamespace, queue: str, identity: uuid.UUID, token: int) -> Fenced | NotFound:
    held = Task.objects.filter(uuid=identity, board=board.id, queue=queue).first()
    if held is None:
        return NotFound("There is no such task; somebody may be done with it.", task=str(identity))
    says = "You no longer have that task: your claim ran out."
    return Fenced(says, task=str(identity), token=token, current_token=held.token)


def _identity(task: Any) -> uuid.UUID:
    try:
        return uuid.UUID(task)
    except (ValueError, TypeError, AttributeError):
        raise Invalid("task is the id that claiming answered.", field="task") from None


def _tell(call: RunningCall, board: OpenNamespace, kind: str, queue: str, task: str, **details: Any) -> None:
    call.record(f"{board.where}/{queue}", task=task, **details)
    call.event(kind, str(board.where), {"in": str(board.where), "key": queue, "task": task})


def _reads(principal: Principal, arguments: dict[str, Any]) -> Iterable[tuple[str, str | None]]:
    where = namespaces.board(arguments.get("board"))
    return [] if namespaces.reads_something(principal, where) else [(where.operation(principal, "read"), None)]


@handles(calls.ListQueues, asks=_reads)
def list_queues(principal: Principal, request: calls.ListQueues) -> dict[str, Any]:
    where = namespaces.board(request.board)
    board, readable = namespaces.find_namespace(principal, where), namespaces.reader(principal, where)
    if board is None:
        return {"queues": [], "count": 0}
    claimed = Count("id", filter=Q(expires__gt=board.now))
    found = Task.objects.filter(board=board.id).values("queue").annotate(all=Count("id"), claimed=claimed)
    shown = [
        {"queue": one["queue"], "waiting": one["all"] - one["claimed"], "claimed": one["claimed"]}
        for one in found.order_by("queue")
        if readable(one["queue"])
    ]
    return {"queues": shown, "count": len(shown)}
