"""Reads of keys: the current value, the list of versions, the value of an earlier version."""

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
from memory.keyvalue.namespaces import CLOCK, OpenNamespace, find_namespace, find_owner, place
from memory.keyvalue.validation import check_key, value_of

_GET = (
    "SELECT i.value, i.version, i.sha, i.size, i.expires, i.written_at, i.writer, c.ahead "  # noqa: S608
    f"FROM {Namespace._meta.db_table} n JOIN {Item._meta.db_table} i ON i.namespace_id = n.id AND i.key = %s {CLOCK} "
    "WHERE n.space_id = %s AND n.kind = %s AND n.name = %s"
)
_NOT_FOUND = "Key not found: it was never written."
_DEFAULT_LIMIT = 20  # versions


def reads(principal: Principal, arguments: dict[str, Any]) -> Iterable[tuple[str, str | None]]:
    """Capabilities of a read: to read the key."""
    where = place(arguments.get("place"))
    return [(where.operation(principal, "read"), check_key(arguments.get("key")))]


@handles(calls.GetKey, asks=reads)
def get_key(principal: Principal, request: calls.GetKey) -> dict[str, Any]:
    where, key = place(request.place), request.key
    if principal.space is None:
        raise Invalid("The space is missing: add space.", field="space")
    rows = raw_sql.read(_GET, [key, expiry_clock.boot(), principal.space, where.kind, where.name])
    if rows:
        text, version, sha, size, expires, written_at, writer, ahead = rows[0]
        if text is not None and (expires is None or expires > expiry_clock.now(ahead)):
            return key_facts(key, text, version, sha, size, expires, written_at, writer)
    elif not Namespace.objects.filter(space=principal.space, kind=where.kind, name=where.name).exists():
        find_owner(principal, where)
    raise NotFound(f"Key not found in {where}.", key=key)


def key_facts(
    key: str, text: str | None, version: int, sha: str, size: int, expires: float | None, written_at: Any, writer: str
) -> dict[str, Any]:
    """A key as answers show it; without `value` if `text` is None."""
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
    """List the versions of a key, newest first, without the values."""
    request = checked(calls.GetHistory, given)
    namespace = find_namespace(principal, place(request.place))
    item = Item.objects.filter(namespace=namespace.id, key=request.key).first() if namespace else None
    if namespace is None or item is None:
        raise NotFound(_NOT_FOUND, key=request.key)
    revisions = Revision.objects.filter(item=item).order_by("-version", "-id")[: request.limit or _DEFAULT_LIMIT]
    return {
        "key": request.key,
        "version": item.version,
        "current": item.value is not None and (item.expires is None or item.expires > namespace.now),
        "versions": [_revision_facts(revision, namespace) for revision in revisions],
    }


def _revision_facts(revision: Revision, namespace: OpenNamespace) -> dict[str, Any]:
    return {
        "version": revision.version,
        "kind": revision.kind,
        "sha": revision.sha,
        "bytes": revision.size,
        "writer": revision.writer,
        "at": clock.rfc3339(revision.at),
        "expires_at": expiry_clock.rfc3339(revision.expires),
        "expired": revision.expires is not None and revision.expires <= namespace.now,
    }


@selector("kv.version", needs="memory.read", asks=reads)
def get_version(principal: Principal, **given: Any) -> dict[str, Any]:
    """The value a key had in an earlier version."""
    request = checked(calls.GetHistory, given)
    namespace = find_namespace(principal, place(request.place))
    if namespace is None or request.version is None:
        raise NotFound(_NOT_FOUND, key=request.key)
    value = history.read_version(namespace, request.key, request.version)
    return {
        "key": request.key,
        "version": request.version,
        "sha": value.sha,
        "bytes": value.size,
        "value": value_of(value.text),
    }
