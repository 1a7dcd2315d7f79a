"""Task queues on a board: add, claim, finish, renew, release and list tasks.

A task is claimed by one caller at a time, for a lease. After the lease the next claim has a higher token, and calls
with the earlier token are refused. A finished task is deleted.
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
    """Capabilities of a change: to write the board's key with the name of the queue."""
    where = namespaces.board(arguments.get("board"))
    return [(where.operation(principal, "write"), check_key(arguments.get("queue"), name="queue"))]


def _reads_and_writes(principal: Principal, arguments: dict[str, Any]) -> Iterable[tuple[str, str | None]]:
    """Capabilities of a claim: to write and to read the board's key with the name of the queue."""
    where = namespaces.board(arguments.get("board"))
    queue = check_key(arguments.get("queue"), name="queue")
    return [(where.operation(principal, action), queue) for action in ("write", "read")]


@handles(calls.AddTask, asks=_writes)
def add(call: RunningCall, request: calls.AddTask) -> Change:
    queue, value, task = request.queue, check_value(request.value), uuid.uuid4()
    ticket = quotas.share(call)

    def change() -> dict[str, Any]:
        ticket.take()
        board = open_board(call, request.board)
        quotas.count_tasks(board, tasks=1, size=value.size)
        Task.objects.create(
            uuid=task,
            board_id=board.id,
            queue=queue,
            value=value.text,
            size=value.size,
            added_at=clock.now(),
            added_by=call.principal.actor,
        )
        # Without the digest of its value: an entry of the chain stays forever, and a finished task is deleted.
        _record(call, board, "queue.added", queue, str(task))
        return {"board": board.where.name, "queue": queue, "task": str(task)}

    return change


@handles(calls.ClaimTask, asks=_reads_and_writes, large=kept_answers.OF_TASKS)
def claim(call: RunningCall, request: calls.ClaimTask) -> Change:
    queue, ttl = request.queue, request.ttl_secs or DEFAULT_SECONDS
    ticket = quotas.share(call)

    def change() -> dict[str, Any]:
        ticket.take()
        board = open_board(call, request.board)
        expires = board.now + ttl
        with connection.cursor() as cursor:
            lock = " FOR UPDATE SKIP LOCKED" if connection.vendor == "postgresql" else ""
            cursor.execute(
                _CLAIM.format(oldest=_OLDEST.format(lock=lock)),
                [call.principal.actor, expires, board.id, queue, board.now, board.now],
            )
            row = cursor.fetchone()
        if row is None:
            call.record(f"{board.where}/{queue}", claimed=False)
            return {"board": board.where.name, "queue": queue, "task": None}
        task_id, text, token = row
        task = str(task_id if isinstance(task_id, uuid.UUID) else uuid.UUID(task_id))
        _record(call, board, "queue.claimed", queue, task, token=token)
        return {
            "board": board.where.name,
            "queue": queue,
            "task": task,
            "value": value_of(text),
            "token": token,
            "expires_at": expiry_clock.rfc3339(expires),
        }

    return change


def _on_claimed(call: type[calls.ClaimedTask], statement: str, kind: str) -> Handler:
    """Make the handler of a call on a claimed task: one statement that changes it only for the newest claim."""

    def body(call: RunningCall, request: calls.ClaimedTask) -> Change:
        queue, token, task = request.queue, request.token, _task_id(request.task)
        ttl = (request.ttl_secs or DEFAULT_SECONDS) if isinstance(request, calls.RenewTask) else None
        ticket = quotas.share(call)

        def change() -> dict[str, Any]:
            ticket.take()
            board = open_board(call, request.board)
            task_id = task.hex if connection.vendor == "sqlite" else task
            expiry = [board.now + ttl] if ttl is not None else []
            with connection.cursor() as cursor:
                cursor.execute(statement, [*expiry, task_id, board.id, token, call.principal.actor, board.now])
                row = cursor.fetchone()
            if row is None or row[0] != queue:  # in another queue: the refusal rolls the change back
                raise _refusal(board, queue, task, token)
            if statement is _DONE:
                quotas.count_tasks(board, tasks=-1, size=-row[1])
            _record(call, board, kind, queue, str(task), token=token)
            expires = {"expires_at": expiry_clock.rfc3339(expiry[0])} if expiry else {}
            return {"board": board.where.name, "queue": queue, "task": str(task), "token": token, **expires}

        return change

    return handles(call, asks=_writes)(body)


finish = _on_claimed(calls.FinishTask, _DONE, "queue.done")
renew = _on_claimed(calls.RenewTask, _RENEW, "queue.renewed")
release = _on_claimed(calls.ReleaseTask, _RELEASE, "queue.released")


def _refusal(board: OpenNamespace, queue: str, task_id: uuid.UUID, token: int) -> Fenced | NotFound:
    """Why a claimed task could not be changed: it does not exist, or another claim is the newest."""
    task = Task.objects.filter(uuid=task_id, board=board.id, queue=queue).first()
    if task is None:
        return NotFound("Task not found: it may be finished already.", task=str(task_id))
    message = "Your claim of this task has expired. Claim a task again."
    return Fenced(message, task=str(task_id), token=token, current_token=task.token)


def _task_id(task: Any) -> uuid.UUID:
    try:
        return uuid.UUID(task)
    except (ValueError, TypeError, AttributeError):
        raise Invalid("task must be the id returned by claim.", field="task") from None


def _record(call: RunningCall, board: OpenNamespace, kind: str, queue: str, task: str, **details: Any) -> None:
    """The audit entry and the event of a change of a task."""
    call.record(f"{board.where}/{queue}", task=task, **details)
    call.event(kind, str(board.where), {"in": str(board.where), "key": queue, "task": task})


def _reads(principal: Principal, arguments: dict[str, Any]) -> Iterable[tuple[str, str | None]]:
    """Capabilities of a list: to read some key of the board."""
    where = namespaces.board(arguments.get("board"))
    return [] if namespaces.reads_something(principal, where) else [(where.operation(principal, "read"), None)]


@handles(calls.ListQueues, asks=_reads)
def list_queues(principal: Principal, request: calls.ListQueues) -> dict[str, Any]:
    where = namespaces.board(request.board)
    board, readable = namespaces.find_namespace(principal, where), namespaces.reader(principal, where)
    if board is None:
        return {"queues": [], "count": 0}
    claimed = Count("id", filter=Q(expires__gt=board.now))
    counts = Task.objects.filter(board=board.id).values("queue").annotate(all=Count("id"), claimed=claimed)
    queues = [
        {"queue": row["queue"], "waiting": row["all"] - row["claimed"], "claimed": row["claimed"]}
        for row in counts.order_by("queue")
        if readable(row["queue"])
    ]
    return {"queues": queues, "count": len(queues)}
