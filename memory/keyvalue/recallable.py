"""Recallable keys: whose values recall finds beside memories, by namespace and the beginnings of keys.

Indexing is the work of another room, which learns of it through `hooks.py`. Only who may write all keys of a namespace
decides, because everybody who may read them then finds them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from accounts.calls import handles
from accounts.principals import Principal
from accounts.verbs import Change, RunningCall
from flux.calls import keys as calls
from fluxcore.errors import Invalid
from memory.keyvalue import hooks, quotas
from memory.keyvalue.models import Namespace
from memory.keyvalue.namespaces import find_namespace, open_namespace, place

MAX_PREFIXES = 50  # of a namespace


def _reads_all(principal: Principal, arguments: dict[str, Any]) -> Iterable[tuple[str, str | None]]:
    """Capabilities of a read: to read every key there, because prefixes name keys."""
    return [(place(arguments.get("place")).operation(principal, "read"), None)]


def _writes_all(principal: Principal, arguments: dict[str, Any]) -> Iterable[tuple[str, str | None]]:
    """Capabilities of a change: to write every key there."""
    return [(place(arguments.get("place")).operation(principal, "write"), None)]


@handles(calls.GetRecallable, asks=_reads_all)
def get_recallable(principal: Principal, request: calls.GetRecallable) -> dict[str, Any]:
    namespace = find_namespace(principal, place(request.place))
    return _facts(namespace.recalled if namespace is not None else None)


@handles(calls.MakeRecallable, asks=_writes_all)
def make_recallable(call: RunningCall, request: calls.MakeRecallable) -> Change:
    """Add a prefix, or all keys. Under all keys, a prefix adds nothing."""
    return _change(call, request, lambda held: _with(held, request.prefix or ""))


@handles(calls.EndRecallable, asks=_writes_all)
def end_recallable(call: RunningCall, request: calls.EndRecallable) -> Change:
    """Remove a prefix, or all of them. What was never recallable stays as it is."""
    return _change(call, request, lambda held: _without(held, request.prefix))


def _change(call: RunningCall, request: calls.MakeRecallable | calls.EndRecallable, new: Any) -> Change:
    where, ticket = place(request.place), quotas.share(call)

    def change() -> dict[str, Any]:
        ticket.take()
        namespace = open_namespace(call.principal, where)
        recalled = new(namespace.recalled)
        call.record(str(where), prefix=request.prefix or "", changed=recalled != namespace.recalled)
        if recalled != namespace.recalled:
            Namespace.objects.filter(pk=namespace.id).update(recalled=recalled)
            hooks.place_changed(call.principal.space or 0, namespace.id)
        return _facts(recalled)

    return change


def _with(held: str | None, prefix: str) -> str:
    if held == "" or prefix == "":
        return ""
    prefixes = sorted({*(held.split("\n") if held else ()), prefix})
    if len(prefixes) > MAX_PREFIXES:
        raise Invalid(
            f"At most {MAX_PREFIXES} prefixes can be recallable in a namespace. End another one first.",
            field="prefix",
            limit=MAX_PREFIXES,
        )
    return "\n".join(prefixes)


def _without(held: str | None, prefix: str | None) -> str | None:
    if held is None or prefix is None:
        return None
    if held == "":
        raise Invalid("All keys are recallable there: leave prefix out to end that.", field="prefix")
    return "\n".join(one for one in held.split("\n") if one != prefix) or None


def _facts(recalled: str | None) -> dict[str, Any]:
    return {"recallable": recalled is not None, "prefixes": recalled.split("\n") if recalled else []}
