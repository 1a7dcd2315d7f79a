"""Verbs that change keys: set, delete, touch, incr, append, patch and restore, and batches of them."""

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
    """Capabilities of a change: to write the key."""
    where = place(arguments.get("place"))
    return [(where.operation(principal, "write"), check_key(arguments.get("key")))]


@handles(calls.SetKey, asks=writes)
def set_key(call: RunningCall, request: calls.SetKey) -> Change:
    return _change(call, "set", request)


@verb("kv.delete", needs="memory.write", asks=writes)
def delete_key(call: RunningCall, **given: Any) -> Change:
    """Delete a key and keep its history. `purging.py` handles the call, which may also purge."""
    return _change(call, "delete", checked(calls.DeleteKey, given))


def _verb_of(op: str) -> Verb:
    """Make the verb of an operation of ChangeKey."""

    def body(call: RunningCall, **given: Any) -> Change:
        return _change(call, op, checked(calls.ChangeKey, {**given, "op": op}))

    return verb(f"kv.{op}", needs="memory.write", asks=writes, large=kept_answers.OF_KEYS)(body)


VERBS = {op: _verb_of(op) for op in ("touch", "incr", "append", "restore")}


@handles(calls.PatchKey, asks=writes, large=kept_answers.OF_KEYS)
def patch_key(call: RunningCall, request: calls.PatchKey) -> Change:
    return _change(call, "patch", request)


def change_key(principal: Principal, *, op: Any = None, **given: Any) -> Any:
    """The handler of ChangeKey: calls the verb of `op`."""
    if op == "patch":
        return patch_key(principal, **given)
    if not isinstance(op, str) or op not in VERBS:
        raise Invalid(f"op must be one of {', '.join((*VERBS, 'patch'))}.", field="op")
    return VERBS[op](principal, **given)


def compare_and_set_key(principal: Principal, **given: Any) -> Any:
    """The handler of CompareAndSetKey: a write with an expectation; a null version or digest is none."""
    if "expected_value" not in given and all(given.get(name) is None for name in _EXPECTED):
        raise Invalid(f"The expectation is missing: give one of {', '.join(_EXPECTED)}.", field="expected_version")
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


def _writes_each(principal: Principal, arguments: dict[str, Any]) -> Iterable[tuple[str, str | None]]:
    """Capabilities of a batch: to write each of its keys."""
    operation = place(arguments.get("place")).operation(principal, "write")
    given = arguments.get("operations")
    if not isinstance(given, list) or not all(isinstance(fields, dict) for fields in given) or not given:
        raise Invalid(f"operations must be a list of 1 to {MAX_BATCH} objects.", field="operations", limit=MAX_BATCH)
    return [(operation, key) for key in dict.fromkeys(check_key(fields.get("key")) for fields in given[:MAX_BATCH])]


@handles(calls.ChangeKeys, asks=_writes_each, large=kept_answers.OF_KEYS)
def change_keys(call: RunningCall, request: calls.ChangeKeys) -> Change:
    where = place(request.place)
    prepared = []
    for index, fields in enumerate(request.operations):
        with _OperationOfBatch(index):
            prepared.append(operations.prepared(fields.op, fields.key, fields))
    ticket = quotas.share(call, len(prepared))

    def change() -> dict[str, Any]:
        ticket.take()
        namespace = open_namespace(call.principal, where)
        results = []
        for index, operation in enumerate(prepared):
            with _OperationOfBatch(index):
                results.append(operations.carry_out(call, namespace, operation))
        return {"results": results, "count": len(results)}

    return change


class _OperationOfBatch:
    """Adds the index of the operation to an error raised within."""

    def __init__(self, index: int) -> None:
        self.index = index

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, FluxError):
            error.details["index"] = self.index
