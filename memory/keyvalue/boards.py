"""Boards that the agents of a space share: the one that is always there, named ones, and ones a start empties."""

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
from memory.keyvalue import namespaces, quotas
from memory.keyvalue.models import Item, Lock, Namespace, NamespaceKind, Revision, Task, VersionFloor
from memory.keyvalue.namespaces import NamespaceName, OpenNamespace

_BOARD = NamespaceKind.BOARD.value


def _makes(principal: Principal, arguments: dict[str, Any]) -> Iterable[tuple[str, str | None]]:
    """To make a board takes the capability to write all of it."""
    return [(namespaces.board(arguments.get("board")).operation(principal, "write"), None)]


@handles(calls.MakeBoard, asks=_makes)
def make(call: RunningCall, request: calls.MakeBoard) -> Change:
    """One that is there already and of the same kind is fine."""
    where, ephemeral = namespaces.board(request.board), request.ephemeral or False
    space = call.principal.space
    if space is None:
        raise Invalid("Name a space.", field="space")
    if where.name == namespaces.MAIN and ephemeral:
        raise Invalid(f"The board {namespaces.MAIN} lasts.", field="ephemeral")
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
        row, made = Namespace.objects.get_or_create(space_id=space, kind=_BOARD, name=where.name, defaults=defaults)
        if made:
            quotas.count_boards(call.principal)
        if row.ephemeral != ephemeral:
            raise Conflict("That board is there and of the other kind.", board=row.name, ephemeral=row.ephemeral)
        call.record(str(where), ephemeral=ephemeral, made=made)
        if made:
            call.event("board.made", str(where), {"in": str(where), "ephemeral": ephemeral})
        return {**_shown(call.principal, where, row), "made": made}

    return change


@handles(calls.DeleteBoard, asks=_makes)
def delete(call: RunningCall, request: calls.DeleteBoard) -> Change:
    """An agent deletes only what it made."""
    where, who = namespaces.board(request.board), call.principal
    if where.name == namespaces.MAIN:
        raise Invalid(f"The board {namespaces.MAIN} is always there. Delete its keys instead.", field="board")
    ticket = quotas.share(call)

    def change() -> dict[str, Any]:
        ticket.take()
        found = namespaces.find_namespace(who, where)
        if found is None:
            raise TypeError(request.board)
        row = Namespace.objects.get(pk=found.id)
        if who.kind == "agent":
            if row.created_by != who.actor:
                raise Forbidden(
                    f"{row.created_by} made this board. An agent deletes only boards it made; a person can delete any.",
                    board=row.name,
                    created_by=row.created_by,
                )
            _refuse_while_others_work(who, found)
        gone: dict[str, Any] = {"keys": row.keys, "bytes": row.bytes + row.history_bytes, "tasks": row.queued}
        _remove(row)
        call.record(str(where), **gone)
        call.event("board.deleted", str(where), {"in": str(where)})
        whole = may(who, where.operation(who, "read"))
        return {"board": row.name, "deleted": True, **(gone if whole else dict.fromkeys(gone))}

    return change


def _refuse_while_others_work(who: Principal, board: OpenNamespace) -> None:
    """An agent does not pull a board away from under a lock or a task of somebody else."""
    lock = Lock.objects.filter(board=board.id, expires__gt=board.now).exclude(holder__in=("", who.actor))
    task = Task.objects.filter(board=board.id, expires__gt=board.now).exclude(holder=who.actor)
    for held, what in ((lock.order_by("-expires").first(), "a lock"), (task.order_by("-expires").first(), "a task")):
        if held is not None:
            raise Held(
                f"{held.holder} holds {what} on this board. Try again when it is released or has run out.",
                retry_after=held.expires - board.now,
                board=board.where.name,
                holder=held.holder,
            )


def _remove(board: Namespace) -> None:
    """Everything on it, then the board. Versions and fencing tokens that were given there are not given again."""
    Revision.objects.filter(item__namespace=board)._raw_delete("default")
    given = Item.objects.filter(namespace=board).aggregate(most=Max("version"))["most"] or 0
    tokens = Lock.objects.filter(board=board).aggregate(most=Max("token"))["most"] or 0
    for model, field in ((Item, "namespace"), (Lock, "board"), (Task, "board")):
        model._default_manager.filter(**{field: board})._raw_delete("default")
    space, floor = board.space_id, max(board.floor, given, tokens)
    VersionFloor.objects.get_or_create(space_id=space, defaults={"floor": floor})
    VersionFloor.objects.filter(space=space, floor__lt=floor).update(floor=floor)
    board.delete()


def _looks(principal: Principal, arguments: dict[str, Any]) -> Iterable[tuple[str, str | None]]:
    held = principal.capabilities
    if principal.kind == "agent" and any(text.startswith("bb.read") for text in held.texts):
        return []
    return [("bb.read", None)]


@handles(calls.ListBoards, asks=_looks)
def list_boards(principal: Principal, request: calls.ListBoards) -> dict[str, Any]:
    """What all of a board comes to is told only to who may read all of it."""
    found = Namespace.objects.filter(space=principal.space or 0, kind=_BOARD).order_by("name")
    shown = []
    for row in found:
        where = namespaces.board(row.name)
        if namespaces.reads_something(principal, where):
            shown.append(_shown(principal, where, row))
    return {"boards": shown, "count": len(shown)}


def _shown(principal: Principal, where: NamespaceName, row: Namespace) -> dict[str, Any]:
    whole = may(principal, where.operation(principal, "read"))
    return {
        "board": row.name,
        "ephemeral": row.ephemeral,
        "keys": row.keys if whole else None,
        "bytes": row.bytes if whole else None,
        "created_by": row.created_by,
        "created_at": clock.rfc3339(row.created_at),
    }
