"""Purge of a key: removes its value and every version from the database file. Only its name and last version stay.

Allowed for:
- people whose role may purge, with a fresh code, and the shell: any key;
- an agent that may write the key: any key of its own namespace, and elsewhere a key that it alone has written. On a
  board the history shows who overwrote what, so an agent must not remove versions of others.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from accounts.calls import checked, register
from accounts.principals import Principal
from accounts.verbs import Change, RunningCall, verb
from flux.calls import keys as calls
from fluxcore import clock, scrubbing
from fluxcore.errors import Forbidden
from fluxcore.models import IdempotencyKey
from fluxcore.work.run import Run
from fluxcore.writes import idempotency
from memory.keyvalue import fencing, history, hooks, jobs, operations, quotas, verbs
from memory.keyvalue.models import Item, NamespaceKind, Revision, RevisionKind
from memory.keyvalue.namespaces import NamespaceName, OpenNamespace, find_namespace, place
from memory.keyvalue.statements import KeyWriter
from memory.keyvalue.verbs import writes

FORGET = "forget"  # value of `history` that purges
_TABLES = [model._meta.db_table for model in (Item, Revision, IdempotencyKey)]
_SECRET = ("value", "sha")  # of an answer; the digest too, because a value that can be guessed can be checked with it


def _asks(principal: Principal, arguments: dict[str, Any]) -> Iterable[tuple[str, str | None]]:
    """Capabilities of a purge: to write the key, and for people to purge."""
    needed = list(writes(principal, arguments))
    return [*needed, ("purge", None)] if principal.kind == "user" else needed


@verb("kv.forget", needs="memory.write", asks=_asks)
def purge_key(call: RunningCall, **given: Any) -> Change:
    """Delete a key together with its history. Of a deleted or expired key the history is removed."""
    request = checked(calls.DeleteKey, given)
    operation, where = operations.prepared("delete", request.key, request), place(request.place)
    ticket = quotas.share(call)

    def change() -> dict[str, Any]:
        ticket.take()
        namespace = find_namespace(call.principal, where)
        if namespace is None:
            call.record(f"{where}/{operation.key}", deleted=False, forgotten=0)
            return {"key": operation.key, "deleted": False, "version": 0, "forgotten": 0}
        if operation.fence is not None:
            fencing.check_fence(call.principal, namespace, *operation.fence)
        _check_writers(call.principal, namespace, operation.key)
        writer = KeyWriter(namespace.id, namespace.floor, namespace.now, clock.now(), call.principal.actor)
        result = operations.remove_value(call, namespace, writer, operation)
        if result is not None:
            quotas.count(namespace, keys=-1, size=-result.displaced)
        purged = _remove_versions(call, namespace, operation.key)
        deleted, version = result is not None, result.version if result is not None else 0
        call.record(f"{where}/{operation.key}", deleted=deleted, version=version, forgotten=purged)
        data = {"in": str(where), "key": operation.key, "version": version}
        if deleted:
            call.event("kv.deleted", str(where), {**data, "op": "delete"})
        if deleted or purged:
            call.event("kv.forgotten", str(where), {**data, "op": "forget", "versions": purged})
            jobs.ask_to_scrub(at_once=call.principal.kind != "agent")
        return {"key": operation.key, "deleted": deleted, "version": version, "forgotten": purged}

    return change


def _check_writers(principal: Principal, namespace: OpenNamespace, key: str) -> None:
    if principal.kind != "agent" or _own(principal, namespace.where):
        return
    item = Item.objects.filter(namespace=namespace.id, key=key)
    of_others = Revision.objects.filter(item__in=item.values("pk")).exclude(writer=principal.actor).exists()
    if of_others or item.exclude(writer=principal.actor).exists():
        raise Forbidden(
            "Other agents have written this key too. Delete it without history=forget, or have a person purge it.",
            key=key,
        )


def _own(principal: Principal, where: NamespaceName) -> bool:
    return where.kind == NamespaceKind.AGENT.value and where.name == principal.name


def _remove_versions(call: RunningCall, namespace: OpenNamespace, key: str) -> int:
    """Remove all versions of a key without a value, or with an expired one; how many had a value."""
    item = Item.objects.filter(namespace=namespace.id, key=key).first()
    if item is None:
        return 0
    if item.value is not None:  # expired, but still in its grace time
        quotas.count(namespace, keys=-1, size=-item.size)
        Item.objects.filter(pk=item.pk).update(value=None, sha="", size=0, expires=None, displaced=-1)
    hooks.value_purged(call.principal.space or 0, item.pk)
    revisions = Revision.objects.filter(item=item)
    versions = revisions.filter(kind=RevisionKind.WRITTEN).count() or int(item.value is not None)
    history.remove(revisions)
    idempotency.redact(f"{call.principal.chain}/", key, lambda answer: _without_value(answer, key))
    return versions


def _without_value(answer: Any, key: str) -> Any:
    """A stored answer of a write or a batch, without the value and digest of that key."""
    if not isinstance(answer, dict):
        return answer
    if isinstance(answer.get("results"), list):
        return {**answer, "results": [_without_value(result, key) for result in answer["results"]]}
    if answer.get("key") != key:
        return answer
    return {name: value for name, value in answer.items() if name not in _SECRET}


def scrub(run: Run) -> None:
    """The handler of `keyvalue.scrub`: overwrite deleted data. It rewrites the file, and writers wait meanwhile."""
    if scrub_now():
        run.say("Deleted data is overwritten.")


def scrub_now() -> bool:
    """Overwrite deleted data of keys in the database file. Outside of any transaction."""
    return scrubbing.scrub(_TABLES)


def delete_key(principal: Principal, *, history: Any = None, **given: Any) -> Any:
    """The verb of DeleteKey: with history=forget a purge, else a deletion."""
    if history == FORGET:
        return purge_key(principal, **given)
    return verbs.delete_key(principal, **given, **({} if history is None else {"history": history}))


register(calls.DeleteKey, delete_key, asks=writes)
