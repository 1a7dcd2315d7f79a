"""Purging a key: its value and every earlier version, for good and to the byte. Only its name and last version stay.

Who may:
- a person whose role allows to purge, with a fresh code, and the shell: any key;
- an agent that may write the key: any key of its own namespace, and elsewhere a key that it alone has written. The
  history of a board is how others see who overwrote what, so one agent must not take that away.
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
from memory.keyvalue import fencing, history, jobs, operations, quotas, verbs
from memory.keyvalue.models import Item, NamespaceKind, Revision, RevisionKind
from memory.keyvalue.namespaces import NamespaceName, OpenNamespace, find_namespace, place
from memory.keyvalue.statements import KeyWriter
from memory.keyvalue.verbs import writes

FORGET = "forget"  # of the earlier versions, when a key is deleted
_TABLES = [model._meta.db_table for model in (Item, Revision, IdempotencyKey)]
_SECRET = ("value", "sha")  # of an answer: the digest of a value that can be guessed is as good as the value


def _asks(principal: Principal, arguments: dict[str, Any]) -> Iterable[tuple[str, str | None]]:
    """What a deletion takes, and of people the right to purge: nobody can undo it."""
    found = list(writes(principal, arguments))
    return [*found, ("purge", None)] if principal.kind == "user" else found


@verb("kv.forget", needs="memory.write", asks=_asks)
def purge_key(call: RunningCall, **given: Any) -> Change:
    """Delete a key together with its history. One that is gone already loses what was kept of it."""
    request = checked(calls.DeleteKey, given)
    one, where = operations.prepared("delete", request.key, request), place(request.place)
    ticket = quotas.share(call)

    def change() -> dict[str, Any]:
        ticket.take()
        found = find_namespace(call.principal, where)
        if found is None:
            call.record(f"{where}/{one.key}", deleted=False, forgotten=0)
            return {"key": one.key, "deleted": False, "version": 0, "forgotten": 0}
        if one.fence is not None:
            fencing.hold(call.principal, found, *one.fence)
        _check_writers(call.principal, found, one.key)
        by = KeyWriter(found.id, found.floor, found.now, clock.now(), call.principal.actor)
        done = operations.removed(call, found, by, one)
        if done is not None:
            quotas.count(found, keys=-1, size=-done.displaced)
        gone = _erase(call, found, one.key)
        version = done.version if done is not None else 0
        call.record(f"{where}/{one.key}", deleted=done is not None, version=version, forgotten=gone)
        told = {"in": str(where), "key": one.key, "version": version}
        if done is not None:
            call.event("kv.deleted", str(where), {**told, "op": "delete"})
        if done is not None or gone:
            call.event("kv.forgotten", str(where), {**told, "op": "forget", "versions": gone})
            jobs.ask_to_scrub(at_once=call.principal.kind != "agent")
        return {"key": one.key, "deleted": done is not None, "version": version, "forgotten": gone}

    return change


def _check_writers(principal: Principal, namespace: OpenNamespace, key: str) -> None:
    if principal.kind != "agent" or _own(principal, namespace.where):
        return
    item = Item.objects.filter(namespace=namespace.id, key=key)
    of_others = Revision.objects.filter(item__in=item.values("pk")).exclude(writer=principal.actor).exists()
    if of_others or item.exclude(writer=principal.actor).exists():
        raise Forbidden(
            "Others have written this key too. A person can purge it, or delete it without history=forget.", key=key
        )


def _own(principal: Principal, where: NamespaceName) -> bool:
    return where.kind == NamespaceKind.AGENT.value and where.name == principal.name


def _erase(call: RunningCall, namespace: OpenNamespace, key: str) -> int:
    """Remove what is kept of a key whose value is gone or has expired; how many versions that were."""
    item = Item.objects.filter(namespace=namespace.id, key=key).first()
    if item is None:
        return 0
    if item.value is not None:  # expired, and kept for a while in case a clock was wrong
        quotas.count(namespace, keys=-1, size=-item.size)
        Item.objects.filter(pk=item.pk).update(value=None, sha="", size=0, expires=None, displaced=-1)
    kept = Revision.objects.filter(item=item)
    gone = kept.filter(kind=RevisionKind.WRITTEN).count() or int(item.value is not None)
    history.remove(kept)
    idempotency.redact(f"{call.principal.chain}/", key, lambda answer: _without_value(answer, key))
    return gone


def _without_value(answer: Any, key: str) -> Any:
    """An answer of a write, or of a batch of them, without what that key held."""
    if not isinstance(answer, dict):
        return answer
    if isinstance(answer.get("results"), list):
        return {**answer, "results": [_without_value(one, key) for one in answer["results"]]}
    if answer.get("key") != key:
        return answer
    return {name: value for name, value in answer.items() if name not in _SECRET}


def scrub(run: Run) -> None:
    """The handler of `keyvalue.scrub`. Outside any transaction: it rewrites the file, and writers wait that long."""
    if scrub_now():
        run.say("What was deleted is overwritten.")


def scrub_now() -> bool:
    return scrubbing.scrub(_TABLES)


def delete_key(principal: Principal, *, history: Any = None, **given: Any) -> Any:
    """Delete a key, and its history if that is wished."""
    if history == FORGET:
        return purge_key(principal, **given)
    return verbs.delete_key(principal, **given, **({} if history is None else {"history": history}))


register(calls.DeleteKey, delete_key, asks=writes)
