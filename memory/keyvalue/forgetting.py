"""Purging a key: its value and every earlier version, for good and to the byte. Only its name and last version stay.

Who may:
- a person whose role allows to purge, with a fresh code, and the shell: any key;
- an agent that may write the key: any key of its own namespace, and elsewhere a key that it alone has written. The
  history of a board is how others see who overwrote what, so one agent must not take that away.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from accounts.principals import Principal
from accounts.verbs import Change, RunningCall, verb
from fluxcore import clock, scrubbing
from fluxcore.errors import Forbidden, Invalid
from fluxcore.models import IdempotencyKey
from fluxcore.work.run import Run
from fluxcore.writes import idempotency
from memory.keyvalue import fences, history, jobs, keeping, orders, quotas
from memory.keyvalue.keeping import writes
from memory.keyvalue.models import Item, Namespace, Revision
from memory.keyvalue.places import Place, Room, place, room
from memory.keyvalue.statements import Writer

KEEP, FORGET = HISTORIES = ("keep", "forget")  # what a deletion does with the earlier versions
_TABLES = [model._meta.db_table for model in (Item, Revision, IdempotencyKey)]
_SECRET = ("value", "sha")  # of an answer: the digest of a value that can be guessed is as good as the value


def _asks(principal: Principal, arguments: dict[str, Any]) -> Iterable[tuple[str, str | None]]:
    """What a deletion takes, and of people the right to purge: nobody can undo it."""
    found = list(writes(principal, arguments))
    return [*found, ("purge", None)] if principal.kind == "user" else found


@verb("kv.forget", needs="memory.write", asks=_asks)
def forget(act: RunningCall, *, where: str, **given: Any) -> Change:
    """Delete a key together with its history. One that is gone already loses what was kept of it."""
    one, home = orders.order("delete", given, act.precondition), place(where)
    ticket = quotas.share(act)

    def change() -> dict[str, Any]:
        ticket.take()
        found = room(act.principal, home, make=False)
        if found is None:
            act.record(f"{home}/{one.key}", deleted=False, forgotten=0)
            return {"key": one.key, "deleted": False, "version": 0, "forgotten": 0}
        if one.fence is not None:
            fences.hold(act.principal, found, *one.fence)
        _check_writers(act.principal, found, one.key)
        by = Writer(found.id, found.floor, found.now, clock.now(), act.principal.actor)
        done = orders.removed(act, found, by, one)
        if done is not None:
            quotas.count(found, keys=-1, size=-done.displaced)
        gone = _erase(act, found, one.key)
        version = done.version if done is not None else 0
        act.record(f"{home}/{one.key}", deleted=done is not None, version=version, forgotten=gone)
        told = {"in": str(home), "key": one.key, "version": version}
        if done is not None:
            act.event("kv.deleted", str(home), {**told, "op": "delete"})
        if done is not None or gone:
            act.event("kv.forgotten", str(home), {**told, "op": "forget", "versions": gone})
            jobs.ask_to_scrub(at_once=act.principal.kind != "agent")
        return {"key": one.key, "deleted": done is not None, "version": version, "forgotten": gone}

    return change


def _check_writers(principal: Principal, home: Room, key: str) -> None:
    if principal.kind != "agent" or _own(principal, home.where):
        return
    item = Item.objects.filter(namespace=home.id, key=key)
    of_others = Revision.objects.filter(item__in=item.values("pk")).exclude(writer=principal.actor).exists()
    if of_others or item.exclude(writer=principal.actor).exists():
        raise Forbidden(
            "Others have written this key too. A person can purge it, or delete it without history=forget.", key=key
        )


def _own(principal: Principal, where: Place) -> bool:
    return where.kind == Namespace.Kind.AGENT.value and where.name == principal.name


def _erase(act: RunningCall, home: Room, key: str) -> int:
    """Remove what is kept of a key whose value is gone or has expired; how many versions that were."""
    item = Item.objects.filter(namespace=home.id, key=key).first()
    if item is None:
        return 0
    if item.value is not None:  # expired, and kept for a while in case a clock was wrong
        quotas.count(home, keys=-1, size=-item.size)
        Item.objects.filter(pk=item.pk).update(value=None, sha="", size=0, expires=None, displaced=-1)
    kept = Revision.objects.filter(item=item)
    gone = kept.filter(kind=Revision.Kind.WRITTEN).count() or int(item.value is not None)
    history.remove(kept)
    idempotency.redact(f"{act.principal.chain}/", key, lambda answer: _without_value(answer, key))
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


def check_history(history: Any) -> str:
    """`keep` (the default) or `forget`."""
    if history not in HISTORIES:
        raise Invalid(f"history is one of {', '.join(HISTORIES)}.", field="history")
    return str(history)


def delete(principal: Principal, *, history: Any = KEEP, **given: Any) -> dict[str, Any]:
    """Delete a key, and its history if that is wished."""
    act = forget if check_history(history) == FORGET else keeping.delete
    return dict(act(principal, **given))
