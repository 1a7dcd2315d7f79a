"""Reading keys back: one value, and what a key held before."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from accounts.calls import checked, handles, register
from accounts.principals import Principal
from accounts.verbs import selector
from flux.calls import keys as calls
from fluxcore import clock, raw_sql
from fluxcore.errors import Invalid, NotFound
from memory.keyvalue import expiry_clock, history
from memory.keyvalue.models import Item, Namespace, Revision
from memory.keyvalue.namespaces import CLOCK, OpenNamespace, absent, find_namespace, place
from memory.keyvalue.validation import check_key, value_of

_GET = (
    "SELECT i.value, i.version, i.sha, i.size, i.expires, i.written_at, i.writer, c.ahead "  # noqa: S608
    f"FROM {Namespace._meta.db_table} n JOIN {Item._meta.db_table} i ON i.namespace_id = n.id AND i.key = %s {CLOCK} "
    "WHERE n.space_id = %s AND n.kind = %s AND n.name = %s"
)
_NEVER = "Nothing was ever kept under that key."
_PAGE = 20


def reads(principal: Principal, arguments: dict[str, Any]) -> Iterable[tuple[str, str | None]]:
    """To read a key takes the capability to read it."""
    where = place(arguments.get("place"))
    return [(where.operation(principal, "read"), check_key(arguments.get("key")))]


@handles(calls.GetKey, asks=reads)
def get_key(principal: Principal, request: calls.GetKey) -> dict[str, Any]:
    where, key = place(request.place), request.key
    if principal.space is None:
        raise Invalid("Name a space.", field="space")
    found = raw_sql.read(_GET, [key, expiry_clock.boot(), principal.space, where.kind, where.name])
    if found:
        text, version, sha, size, expires, written_at, writer, ahead = found[0]
        if text is not None and (expires is None or expires > expiry_clock.now(ahead)):
            return key_facts(key, text, version, sha, size, expires, written_at, writer)
    elif not Namespace.objects.filter(space=principal.space, kind=where.kind, name=where.name).exists():
        absent(principal, where)
    raise NotFound(f"There is nothing under that key in {where}.", key=key)


def key_facts(
    key: str, text: str | None, version: int, sha: str, size: int, expires: float | None, written_at: Any, writer: str
) -> dict[str, Any]:
    """A key as callers see it; without `value` where only the rest was asked for."""
    return {
        "key": key,
        **({"value": value_of(text)} if text is not None else {}),
        "version": version,
        "sha": sha,
        "bytes": size,
        "expires_at": expiry_clock.rfc3339(expires),
        "writer": writer,
        "written_at": clock.rfc3339(written_at),
    }


def get_history(principal: Principal, *, version: Any = None, **given: Any) -> dict[str, Any]:
    """The versions of a key, or the value it had in one of them."""
    if version is None:
        return list_versions(principal, **given)
    return get_version(principal, version=version, **given)


register(calls.GetHistory, get_history, asks=reads)


@selector("kv.history", needs="memory.read", asks=reads)
def list_versions(principal: Principal, **given: Any) -> dict[str, Any]:
    """What became of a key, newest first, without the values."""
    request = checked(calls.GetHistory, given)
    namespace = find_namespace(principal, place(request.place))
    item = Item.objects.filter(namespace=namespace.id, key=request.key).first() if namespace else None
    if namespace is None or item is None:
        raise NotFound(_NEVER, key=request.key)
    found = Revision.objects.filter(item=item).order_by("-version", "-id")[: request.limit or _PAGE]
    return {
        "key": request.key,
        "version": item.version,
        "current": item.value is not None and (item.expires is None or item.expires > namespace.now),
        "versions": [_revision_facts(one, namespace) for one in found],
    }


def _revision_facts(one: Revision, namespace: OpenNamespace) -> dict[str, Any]:
    return {
        "version": one.version,
        "kind": one.kind,
        "sha": one.sha,
        "bytes": one.size,
        "writer": one.writer,
        "at": clock.rfc3339(one.at),
        "expires_at": expiry_clock.rfc3339(one.expires),
        "expired": one.expires is not None and one.expires <= namespace.now,
    }


@selector("kv.version", needs="memory.read", asks=reads)
def get_version(principal: Principal, **given: Any) -> dict[str, Any]:
    """The value a key had in an earlier version."""
    request = checked(calls.GetHistory, given)
    namespace = find_namespace(principal, place(request.place))
    if namespace is None or request.version is None:
        raise NotFound(_NEVER, key=request.key)
    value = history.kept(namespace, request.key, request.version)
    return {
        "key": request.key,
        "version": request.version,
        "sha": value.sha,
        "bytes": value.size,
        "value": value_of(value.text),
    }
