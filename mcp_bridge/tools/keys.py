"""What the tools for an agent's own keys and for those of a board have in common: they are the same calls elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import Any

from accounts.principals import Principal
from accounts.verbs import MAX_REASON
from fluxcore.errors import Invalid
from fluxcore.writes.idempotency import MAX_KEY
from mcp_bridge.registry import Run, Tool
from mcp_bridge.schemas import Schema, gives, many, moment, number, one_of, record, text, whole, yes_or_no

Where = Callable[[Principal, dict[str, Any]], str]
VALUE: Schema = {}
KEY = text("The key; slashes make folders of it.", longest=512)
EXPECTED = {
    "expected_version": whole("Only if this is the version; 0: only if nothing is there.", low=0),
    "expected_sha": text('Only if this is the digest; "": only if nothing is there.'),
    "expected_value": {"description": "Only if this is the value; null: only if nothing is there."},
}
TTL = number("Seconds to live. Default: for ever.", low=0)
OPTIONS = {
    "reason": text("Why, for the audit chain.", longest=MAX_REASON),
    "idempotency_key": text("Repeat a call with the same key and it happens once.", longest=MAX_KEY),
}
_PARTICULARS = {
    "key": text(),
    "version": whole(),
    "sha": text(),
    "bytes": whole(),
    "expires_at": {"type": ["string", "null"]},
    "writer": text(),
    "written_at": moment(),
}
_CHANGED = {
    "key": text(),
    "version": whole(),
    "sha": text(),
    "expires_at": {"type": ["string", "null"]},
    "value": VALUE,
    "deleted": yes_or_no(),
}
FENCE = record(("lock", "token"), lock=text(), token=whole(low=1))
_OPS = ("incr", "append", "patch", "touch", "restore")


def options(given: dict[str, Any]) -> dict[str, Any]:
    for name in ("reason", "idempotency_key"):
        if "\0" in given.get(name, ""):
            raise Invalid(f"{name} must be a text without NUL.", field=name)
    return {"reason": given.get("reason") or "", "idempotency_key": given.get("idempotency_key")}


def some(given: dict[str, Any], *names: str) -> dict[str, Any]:
    """Of these what was given; null only where it means something."""
    return {name: given[name] for name in names if name in given and (given[name] is not None or name == "value")}


def naming(where: Where, tools: Iterable[Tool]) -> tuple[Tool, ...]:
    """The same tools, whose refusals name the key, lock or queue that was asked for, as those of REST do."""
    return tuple(replace(tool, asks=partial(_asked, where, tool.needs)) for tool in tools)


def _asked(
    where: Where, needs: tuple[str, ...], principal: Principal, given: dict[str, Any]
) -> list[tuple[str, str | None]]:
    from memory.keyvalue.given import check_key
    from memory.keyvalue.places import place

    at = place(where(principal, given))
    names: list[str | None] = [check_key(given[name], name=name) for name in ("key", "lock", "queue") if name in given]
    names += [check_key(one.get("key")) for one in given.get("operations", ())]
    operations = [at.operation(principal, "read" if one.endswith(".read") else "write") for one in needs]
    return [(operation, name) for operation in operations for name in names or [None]]


def tools(prefix: str, called: str, where: Where, read: str, write: str, extra: dict[str, Schema]) -> tuple[Tool, ...]:
    """The tools on the keys of one kind of namespace."""

    def get(principal: Principal, given: dict[str, Any]) -> dict[str, Any]:
        from memory.keyvalue import reading

        return reading.get(principal, where=where(principal, given), key=given["key"])

    def change(op: str, names: tuple[str, ...]) -> Run:
        def run(principal: Principal, given: dict[str, Any]) -> dict[str, Any]:
            from memory.keyvalue import keeping
            from memory.keyvalue.given import expectation

            done: dict[str, Any] = keeping.VERBS[op](
                principal,
                where=where(principal, given),
                key=given["key"],
                precondition=expectation(given),
                **some(given, *names),
                **options(given),
            )
            return done

        return run

    def delete(principal: Principal, given: dict[str, Any]) -> dict[str, Any]:
        from memory.keyvalue import forgetting
        from memory.keyvalue.given import expectation

        return forgetting.delete(
            principal,
            where=where(principal, given),
            key=given["key"],
            precondition=expectation(given),
            **some(given, "fence", "history"),
            **options(given),
        )

    def step(principal: Principal, given: dict[str, Any]) -> dict[str, Any]:
        from memory.keyvalue import orders

        return change(given["op"], orders.FIELDS[given["op"]])(principal, given)

    def listed(principal: Principal, given: dict[str, Any]) -> dict[str, Any]:
        from memory.keyvalue import listing

        wanted = some(given, "pattern", "limit", "cursor", "values")
        found = listing.page(principal, where=where(principal, given), **wanted)
        return {name: value for name, value in found.items() if value is not None}

    def history(principal: Principal, given: dict[str, Any]) -> dict[str, Any]:
        from memory.keyvalue import history as kept

        place, key = where(principal, given), given["key"]
        if given.get("version") is not None:
            return kept.version(principal, where=place, key=key, version=given["version"])
        return kept.page(principal, where=place, key=key)

    def batch(principal: Principal, given: dict[str, Any]) -> dict[str, Any]:
        from memory.keyvalue import keeping

        done: dict[str, Any] = keeping.batch(
            principal, where=where(principal, given), operations=given["operations"], **options(given)
        )
        return done

    wide = {**EXPECTED, "ttl_secs": TTL, "fence": FENCE, **OPTIONS, **extra}
    return (
        Tool(
            f"{prefix}_get",
            f"Read {called}",
            f"The exact value under a key of {called}, with its version and expiry.",
            get,
            takes={"key": KEY, **extra},
            required=("key",),
            needs=(read,),
            reads=True,
            repeats=True,
            gives=gives(("key", "value", "version"), **_PARTICULARS, value=VALUE),
        ),
        Tool(
            f"{prefix}_set",
            f"Write {called}",
            f"Keep a JSON value under a key of {called}. It replaces what was there, unless you say what you expect.",
            change("set", ("value", "ttl_secs", "keep_ttl", "fence")),
            takes={"key": KEY, "value": {"description": "Any JSON."}, "keep_ttl": yes_or_no(), **wide},
            required=("key",),
            needs=(write,),
            repeats=True,
            gives=gives(("key", "version"), **_CHANGED),
        ),
        Tool(
            f"{prefix}_cas",
            f"Compare and set {called}",
            "Write only if the key is as you saw it: by expected_version (0: absent), expected_sha or expected_value "
            "(null: absent; a null value then deletes). Otherwise nothing changes and you see what is there.",
            _only_if_expecting(change("set", ("value", "ttl_secs", "keep_ttl", "fence"))),
            takes={"key": KEY, "value": {"description": "Any JSON."}, "keep_ttl": yes_or_no(), **wide},
            required=("key",),
            needs=(write,),
            gives=gives(("key", "version"), **_CHANGED),
        ),
        Tool(
            f"{prefix}_delete",
            f"Forget a key of {called}",
            "Take a key away. One that is not there is fine.",
            delete,
            takes={
                "key": KEY,
                **EXPECTED,
                "fence": FENCE,
                "history": one_of(("keep", "forget"), "forget: purge its earlier versions too, for good."),
                **OPTIONS,
                **extra,
            },
            required=("key",),
            needs=(write,),
            repeats=True,
            gives=gives(("key", "deleted"), **_CHANGED, forgotten=whole("Versions that were purged.")),
        ),
        Tool(
            f"{prefix}_list",
            f"List {called}",
            f"The keys of {called} that you may read, in order. * stops at /, ** does not.",
            listed,
            takes={
                "pattern": text("For example cache.* or config/**."),
                "limit": whole("Default 100.", low=1, high=1000),
                "cursor": text("next_cursor of the page before."),
                "values": yes_or_no("With the values."),
                **extra,
            },
            needs=(read,),
            reads=True,
            repeats=True,
            gives=gives(
                ("keys", "count"),
                keys=many(record(("key", "version"), **_PARTICULARS, value=VALUE)),
                count=whole(),
                next_cursor=text(),
            ),
        ),
        Tool(
            f"{prefix}_change",
            f"Change {called}",
            "One step on what is there: incr adds `by` to a number, append adds `value` to a list or text, patch "
            "merges `patch` into an object, touch sets ttl_secs, restore writes an earlier `version` anew.",
            step,
            takes={
                "key": KEY,
                "op": one_of(_OPS),
                "by": number(),
                "value": {},
                "patch": {},
                "version": whole(low=1),
                **wide,
            },
            required=("key", "op"),
            needs=(write,),
            gives=gives(("key", "version"), **_CHANGED),
        ),
        Tool(
            f"{prefix}_batch",
            f"Change many keys of {called}",
            "Up to 100 operations in one transaction, all or none: each has op (set, delete, incr, append, patch, "
            "touch, restore), key and the fields of that op.",
            batch,
            takes={"operations": many({"type": "object"}, most=100), **OPTIONS, **extra},
            required=("operations",),
            needs=(write,),
            gives=gives(("results", "count"), results=many(record(("key",), **_CHANGED)), count=whole()),
        ),
        Tool(
            f"{prefix}_history",
            f"What {called} held",
            "The earlier versions of a key; with version the value it had.",
            history,
            takes={"key": KEY, "version": whole(low=1), **extra},
            required=("key",),
            needs=(read,),
            reads=True,
            repeats=True,
            gives=gives(
                ("key", "version"),
                key=text(),
                version=whole(),
                current=yes_or_no(),
                value=VALUE,
                sha=text(),
                bytes=whole(),
                versions=many({"type": "object"}),
            ),
        ),
    )


def _only_if_expecting(run: Run) -> Run:
    def checked(principal: Principal, given: dict[str, Any]) -> dict[str, Any]:
        from memory.keyvalue.given import expectation

        if not expectation(given).given:  # a null version or digest expects nothing
            raise Invalid(f"Say what you expect: {', '.join(EXPECTED)}.", field="expected_version")
        return run(principal, given)

    return checked
