"""The verbs on keys: set, delete, touch, incr, append, patch and restore one, or change many at once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from accounts.calls import checked, handles, register
from accounts.principals import Principal
from accounts.verbs import Change, RunningCall, Verb, verb
from flux.calls import keys as calls
from flux.calls.rules import MAX_BATCH
from fluxcore.errors import FluxError, Invalid
from memory.keyvalue import kept_answers, operations, quotas
from memory.keyvalue.namespaces import open_namespace, place
from memory.keyvalue.validation import check_key

_EXPECTED = ("expected_version", "expected_sha", "expected_value")


def writes(principal: Principal, arguments: dict[str, Any]) -> Iterable[tuple[str, str | None]]:
    """To change a key takes the capability to write it."""
    where = place(arguments.get("place"))
    return [(where.operation(principal, "write"), check_key(arguments.get("key")))]


@handles(calls.SetKey, asks=writes)
def set_key(call: RunningCall, request: calls.SetKey) -> Change:
    return _change(call, "set", request)


@verb("kv.delete", needs="memory.write", asks=writes)
def delete_key(call: RunningCall, **given: Any) -> Change:
    """Take a key away and keep its history. `purging.py` has the call that may also purge it."""
    return _change(call, "delete", checked(calls.DeleteKey, given))


def _step(op: str) -> Verb:
    """One step on what is there."""

    def body(call: RunningCall, **given: Any) -> Change:
        return _change(call, op, checked(calls.ChangeKey, {**given, "op": op}))

    return verb(f"kv.{op}", needs="memory.write", asks=writes, large=kept_answers.OF_KEYS)(body)


STEPS = {op: _step(op) for op in ("touch", "incr", "append", "restore")}


@handles(calls.PatchKey, asks=writes, large=kept_answers.OF_KEYS)
def patch_key(call: RunningCall, request: calls.PatchKey) -> Change:
    return _change(call, "patch", request)


def change_key(principal: Principal, *, op: Any = None, **given: Any) -> Any:
    """The verb that `op` names."""
    if op == "patch":
        return patch_key(principal, **given)
    if not isinstance(op, str) or op not in STEPS:
        raise Invalid(f"op is one of {', '.join((*STEPS, 'patch'))}.", field="op")
    return STEPS[op](principal, **given)


def compare_and_set_key(principal: Principal, **given: Any) -> Any:
    """A write that expects something; a null version or digest expects nothing."""
    if "expected_value" not in given and all(given.get(name) is None for name in _EXPECTED):
        raise Invalid(f"Say what you expect: {', '.join(_EXPECTED)}.", field="expected_version")
    return set_key(principal, **given)


register(calls.ChangeKey, change_key, asks=writes)
register(calls.CompareAndSetKey, compare_and_set_key, asks=writes)


def _change(call: RunningCall, op: str, request: calls.KeyWrite) -> Change:
    operation, where = operations.prepared(op, request.key, request), place(request.place)
    ticket = quotas.share(call)

    def change() -> dict[str, Any]:
        ticket.take()
        return operations.carry_out(call, open_namespace(call.principal, where), operation)

    return change


def _asks_for_all(principal: Principal, arguments: dict[str, Any]) -> Iterable[tuple[str, str | None]]:
    operation = place(arguments.get("place")).operation(principal, "write")
    given = arguments.get("operations")
    if not isinstance(given, list) or not all(isinstance(one, dict) for one in given) or not given:
        raise Invalid(f"operations is a list of 1 to {MAX_BATCH} objects.", field="operations", limit=MAX_BATCH)
    return [(operation, key) for key in dict.fromkeys(check_key(one.get("key")) for one in given[:MAX_BATCH])]


@handles(calls.ChangeKeys, asks=_asks_for_all, large=kept_answers.OF_KEYS)
def change_keys(call: RunningCall, request: calls.ChangeKeys) -> Change:
    where = place(request.place)
    prepared = []
    for index, one in enumerate(request.operations):
        with _at(index):
            prepared.append(operations.prepared(one.op, one.key, one))
    ticket = quotas.share(call, len(prepared))

    def change() -> dict[str, Any]:
        ticket.take()
        namespace = open_namespace(call.principal, where)
        results = []
        for index, operation in enumerate(prepared):
            with _at(index):
                results.append(operations.carry_out(call, namespace, operation))
        return {"results": results, "count": len(results)}

    return change


class _at:
    """Names the operation of a batch that a refusal is about."""

    def __init__(self, index: int) -> None:
        self.index = index

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, FluxError):
            error.details["index"] = self.index
