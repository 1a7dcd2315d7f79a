"""Operations on one key: set, delete, touch, incr, append, patch, restore.

Each is prepared (checked) before the write and carried out inside it: one by a verb, several in one transaction by a
batch. `incr`, `append` and `patch` read the value first and write on condition that its version is unchanged.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from accounts import origins
from accounts.verbs import RunningCall
from flux.calls.rules import FIELDS_OF_OP
from fluxcore import clock
from fluxcore.errors import Conflict, Invalid, NotFound
from fluxcore.versioned import expected_details
from fluxcore.writes.preconditions import NONE, UNSET, Precondition, conflict_message
from memory.keyvalue import expiry_clock, fencing, history, hooks, quotas, statements
from memory.keyvalue.namespaces import OpenNamespace, reader
from memory.keyvalue.statements import CurrentKey, KeyWriter, StatementResult
from memory.keyvalue.validation import CanonicalValue, check_value, precondition, value_of

if TYPE_CHECKING:
    from flux.calls.keys import Expecting

MAX_NUMBER = 2**53 - 1


@dataclass(frozen=True)
class PreparedOperation:
    """A checked operation, ready to be carried out."""

    op: str
    key: str
    value: CanonicalValue | None = None  # None: the operation computes it or deletes
    ttl: float | None = None
    keep_ttl: bool = False
    compute: Callable[[Any, bool], Any] | None = None  # the new value from the current one and whether there is one
    version: int = 0
    fence: tuple[str, int] | None = None
    expected: Precondition = field(default=NONE)


_FIELDS = frozenset(name for names in FIELDS_OF_OP.values() for name in names)


def prepared(op: str, key: str, request: Expecting) -> PreparedOperation:
    """Check the fields of an operation against each other, and bring its value into canonical form."""
    given = {name: getattr(request, name) for name in request.model_fields_set & _FIELDS}
    for name in sorted(given):
        if name not in FIELDS_OF_OP[op] and given[name] is not None:
            raise Invalid.unknown(
                name, ("key", *FIELDS_OF_OP[op], "expected_version", "expected_sha", "expected_value")
            )
    fence = (request.fence.lock, request.fence.token) if request.fence else None
    operation = PreparedOperation(op, key, ttl=given.get("ttl_secs"), fence=fence, expected=precondition(request))
    return _PREPARE[op](operation, given) if op in _PREPARE else operation


def _set(operation: PreparedOperation, given: dict[str, Any]) -> PreparedOperation:
    value, keep_ttl = _required(given, "value"), given.get("keep_ttl") or False
    if keep_ttl and operation.ttl is not None:
        raise Invalid("ttl_secs and keep_ttl exclude each other: give one of them.", field="keep_ttl")
    if value is None and operation.expected.expected_value is not UNSET:
        return replace(operation, op="delete")  # compare-and-set to null deletes
    return replace(operation, value=check_value(value), keep_ttl=keep_ttl)


def _required(given: dict[str, Any], name: str) -> Any:
    if name not in given:
        raise Invalid(f"{name} is missing; null is a value.", field=name)
    return given[name]


def _incr(operation: PreparedOperation, given: dict[str, Any]) -> PreparedOperation:
    by = given["by"] if given.get("by") is not None else 1

    def compute(old: Any, exists: bool) -> Any:
        if not exists:
            old = 0
        if isinstance(old, bool) or not isinstance(old, int | float):
            raise Conflict("The current value is not a number. incr changes numbers only.", key=operation.key)
        if abs(old + by) > MAX_NUMBER:
            raise Conflict("The result would exceed 2^53 - 1, the largest number allowed.", key=operation.key)
        return old + by

    return replace(operation, compute=compute, keep_ttl=operation.ttl is None)


def _append(operation: PreparedOperation, given: dict[str, Any]) -> PreparedOperation:
    value = _required(given, "value")
    check_value(value)

    def compute(old: Any, exists: bool) -> Any:
        if not exists:
            return [value]
        if isinstance(old, list):
            return [*old, value]
        if isinstance(old, str) and isinstance(value, str):
            return old + value
        raise Conflict(
            "The current value cannot be appended to. append adds any value to a list, or a text to a text.",
            key=operation.key,
        )

    return replace(operation, compute=compute, keep_ttl=operation.ttl is None)


def _patch(operation: PreparedOperation, given: dict[str, Any]) -> PreparedOperation:
    patch = _required(given, "patch")
    check_value(patch, name="patch")

    def compute(old: Any, exists: bool) -> Any:
        return merged(old if exists else None, patch)

    return replace(operation, compute=compute, keep_ttl=operation.ttl is None)


def _restore(operation: PreparedOperation, given: dict[str, Any]) -> PreparedOperation:
    if given.get("version") is None:
        raise Invalid("version is missing: give the version to restore.", field="version")
    return replace(operation, version=given["version"])


_PREPARE: dict[str, Callable[[PreparedOperation, dict[str, Any]], PreparedOperation]] = {
    "set": _set,
    "incr": _incr,
    "append": _append,
    "patch": _patch,
    "restore": _restore,
}


def merged(target: Any, patch: Any) -> Any:
    """Apply a JSON merge patch (RFC 7396): null removes a member, objects merge, other values replace."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = merged(result.get(name), value)
    return result


