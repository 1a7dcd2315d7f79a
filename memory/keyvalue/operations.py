"""Operations on one key: each is prepared before the write and carried out inside it.

A verb carries out one, a batch many in one transaction. Those that need to see the value first (`incr`, `append`,
`patch`) write it back on condition that it is still what they saw.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from accounts.verbs import RunningCall
from flux.calls.rules import FIELDS_OF_OP
from fluxcore import clock
from fluxcore.errors import Conflict, Invalid, NotFound
from fluxcore.versioned import expected_details
from fluxcore.writes.preconditions import NONE, UNSET, Precondition, conflict_message
from memory.keyvalue import expiry_clock, fencing, history, quotas, statements
from memory.keyvalue.namespaces import OpenNamespace, reader
from memory.keyvalue.statements import CurrentKey, KeyWriter, StatementResult
from memory.keyvalue.validation import CanonicalValue, check_value, precondition, value_of

if TYPE_CHECKING:
    from flux.calls.keys import Expecting

MAX_NUMBER = 2**53 - 1


@dataclass(frozen=True)
class PreparedOperation:
    """One change of one key, checked."""

    op: str
    key: str
    value: CanonicalValue | None = None  # None: take it away
    ttl: float | None = None
    keep: bool = False
    change: Callable[[Any, bool], Any] | None = None  # from what is there (and whether anything is) to what shall be
    version: int = 0
    fence: tuple[str, int] | None = None
    expected: Precondition = field(default=NONE)


_FIELDS = frozenset(name for names in FIELDS_OF_OP.values() for name in names)


def prepared(op: str, key: str, request: Expecting) -> PreparedOperation:
    """Check what only makes sense together: which fields an operation has, and its value as it will be kept."""
    given = {name: getattr(request, name) for name in request.model_fields_set & _FIELDS}
    for name in sorted(given):
        if name not in FIELDS_OF_OP[op] and given[name] is not None:
            raise Invalid.unknown(
                name, ("key", *FIELDS_OF_OP[op], "expected_version", "expected_sha", "expected_value")
            )
    fence = (request.fence.lock, request.fence.token) if request.fence else None
    made = PreparedOperation(op, key, ttl=given.get("ttl_secs"), fence=fence, expected=precondition(request))
    return _PREPARE[op](made, given) if op in _PREPARE else made


def _set(made: PreparedOperation, given: dict[str, Any]) -> PreparedOperation:
    value, keep = _wanted(given, "value"), given.get("keep_ttl") or False
    if keep and made.ttl is not None:
        raise Invalid("Give ttl_secs or keep_ttl, not both.", field="keep_ttl")
    if value is None and made.expected.expected_value is not UNSET:
        return replace(made, op="delete")  # null in place of a value that was compared: the release of a lock
    return replace(made, value=check_value(value), keep=keep)


def _wanted(given: dict[str, Any], name: str) -> Any:
    if name not in given:
        raise Invalid(f"{name} is missing; null is a value.", field=name)
    return given[name]


def _incr(made: PreparedOperation, given: dict[str, Any]) -> PreparedOperation:
    by = given["by"] if given.get("by") is not None else 1

    def change(old: Any, there: bool) -> Any:
        if not there:
            old = 0
        if isinstance(old, bool) or not isinstance(old, int | float):
            raise Conflict("What is there is no number.", key=made.key)
        if abs(old + by) > MAX_NUMBER:
            raise Conflict("The number would be larger than 2^53 - 1.", key=made.key)
        return old + by

    return replace(made, change=change, keep=made.ttl is None)


def _append(made: PreparedOperation, given: dict[str, Any]) -> PreparedOperation:
    value = _wanted(given, "value")
    check_value(value)

    def change(old: Any, there: bool) -> Any:
        if not there:
            return [value]
        if isinstance(old, list):
            return [*old, value]
        if isinstance(old, str) and isinstance(value, str):
            return old + value
        raise Conflict("What is there is no list, and no text that a text could be added to.", key=made.key)

    return replace(made, change=change, keep=made.ttl is None)


def _patch(made: PreparedOperation, given: dict[str, Any]) -> PreparedOperation:
    patch = _wanted(given, "patch")
    check_value(patch, name="patch")

    def change(old: Any, there: bool) -> Any:
        return merged(old if there else None, patch)

    return replace(made, change=change, keep=made.ttl is None)


def _restore(made: PreparedOperation, given: dict[str, Any]) -> PreparedOperation:
    if given.get("version") is None:
        raise Invalid("version is missing: which one to restore.", field="version")
    return replace(made, version=given["version"])


_PREPARE: dict[str, Callable[[PreparedOperation, dict[str, Any]], PreparedOperation]] = {
    "set": _set,
    "incr": _incr,
    "append": _append,
    "patch": _patch,
    "restore": _restore,
}


def merged(target: Any, patch: Any) -> Any:
    """JSON merge patch, RFC 7396: null takes a member away, objects merge, anything else replaces."""
    if not isinstance(patch, dict):
        return patch
    found = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            found.pop(name, None)
        else:
            found[name] = merged(found.get(name), value)
    return found


# Inside the write ----------------------------------------------------------------------------------


def carry_out(call: RunningCall, namespace: OpenNamespace, one: PreparedOperation) -> dict[str, Any]:
    """Make the change and leave its traces: counts, history, audit, event. What callers are answered."""
    by = KeyWriter(namespace.id, namespace.floor, namespace.now, clock.now(), call.principal.actor)
    if one.fence is not None:
        fencing.hold(call.principal, namespace, *one.fence)
    if one.op == "delete":
        return _delete(call, namespace, by, one)
    if one.op == "touch":
        return _touch(call, namespace, by, one)
    expected, value, expires = one.expected, one.value, _until(namespace, one.ttl)
    if one.op == "restore":
        value = history.kept(namespace, one.key, one.version)
    elif one.change is not None:
        value, expected = _changed(call, namespace, one)
    if value is None:
        raise TypeError(one.op)
    done = statements.put(by, one.key, value, expires, expected, keep=one.keep)
    if done is None:
        raise conflict(call, namespace, one.key, expected)
    fresh = done.displaced < 0
    kept = history.note(by, done, value)
    pruned = quotas.count(namespace, keys=1 if fresh else 0, size=value.size - max(done.displaced, 0), kept=kept)
    more = {"history_pruned": pruned} if pruned else {}
    # Its digest is not told: an entry of the chain stays for ever, and a value can be purged.
    _tell(call, namespace, one, done, size=value.size, **more)
    answer = {"key": one.key, "version": done.version, "expires_at": expiry_clock.rfc3339(done.expires)}
    if one.value is not None:
        return {**answer, "sha": value.sha}
    if not _readable(call, namespace, one.key):
        return answer  # the digest of a value that came of another is as good as the value, to who can guess it
    return {**answer, "sha": value.sha, **({"value": value_of(value.text)} if one.change is not None else {})}


def _changed(
    call: RunningCall, namespace: OpenNamespace, one: PreparedOperation
) -> tuple[CanonicalValue, Precondition]:
    """The new value, to be written if the key is still as it was when this was computed."""
    held = statements.current(namespace.id, one.key, namespace.now)
    _check(call, namespace, one, held)
    if one.change is None:
        raise TypeError(one.op)
    new = one.change(value_of(held.text) if held else None, held is not None)
    return check_value(new), Precondition(expected_version=held.version if held else 0)


def _check(call: RunningCall, namespace: OpenNamespace, one: PreparedOperation, held: CurrentKey | None) -> None:
    try:
        one.expected.check(
            sha=held.sha if held else "",
            version=held.version if held else 0,
            value=value_of(held.text) if held else None,
        )
    except Conflict:
        raise conflict(call, namespace, one.key, one.expected, held) from None


def removed(
    call: RunningCall, namespace: OpenNamespace, by: KeyWriter, one: PreparedOperation
) -> StatementResult | None:
    """Take the value away, to be counted by the caller; None: there was none, and nobody expected one."""
    done = statements.remove(by, one.key, one.expected)
    if done is None:
        # Nothing there is what the caller wants, unless it said that something else is.
        held = statements.current(namespace.id, one.key, namespace.now)
        _check(call, namespace, one, held)
    return done


def _delete(call: RunningCall, namespace: OpenNamespace, by: KeyWriter, one: PreparedOperation) -> dict[str, Any]:
    done = removed(call, namespace, by, one)
    if done is None:
        call.record(_object(namespace, one.key), deleted=False)
        return {"key": one.key, "deleted": False, "version": 0}
    quotas.count(namespace, keys=-1, size=-done.displaced, kept=history.note(by, done, None))
    _tell(call, namespace, one, done)
    return {"key": one.key, "deleted": True, "version": done.version}


def _touch(call: RunningCall, namespace: OpenNamespace, by: KeyWriter, one: PreparedOperation) -> dict[str, Any]:
    done = statements.touch(by, one.key, _until(namespace, one.ttl), one.expected)
    if done is None:
        held = statements.current(namespace.id, one.key, namespace.now)
        _check(call, namespace, one, held)
        raise NotFound(f"There is nothing under that key in {namespace.where}.", key=one.key)
    history.lasts(done)
    _tell(call, namespace, one, done)
    return {"key": one.key, "version": done.version, "expires_at": expiry_clock.rfc3339(done.expires)}


def _until(namespace: OpenNamespace, ttl: float | None) -> float | None:
    return namespace.now + ttl if ttl is not None else None


def conflict(
    call: RunningCall, namespace: OpenNamespace, key: str, expected: Precondition, held: CurrentKey | None = None
) -> Conflict:
    """What is there now, the value and its digest only for those who may read it."""
    held = held or statements.current(namespace.id, key, namespace.now)
    version = held.version if held else 0
    shown: dict[str, Any] = {"key": key, "current_version": version, **expected_details(expected)}
    if _readable(call, namespace, key):
        shown |= {
            "current_sha": held.sha if held else "",
            "expires_at": expiry_clock.rfc3339(held.expires if held else None),
            "current_value": value_of(held.text) if held else None,
        }
    return Conflict(conflict_message(version), **shown)


def _readable(call: RunningCall, namespace: OpenNamespace, key: str) -> bool:
    return reader(call.principal, namespace.where)(key)


_KINDS = {"delete": "kv.deleted", "touch": "kv.touched"}


def _tell(
    call: RunningCall, namespace: OpenNamespace, one: PreparedOperation, done: StatementResult, **details: Any
) -> None:
    call.record(_object(namespace, one.key), version=done.version, **details)
    data = {"in": str(namespace.where), "key": one.key, "version": done.version, "op": one.op}
    if done.expires is not None:
        data["expires_at"] = expiry_clock.rfc3339(done.expires) or ""
    call.event(_KINDS.get(one.op, "kv.set"), str(namespace.where), data)


def _object(namespace: OpenNamespace, key: str) -> str:
    return f"{namespace.where}/{key}"
