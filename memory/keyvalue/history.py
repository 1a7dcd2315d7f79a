"""What a key held before: kept for a number of versions and days, readable and restorable."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Any

from django.db import connection
from django.db.models import F, QuerySet

from accounts.principals import Principal
from accounts.verbs import selector
from fluxcore import clock, config, raw_sql
from fluxcore.errors import Invalid, NotFound
from memory.keyvalue import moment
from memory.keyvalue.given import Value, check_key, check_version, value_of
from memory.keyvalue.models import Item, Namespace, Revision
from memory.keyvalue.places import Room, place, room
from memory.keyvalue.reading import reads
from memory.keyvalue.statements import Writer, Written

MAX_PAGE = 100
_TABLE = Revision._meta.db_table
_COLUMNS = ("item", "version", "kind", "value", "sha", "size", "expires", "at", "writer")
_FORGET = f"DELETE FROM {_TABLE} WHERE item_id = %s AND version < %s RETURNING size"  # noqa: S608
_REMOVE = f"DELETE FROM {_TABLE} WHERE id IN ({{marks}}) RETURNING item_id, size"  # noqa: S608
# Oldest first; the copy of a key's present version last, though the key itself has its value too.
_OLDEST = (
    f"SELECT r.id, r.size FROM {_TABLE} r JOIN {Item._meta.db_table} i ON i.id = r.item_id "  # noqa: S608
    "WHERE i.namespace_id = %s ORDER BY CASE WHEN r.version = i.version AND i.value IS NOT NULL THEN 1 ELSE 0 END, "
    "r.id LIMIT %s"
)
_PIECE = 500  # revisions deleted in one statement
_WRITTEN, _DELETED = Revision.Kind.WRITTEN.value, Revision.Kind.DELETED.value


def note(by: Writer, done: Written, value: Value | None) -> int:
    """Keep what was written, or that it was deleted, and let the oldest go; by how many bytes the history grew."""
    kept = config.current().KV_HISTORY_VERSIONS
    if not kept:
        return 0
    text, sha, size = (value.text, value.sha, value.size) if value else (None, "", 0)
    row = (done.item, done.version, _WRITTEN if value else _DELETED, text, sha, size, done.expires, by.at, by.name)
    raw_sql.insert(Revision, _COLUMNS, [row])
    if done.version > kept + 1:  # the present version is not an earlier one
        with connection.cursor() as cursor:
            cursor.execute(_FORGET, [done.item, done.version - kept])
            size -= sum(gone for (gone,) in cursor.fetchall())
    return size


def remove(revisions: QuerySet[Revision]) -> int:
    """Delete revisions and give their bytes back to their namespaces, inside a write; how many there were.

    Whoever deletes revisions uses this: the quota of a namespace counts them.
    """
    gone = _delete(list(revisions.values_list("pk", flat=True)))
    homes = dict(Item.objects.filter(pk__in={item for item, _ in gone}).values_list("pk", "namespace_id"))
    freed: Counter[int] = Counter()
    for item, size in gone:
        freed[homes[item]] += size
    for namespace, size in sorted(freed.items()):
        Namespace.objects.filter(pk=namespace).update(history_bytes=F("history_bytes") - size)
    return len(gone)


def prune(namespace: int, wanted: int, *, slack: int) -> tuple[int, int]:
    """Delete the oldest versions until so many bytes are free; how many, and their bytes. The caller counts them.

    A little more goes than must, so that not every write into a full namespace looks for the oldest again.
    """
    pruned = freed = 0
    while freed < wanted:
        found = raw_sql.read(_OLDEST, [namespace, _PIECE])
        before = accumulate((size for _, size in found), initial=freed)
        gone = _delete([number for (number, _), sum_ in zip(found, before, strict=False) if sum_ < wanted + slack])
        pruned, freed = pruned + len(gone), freed + sum(size for _, size in gone)
        if len(found) < _PIECE:
            break
    return pruned, freed


def _delete(numbers: Sequence[int]) -> list[tuple[int, int]]:
    """What really went, as item and size: somebody else may have deleted some of them meanwhile."""
    gone: list[tuple[int, int]] = []
    with connection.cursor() as cursor:
        for at in range(0, len(numbers), _PIECE):
            piece = numbers[at : at + _PIECE]
            cursor.execute(_REMOVE.format(marks=", ".join(["%s"] * len(piece))), piece)
            gone += cursor.fetchall()
    return gone


def lasts(done: Written) -> None:
    """What is kept of the present version lives as long as it does: no longer, and no shorter."""
    Revision.objects.filter(item=done.item, version=done.version, kind=_WRITTEN).update(expires=done.expires)


def kept(home: Room, key: str, version: int) -> Value:
    """The value of a version, to be written anew. What had a lifetime that is over does not come back."""
    found = (
        Revision.objects.filter(item__namespace=home.id, item__key=key, version=version, kind=_WRITTEN)
        .order_by("-id")
        .first()
    )
    if found is None or found.value is None or (found.expires is not None and found.expires <= home.now):
        raise NotFound(f"Version {version} of that key is not kept.", key=key, version=version)
    return Value(found.value, found.sha, found.size)


def _reads(principal: Principal, arguments: dict[str, Any]) -> Iterable[tuple[str, str | None]]:
    return reads(principal, arguments)


@selector("kv.history", needs="memory.read", asks=_reads)
def page(principal: Principal, *, where: str, key: str, limit: int = 20) -> dict[str, Any]:
    """What became of a key, newest first, without the values."""
    if not 1 <= limit <= MAX_PAGE:
        raise Invalid(f"limit must be between 1 and {MAX_PAGE}.", field="limit")
    home, key = room(principal, place(where), make=False), check_key(key)
    item = Item.objects.filter(namespace=home.id, key=key).first() if home else None
    if home is None or item is None:
        raise NotFound("Nothing was ever kept under that key.", key=key)
    found = Revision.objects.filter(item=item).order_by("-version", "-id")[:limit]
    return {
        "key": key,
        "version": item.version,
        "current": _live(item, home),
        "versions": [_described(one, home) for one in found],
    }


def _live(item: Item, home: Room) -> bool:
    return item.value is not None and (item.expires is None or item.expires > home.now)


def _described(one: Revision, home: Room) -> dict[str, Any]:
    return {
        "version": one.version,
        "kind": one.kind,
        "sha": one.sha,
        "bytes": one.size,
        "writer": one.writer,
        "at": clock.rfc3339(one.at),
        "expires_at": moment.told(one.expires),
        "expired": one.expires is not None and one.expires <= home.now,
    }


@selector("kv.version", needs="memory.read", asks=_reads)
def version(principal: Principal, *, where: str, key: str, version: int) -> dict[str, Any]:
    """The value a key had in an earlier version."""
    home, key = room(principal, place(where), make=False), check_key(key)
    check_version(version, name="version", low=1)
    if home is None:
        raise NotFound("Nothing was ever kept under that key.", key=key)
    value = kept(home, key, version)
    return {"key": key, "version": version, "sha": value.sha, "bytes": value.size, "value": value_of(value.text)}
