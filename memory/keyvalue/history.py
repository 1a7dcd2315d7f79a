"""What a key held before: kept for a number of versions and days, readable and restorable."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import accumulate

from django.db import connection
from django.db.models import F, QuerySet

from fluxcore import config, raw_sql
from fluxcore.errors import NotFound
from memory.keyvalue.models import Item, Namespace, Revision, RevisionKind
from memory.keyvalue.namespaces import OpenNamespace
from memory.keyvalue.statements import KeyWriter, StatementResult
from memory.keyvalue.validation import CanonicalValue

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
_WRITTEN, _DELETED = RevisionKind.WRITTEN.value, RevisionKind.DELETED.value


def note(by: KeyWriter, done: StatementResult, value: CanonicalValue | None) -> int:
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


def lasts(done: StatementResult) -> None:
    """What is kept of the present version lives as long as it does: no longer, and no shorter."""
    Revision.objects.filter(item=done.item, version=done.version, kind=_WRITTEN).update(expires=done.expires)


def kept(namespace: OpenNamespace, key: str, version: int) -> CanonicalValue:
    """The value of a version, to be written anew. What had a lifetime that is over does not come back."""
    found = (
        Revision.objects.filter(item__namespace=namespace.id, item__key=key, version=version, kind=_WRITTEN)
        .order_by("-id")
        .first()
    )
    if found is None or found.value is None or (found.expires is not None and found.expires <= namespace.now):
        raise NotFound(f"Version {version} of that key is not kept.", key=key, version=version)
    return CanonicalValue(found.value, found.sha, found.size)