# Inside the write ----------------------------------------------------------------------------------


def carry_out(call: RunningCall, namespace: OpenNamespace, operation: PreparedOperation) -> dict[str, Any]:
    """Write the operation with its counts, history, audit entry and event; the answer of the call."""
    writer = KeyWriter(namespace.id, namespace.floor, namespace.now, clock.now(), call.principal.actor)
    if operation.fence is not None:
        fencing.check_fence(call.principal, namespace, *operation.fence)
    if operation.op == "delete":
        return _delete(call, namespace, writer, operation)
    if operation.op == "touch":
        return _touch(call, namespace, writer, operation)
    key, expected, value, expires = operation.key, operation.expected, operation.value, _expiry(namespace, operation)
    origin = origins.of_person_or(None, person=call.principal.kind != "agent", ceiling=call.principal.ceiling)
    if operation.op == "restore":
        value = history.read_version(namespace, key, operation.version)
        origin = origins.lowest(origin, value.origin or "unknown")
    elif operation.compute is not None:
        value, expected = _computed(call, namespace, operation)
        origin = origins.lowest(origin, value.origin) if value.origin else origin
    if value is None:
        raise TypeError(operation.op)
    result = statements.put(writer, key, value, expires, expected, keep=operation.keep_ttl, origin=origin)
    if result is None:
        raise conflict(call, namespace, key, expected)
    is_new = result.displaced < 0
    history_bytes = history.add(writer, result, value, origin)
    size = value.size - max(result.displaced, 0)
    pruned = quotas.count(namespace, keys=1 if is_new else 0, size=size, history_size=history_bytes)
    # Without the digest of the value: an audit entry stays for ever, and a value can be purged.
    _record(call, namespace, operation, result, size=value.size, **({"history_pruned": pruned} if pruned else {}))
    answer = {"key": key, "version": result.version, "expires_at": expiry_clock.rfc3339(result.expires)}
    if operation.value is not None:
        return {**answer, "sha": value.sha}
    if not _readable(call, namespace, key):
        return answer  # the digest of a computed value would let a caller guess the value it may not read
    return {**answer, "sha": value.sha, **({"value": value_of(value.text)} if operation.compute is not None else {})}


def _computed(
    call: RunningCall, namespace: OpenNamespace, operation: PreparedOperation
) -> tuple[CanonicalValue, Precondition]:
    """The new value with the provenance of the current one, and the precondition that the key still has it."""
    current = statements.current(namespace.id, operation.key, namespace.now)
    _check(call, namespace, operation, current)
    if operation.compute is None:
        raise TypeError(operation.op)
    value = operation.compute(value_of(current.text) if current else None, current is not None)
    computed = replace(check_value(value), origin=(current.origin or "unknown") if current else "")
    return computed, Precondition(expected_version=current.version if current else 0)


