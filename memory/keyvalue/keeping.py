"""The verbs of exact memory: set, delete, touch, incr, append, patch and restore a key, or many keys at once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from accounts.principals import Principal
from accounts.verbs import Change, RunningCall, Verb, verb
from fluxcore.errors import FluxError, Invalid
from memory.keyvalue import orders, quotas
from memory.keyvalue.given import check_key, expectation
from memory.keyvalue.places import place, room

MAX_BATCH = 100


def writes(principal: Principal, arguments: dict[str, Any]) -> Iterable[tuple[str, str | None]]:
    """To change a key takes the capability to write it."""
    where = place(arguments.get("where"))
    return [(where.operation(principal, "write"), check_key(arguments.get("key")))]


def _verb(op: str, says: str) -> Verb:
    def body(act: RunningCall, *, where: str, **given: Any) -> Change:
        made, home = orders.order(op, given, act.precondition), place(where)
        ticket = quotas.share(act)

        def change() -> dict[str, Any]:
            ticket.take()
            found = room(act.principal, home, make=True)
            if found is None:
                raise TypeError(where)
            return orders.carry_out(act, found, made)

        return change

    body.__doc__ = says
    return verb(f"kv.{op}", needs="memory.write", asks=writes)(body)


put = _verb("set", "Write a value, for a time or for ever. What the precondition expects must hold, or nothing is.")
delete = _verb("delete", "Take a key away; one that is not there is fine.")
touch = _verb("touch", "Let a key live so many seconds from now, or for ever, without changing it.")
incr = _verb("incr", "Add to the number under a key; one that is not there counts from 0.")
append = _verb("append", "Add an element to a list or the end of a text; a key that is not there becomes a list.")
patch = _verb("patch", "Change an object by JSON merge patch.")
restore = _verb("restore", "Write the value of an earlier version anew.")
VERBS = {
    "set": put,
    "delete": delete,
    "touch": touch,
    "incr": incr,
    "append": append,
    "patch": patch,
    "restore": restore,
}


def _all_of_them(principal: Principal, arguments: dict[str, Any]) -> Iterable[tuple[str, str | None]]:
    where = place(arguments.get("where"))
    operation = where.operation(principal, "write")
    keys = dict.fromkeys(check_key(one.get("key")) for one in _listed(arguments.get("operations")))
    return [(operation, key) for key in keys]


def _listed(operations: Any) -> list[dict[str, Any]]:
    if not isinstance(operations, list) or not 1 <= len(operations) <= MAX_BATCH:
        raise Invalid(f"operations is a list of 1 to {MAX_BATCH}.", field="operations", limit=MAX_BATCH)
    for one in operations:
        if not isinstance(one, dict) or not isinstance(one.get("op"), str) or one["op"] not in orders.FIELDS:
            raise Invalid(f"An operation is an object with op: one of {', '.join(orders.FIELDS)}.", field="operations")
    return operations


@verb("kv.batch", needs="memory.write", asks=_all_of_them)
def batch(act: RunningCall, *, where: str, operations: Any) -> Change:
    """Carry out up to 100 operations in one transaction, in their order: all of them or none."""
    home = place(where)
    made = []
    for index, one in enumerate(_listed(operations)):
        given = {name: value for name, value in one.items() if name != "op" and name not in orders.EXPECTED}
        try:
            made.append(orders.order(one["op"], given, expectation(one)))
        except FluxError as refusal:
            refusal.details["index"] = index
            raise
    ticket = quotas.share(act, len(made))

    def change() -> dict[str, Any]:
        ticket.take()
        found = room(act.principal, home, make=True)
        if found is None:
            raise TypeError(where)
        results = []
        for index, one in enumerate(made):
            try:
                results.append(orders.carry_out(act, found, one))
            except FluxError as refusal:
                refusal.details["index"] = index
                raise
        return {"results": results, "count": len(results)}

    return change
