"""What can be asked of one key: each order is checked before the write and carried out inside it.

A verb carries out one, a batch many in one transaction. Orders that need to see the value first (`incr`, `append`,
`patch`) write it back on condition that it is still what they saw.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from accounts.verbs import RunningCall
from fluxcore import clock
from fluxcore.errors import Conflict, Invalid, NotFound
from fluxcore.writes.preconditions import NONE, UNSET, Precondition, conflict_message
from memory.keyvalue import fences, history, moment, quotas, statements
from memory.keyvalue.given import Value, check_flag, check_key, check_ttl, check_value, check_version, value_of
from memory.keyvalue.places import Room, reader
from memory.keyvalue.statements import Held, Writer, Written

MAX_NUMBER = 2**53 - 1


@dataclass(frozen=True)
class Order:
    """One change of one key, checked."""

    op: str
    key: str
    value: Value | None = None  # None: take it away
    ttl: float | None = None
    keep: bool = False
    change: Callable[[Any, bool], Any] | None = None  # from what is there (and whether anything is) to what shall be
    version: int = 0
    fence: tuple[str, int] | None = None
    expected: Precondition = field(default=NONE)


FIELDS: dict[str, tuple[str, ...]] = {
    "set": ("value", "ttl_secs", "keep_ttl", "fence"),
    "delete": ("fence",),
    "touch": ("ttl_secs", "fence"),
    "incr": ("by", "ttl_secs", "fence"),
    "append": ("value", "ttl_secs", "fence"),
    "patch": ("patch", "ttl_secs", "fence"),
    "restore": ("version", "ttl_secs", "fence"),
}


EXPECTED = ("expected_version", "expected_sha", "expected_value")  # beside every order, of what is there before it


def order(op: str, given: dict[str, Any], expected: Precondition) -> Order:
    """Check what was given for an order."""
    unknown = set(given) - set(FIELDS[op]) - {"key"}
    if unknown:
        raise Invalid.unknown(min(unknown), ("key", *FIELDS[op], *EXPECTED))
    key, ttl = check_key(given.get("key")), check_ttl(given.get("ttl_secs"))
    made = Order(op, key, ttl=ttl, fence=fences.check(given.get("fence")), expected=expected)
    return _CHECKS[op](made, given)


def _set(made: Order, given: dict[str, Any]) -> Order:
    if "value" not in given:
        raise Invalid("value is missing; null is a value.", field="value")
    keep = check_flag(given.get("keep_ttl") or False, name="keep_ttl")
    if keep and made.ttl is not None:
        raise Invalid("Give ttl_secs or keep_ttl, not both.", field="keep_ttl")
    if given["value"] is None and made.expected.expected_value is not UNSET:
        return _with(made, op="delete")  # null in place of a value that was compared: the release of a lock
    return _with(made, value=check_value(given["value"]), keep=keep)


def _as_it_is(made: Order, given: dict[str, Any]) -> Order:
    return made


def _incr(made: Order, given: dict[str, Any]) -> Order:
    by = given.get("by", 1)
    if isinstance(by, bool) or not isinstance(by, int | float) or abs(by) > MAX_NUMBER:
        raise Invalid("by is a number.", field="by")
    check_value(by, name="by")

    def change(old: Any, there: bool) -> Any:
        if not there:
            old = 0
        if isinstance(old, bool) or not isinstance(old, int | float):
            raise Conflict("What is there is no number.", key=made.key)
        if abs(old + by) > MAX_NUMBER:
            raise Conflict("The number would be larger than 2^53 - 1.", key=made.key)
        return old + by

    return _with(made, change=change, keep=made.ttl is None)


def _append(made: Order, given: dict[str, Any]) -> Order:
    if "value" not in given:
        raise Invalid("value is missing; null is a value.", field="value")
    value = given["value"]
    check_value(value)

    def change(old: Any, there: bool) -> Any:
        if not there:
            return [value]
        if isinstance(old, list):
            return [*old, value]
        if isinstance(old, str) and isinstance(value, str):
            return old + value
        raise Conflict("What is there is no list, and no text that a text could be added to.", key=made.key)

    return _with(made, change=change, keep=made.ttl is None)


def _patch(made: Order, given: dict[str, Any]) -> Order:
    if "patch" not in given:
        raise Invalid("patch is missing.", field="patch")
    check_value(given["patch"], name="patch")

    def change(old: Any, there: bool) -> Any:
        return merged(old if there else None, given["patch"])

    return _with(made, change=change, keep=made.ttl is None)


def _restore(made: Order, given: dict[str, Any]) -> Order:
    return _with(made, version=check_version(given.get("version"), name="version", low=1))


_CHECKS: dict[str, Callable[[Order, dict[str, Any]], Order]] = {
    "set": _set,
    "delete": _as_it_is,
    "touch": _as_it_is,
    "incr": _incr,
    "append": _append,
    "patch": _patch,
    "restore": _restore,
}


def _with(made: Order, **changed: Any) -> Order:
    return Order(**{**made.__dict__, **changed})


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


def carry_out(act: RunningCall, room: Room, one: Order) -> dict[str, Any]:
    """Make the change and leave its traces: counts, history, audit, event. What callers are answered."""
    by = Writer(room.id, room.floor, room.now, clock.now(), act.principal.actor)
    if one.fence is not None:
        fences.hold(act.principal, room, *one.fence)
    if one.op == "delete":
        return _delete(act, room, by, one)
    if one.op == "touch":
        return _touch(act, room, by, one)
    expected, value, expires = one.expected, one.value, _until(room, one.ttl)
    if one.op == "restore":
        value = history.kept(room, one.key, one.version)
    elif one.change is not None:
        value, expected = _changed(act, room, one)
    if value is None:
        raise TypeError(one.op)
    done = statements.put(by, one.key, value, expires, expected, keep=one.keep)
    if done is None:
        raise conflict(act, room, one.key, expected)
    fresh = done.displaced < 0
    kept = history.note(by, done, value)
    pruned = quotas.count(room, keys=1 if fresh else 0, size=value.size - max(done.displaced, 0), kept=kept)
    more = {"history_pruned": pruned} if pruned else {}
    # Its digest is not told: an entry of the chain stays for ever, and a value can be purged.
    _tell(act, room, one, done, size=value.size, **more)
    answer = {"key": one.key, "version": done.version, "expires_at": moment.told(done.expires)}
    if one.value is not None:
        return {**answer, "sha": value.sha}
    if not _readable(act, room, one.key):
        return answer  # the digest of a value that came of another is as good as the value, to who can guess it
    return {**answer, "sha": value.sha, **({"value": value_of(value.text)} if one.change is not None else {})}


def _changed(act: RunningCall, room: Room, one: Order) -> tuple[Value, Precondition]:
    """The new value, to be written if the key is still as it was when this was computed."""
    held = statements.current(room.id, one.key, room.now)
    _check(act, room, one, held)
    if one.change is None:
        raise TypeError(one.op)
    new = one.change(value_of(held.text) if held else None, held is not None)
    return check_value(new), Precondition(expected_version=held.version if held else 0)


def _check(act: RunningCall, room: Room, one: Order, held: Held | None) -> None:
    try:
        one.expected.check(
            sha=held.sha if held else "",
            version=held.version if held else 0,
            value=value_of(held.text) if held else None,
        )
    except Conflict:
        raise conflict(act, room, one.key, one.expected, held) from None


def removed(act: RunningCall, room: Room, by: Writer, one: Order) -> Written | None:
    """Take the value away, to be counted by the caller; None: there was none, and nobody expected one."""
    done = statements.remove(by, one.key, one.expected)
    if done is None:
        # Nothing there is what the caller wants, unless it said that something else is.
        held = statements.current(room.id, one.key, room.now)
        _check(act, room, one, held)
    return done


def _delete(act: RunningCall, room: Room, by: Writer, one: Order) -> dict[str, Any]:
    done = removed(act, room, by, one)
    if done is None:
        act.record(_object(room, one.key), deleted=False)
        return {"key": one.key, "deleted": False, "version": 0}
    quotas.count(room, keys=-1, size=-done.displaced, kept=history.note(by, done, None))
    _tell(act, room, one, done)
    return {"key": one.key, "deleted": True, "version": done.version}


def _touch(act: RunningCall, room: Room, by: Writer, one: Order) -> dict[str, Any]:
    done = statements.touch(by, one.key, _until(room, one.ttl), one.expected)
    if done is None:
        held = statements.current(room.id, one.key, room.now)
        _check(act, room, one, held)
        raise NotFound(f"There is nothing under that key in {room.where}.", key=one.key)
    history.lasts(done)
    _tell(act, room, one, done)
    return {"key": one.key, "version": done.version, "expires_at": moment.told(done.expires)}


def _until(room: Room, ttl: float | None) -> float | None:
    return room.now + ttl if ttl is not None else None


def conflict(act: RunningCall, room: Room, key: str, expected: Precondition, held: Held | None = None) -> Conflict:
    """What is there now, the value and its digest only for those who may read it."""
    held = held or statements.current(room.id, key, room.now)
    version = held.version if held else 0
    shown: dict[str, Any] = {"key": key, "current_version": version}
    for name in ("expected_version", "expected_sha"):
        if getattr(expected, name) is not None:
            shown[name] = getattr(expected, name)
    if _readable(act, room, key):
        shown |= {
            "current_sha": held.sha if held else "",
            "expires_at": moment.told(held.expires if held else None),
            "current_value": value_of(held.text) if held else None,
        }
    return Conflict(conflict_message(version), **shown)


def _readable(act: RunningCall, room: Room, key: str) -> bool:
    return reader(act.principal, room.where)(key)


_KINDS = {"delete": "kv.deleted", "touch": "kv.touched"}


def _tell(act: RunningCall, room: Room, one: Order, done: Written, **details: Any) -> None:
    act.record(_object(room, one.key), version=done.version, **details)
    data = {"in": str(room.where), "key": one.key, "version": done.version, "op": one.op}
    if done.expires is not None:
        data["expires_at"] = moment.told(done.expires) or ""
    act.event(_KINDS.get(one.op, "kv.set"), str(room.where), data)


def _object(room: Room, key: str) -> str:
    return f"{room.where}/{key}"