def _check(
    call: RunningCall, namespace: OpenNamespace, operation: PreparedOperation, current: CurrentKey | None
) -> None:
    try:
        operation.expected.check(
            sha=current.sha if current else "",
            version=current.version if current else 0,
            value=value_of(current.text) if current else None,
        )
    except Conflict:
        raise conflict(call, namespace, operation.key, operation.expected, current) from None


def remove_value(
    call: RunningCall, namespace: OpenNamespace, writer: KeyWriter, operation: PreparedOperation
) -> StatementResult | None:
    """Remove the value of a key; the caller counts it. None if there was none and no other value was expected."""
    result = statements.remove(writer, operation.key, operation.expected)
    if result is None:
        # An absent key is what the caller wants, unless it expected a value.
        _check(call, namespace, operation, statements.current(namespace.id, operation.key, namespace.now))
    return result


def _delete(
    call: RunningCall, namespace: OpenNamespace, writer: KeyWriter, operation: PreparedOperation
) -> dict[str, Any]:
    result = remove_value(call, namespace, writer, operation)
    if result is None:
        call.record(_object(namespace, operation.key), deleted=False)
        return {"key": operation.key, "deleted": False, "version": 0}
    history_bytes = history.add(writer, result, None)
    quotas.count(namespace, keys=-1, size=-result.displaced, history_size=history_bytes)
    _record(call, namespace, operation, result)
    return {"key": operation.key, "deleted": True, "version": result.version}


def _touch(
    call: RunningCall, namespace: OpenNamespace, writer: KeyWriter, operation: PreparedOperation
) -> dict[str, Any]:
    key = operation.key
    result = statements.touch(writer, key, _expiry(namespace, operation), operation.expected)
    if result is None:
        _check(call, namespace, operation, statements.current(namespace.id, key, namespace.now))
        raise NotFound(f"Key not found in {namespace.where}.", key=key)
    history.set_expiry(result)
    _record(call, namespace, operation, result)
    return {"key": key, "version": result.version, "expires_at": expiry_clock.rfc3339(result.expires)}


def _expiry(namespace: OpenNamespace, operation: PreparedOperation) -> float | None:
    return namespace.now + operation.ttl if operation.ttl is not None else None


def conflict(
    call: RunningCall, namespace: OpenNamespace, key: str, expected: Precondition, current: CurrentKey | None = None
) -> Conflict:
    """The error of an unmet expectation, with the current value and its digest only for callers who may read them."""
    current = current or statements.current(namespace.id, key, namespace.now)
    version = current.version if current else 0
    details: dict[str, Any] = {"key": key, "current_version": version, **expected_details(expected)}
    if _readable(call, namespace, key):
        details |= {
            "current_sha": current.sha if current else "",
            "expires_at": expiry_clock.rfc3339(current.expires if current else None),
            "current_value": value_of(current.text) if current else None,
        }
    return Conflict(conflict_message(version), **details)


def _readable(call: RunningCall, namespace: OpenNamespace, key: str) -> bool:
    return reader(call.principal, namespace.where)(key)


_EVENT_KINDS = {"delete": "kv.deleted", "touch": "kv.touched"}  # of other operations: kv.set


def _record(
    call: RunningCall,
    namespace: OpenNamespace,
    operation: PreparedOperation,
    result: StatementResult,
    **details: Any,
) -> None:
    """The audit entry and the event of an operation."""
    call.record(_object(namespace, operation.key), version=result.version, **details)
    data = {"in": str(namespace.where), "key": operation.key, "version": result.version, "op": operation.op}
    if result.expires is not None:
        data["expires_at"] = expiry_clock.rfc3339(result.expires) or ""
    call.event(_EVENT_KINDS.get(operation.op, "kv.set"), str(namespace.where), data)
    if namespace.recalled is not None and operation.op != "touch" and namespace.recalls(operation.key):
        hooks.value_changed(call.principal.space or 0, result.item)


def _object(namespace: OpenNamespace, key: str) -> str:
    return f"{namespace.where}/{key}"
