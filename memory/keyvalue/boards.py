"""Boards that the agents of a space share: create, delete and list them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.db.models import Max

from accounts.authorise import may
from accounts.calls import handles
from accounts.principals import Principal
from accounts.verbs import Change, RunningCall
from flux.calls import boards as calls
from fluxcore import clock
from fluxcore.errors import Conflict, Forbidden, Held, Invalid
from memory.keyvalue import hooks, namespaces, quotas
from memory.keyvalue.models import Item, Lock, Namespace, NamespaceKind, Revision, Task, VersionFloor
from memory.keyvalue.namespaces import NamespaceName, OpenNamespace

_BOARD = NamespaceKind.BOARD.value


def _writes_all(principal: Principal, arguments: dict[str, Any]) -> Iterable[tuple[str, str | None]]:
    """Capabilities of creating or deleting a board: to write all of it."""
    return [(namespaces.board(arguments.get("board")).operation(principal, "write"), None)]


@handles(calls.MakeBoard, asks=_writes_all)
def make(call: RunningCall, request: calls.MakeBoard) -> Change:
    """Create a board. If it exists with the same `ephemeral`, nothing changes."""
    where, ephemeral = namespaces.board(request.board), request.ephemeral or False
    space = call.principal.space
    if space is None:
        raise Invalid("The space is missing: add space.", field="space")
    if where.name == namespaces.MAIN and ephemeral:
        raise Invalid(f"Board {namespaces.MAIN} is always durable: leave ephemeral out.", field="ephemeral")
    ticket = quotas.share(call)

    def change() -> dict[str, Any]:
        ticket.take()
        floor = VersionFloor.objects.filter(space=space).values_list("floor", flat=True).first() or 0
        defaults = {
            "ephemeral": ephemeral,
            "floor": floor,
            "created_at": clock.now(),
            "created_by": call.principal.actor,
        }
        row, created = Namespace.objects.get_or_create(space_id=space, kind=_BOARD, name=where.name, defaults=defaults)
        if created:
            quotas.count_boards(call.principal)
        if row.ephemeral != ephemeral:
            raise Conflict(
                f"Board {row.name} already exists and is {'ephemeral' if row.ephemeral else 'durable'}. "
                "Use another name, or delete it first.",
                board=row.name,
                ephemeral=row.ephemeral,
            )
        call.record(str(where), ephemeral=ephemeral, made=created)
        if created:
            call.event("board.made", str(where), {"in": str(where), "ephemeral": ephemeral})
        return {**_board_facts(call.principal, where, row), "made": created}

    return change


@handles(calls.DeleteBoard, asks=_writes_all)
def delete(call: RunningCall, request: calls.DeleteBoard) -> Change:
    """Delete a board. An agent deletes only boards it created, and only while no other agent works on them."""
    where, principal = namespaces.board(request.board), call.principal
    if where.name == namespaces.MAIN:
        raise Invalid(f"Board {namespaces.MAIN} cannot be deleted. Delete its keys instead.", field="board")
    ticket = quotas.share(call)

    def change() -> dict[str, Any]:
        ticket.take()
        board = namespaces.find_namespace(principal, where)
        if board is None:
            raise TypeError(request.board)
        row = Namespace.objects.get(pk=board.id)
        if principal.kind == "agent":
            if row.created_by != principal.actor:
                raise Forbidden(
                    f"This board was created by {row.created_by}. Agents delete only boards they created; "
                    "people can delete any.",
                    board=row.name,
                    created_by=row.created_by,
                )
            _refuse_while_others_work(principal, board)
        totals: dict[str, Any] = {"keys": row.keys, "bytes": row.bytes + row.history_bytes, "tasks": row.queued}
        _remove(row)
        call.record(str(where), **totals)
        call.event("board.deleted", str(where), {"in": str(where)})
        reads_all = may(principal, where.operation(principal, "read"))
        return {"board": row.name, "deleted": True, **(totals if reads_all else dict.fromkeys(totals))}

    return change


def _refuse_while_others_work(principal: Principal, board: OpenNamespace) -> None:
    """Raise Held while somebody else holds a lock or has claimed a task on the board."""
    locks = Lock.objects.filter(board=board.id, expires__gt=board.now).exclude(holder__in=("", principal.actor))
    tasks = Task.objects.filter(board=board.id, expires__gt=board.now).exclude(holder=principal.actor)
    for rows, what in ((locks, "a lock"), (tasks, "a task")):
        last = rows.order_by("-expires").first()
        if last is not None:
            raise Held(
                f"{last.holder} holds {what} on this board. Try again after it is released or expires.",
                retry_after=last.expires - board.now,
                board=board.where.name,
                holder=last.holder,
            )


def _remove(board: Namespace) -> None:
    """Delete a board with everything on it. Its highest version or token is saved, so that none is used again."""
    Revision.objects.filter(item__namespace=board)._raw_delete("default")
    version = Item.objects.filter(namespace=board).aggregate(highest=Max("version"))["highest"] or 0
    token = Lock.objects.filter(board=board).aggregate(highest=Max("token"))["highest"] or 0
    for model, field in ((Item, "namespace"), (Lock, "board"), (Task, "board")):
        model._default_manager.filter(**{field: board})._raw_delete("default")
    space, floor = board.space_id, max(board.floor, version, token)
    if board.recalled is not None:
        hooks.place_changed(space, board.pk)
    VersionFloor.objects.get_or_create(space_id=space, defaults={"floor": floor})
    VersionFloor.objects.filter(space=space, floor__lt=floor).update(floor=floor)
    board.delete()


def _reads_some_board(principal: Principal, arguments: dict[str, Any]) -> Iterable[tuple[str, str | None]]:
    """Capabilities of the list: to read something on some board."""
    texts = principal.capabilities.texts
    if principal.kind == "agent" and any(text.startswith("bb.read") for text in texts):
        return []
    return [("bb.read", None)]


@handles(calls.ListBoards, asks=_reads_some_board)
def list_boards(principal: Principal, request: calls.ListBoards) -> dict[str, Any]:
    """List the boards the caller may read something of; counts only of boards it may read whole."""
    boards = []
    for row in Namespace.objects.filter(space=principal.space or 0, kind=_BOARD).order_by("name"):
        where = namespaces.board(row.name)
        if namespaces.reads_something(principal, where):
            boards.append(_board_facts(principal, where, row))
    return {"boards": boards, "count": len(boards)}


def _board_facts(principal: Principal, where: NamespaceName, row: Namespace) -> dict[str, Any]:
    """A board as answers show it."""
    reads_all = may(principal, where.operation(principal, "read"))
    return {
        "board": row.name,
        "ephemeral": row.ephemeral,
        "keys": row.keys if reads_all else None,
        "bytes": row.bytes if reads_all else None,
        "created_by": row.created_by,
        "created_at": clock.rfc3339(row.created_at),
    }
