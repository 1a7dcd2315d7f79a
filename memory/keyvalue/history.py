"""History of keys: their earlier versions, kept for a number of versions and days, to be read and restored."""

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
_COLUMNS = ("item", "version", "kind", "value", "sha", "size", "expires", "at", "writer", "origin")
_FORGET = f"DELETE FROM {_TABLE} WHERE item_id = %s AND version < %s RETURNING size"  # noqa: S608
_REMOVE = f"DELETE FROM {_TABLE} WHERE id IN ({{marks}}) RETURNING item_id, size"  # noqa: S608
# Oldest first; the copies of current versions last.
_OLDEST = (
    f"SELECT r.id, r.size FROM {_TABLE} r JOIN {Item._meta.db_table} i ON i.id = r.item_id "  # noqa: S608
    "WHERE i.namespace_id = %s ORDER BY CASE WHEN r.version = i.version AND i.value IS NOT NULL THEN 1 ELSE 0 END, "
    "r.id LIMIT %s"
)
_PIECE = 500  # revisions deleted in one statement
_WRITTEN, _DELETED = RevisionKind.WRITTEN.value, RevisionKind.DELETED.value


def add(writer: KeyWriter, result: StatementResult, value: CanonicalValue | None, origin: str = "") -> int:
    """Add a revision for a write or a deletion and delete the oldest; by how many bytes the history grew."""
    limit = config.current().KV_HISTORY_VERSIONS
    if not limit:
        return 0
    text, sha, size = (value.text, value.sha, value.size) if value else (None, "", 0)
    kind = _WRITTEN if value else _DELETED
    row = (result.item, result.version, kind, text, sha, size, result.expires, writer.at, writer.name, origin)
    raw_sql.insert(Revision, _COLUMNS, [row])
    if result.version > limit + 1:  # the current version does not count as an earlier one
        with connection.cursor() as cursor:
            cursor.execute(_FORGET, [result.item, result.version - limit])
            size -= sum(deleted_size for (deleted_size,) in cursor.fetchall())
    return size


def remove(revisions: QuerySet[Revision]) -> int:
    """Delete revisions and subtract their bytes from their namespaces, inside a write; how many were deleted.

    All code that deletes revisions uses this, because they count in the quota of a namespace.
    """
    deleted = _delete(list(revisions.values_list("pk", flat=True)))
    items = Item.objects.filter(pk__in={item for item, _ in deleted})
    namespace_of = dict(items.values_list("pk", "namespace_id"))
    freed: Counter[int] = Counter()
    for item, size in deleted:
        freed[namespace_of[item]] += size
    for namespace, size in sorted(freed.items()):
        Namespace.objects.filter(pk=namespace).update(history_bytes=F("history_bytes") - size)
    return len(deleted)


def prune(namespace: int, wanted: int, *, slack: int) -> tuple[int, int]:
    """Delete the oldest revisions until `wanted` bytes are free; their number and bytes. The caller counts them.

    Up to `slack` bytes more are freed, so that not every write into a full namespace has to prune again.
    """
    pruned = freed = 0
    while freed < wanted:
        oldest = raw_sql.read(_OLDEST, [namespace, _PIECE])
        sums = accumulate((size for _, size in oldest), initial=freed)
        deleted = _delete([number for (number, _), sum_ in zip(oldest, sums, strict=False) if sum_ < wanted + slack])
        pruned, freed = pruned + len(deleted), freed + sum(size for _, size in deleted)
        if len(oldest) < _PIECE:
            break
    return pruned, freed


def _delete(numbers: Sequence[int]) -> list[tuple[int, int]]:
    """Delete revisions by id; item and size of those deleted here, for another job may have deleted some before."""
    deleted: list[tuple[int, int]] = []
    with connection.cursor() as cursor:
        for at in range(0, len(numbers), _PIECE):
            piece = numbers[at : at + _PIECE]
            cursor.execute(_REMOVE.format(marks=", ".join(["%s"] * len(piece))), piece)
            deleted += cursor.fetchall()
    return deleted


def set_expiry(result: StatementResult) -> None:
    """Give the revision of the current version the same expiry as the key."""
    Revision.objects.filter(item=result.item, version=result.version, kind=_WRITTEN).update(expires=result.expires)


def read_version(namespace: OpenNamespace, key: str, version: int) -> CanonicalValue:
    """The value of an earlier version; NotFound if it was pruned, was a deletion or has expired."""
    revision = (
        Revision.objects.filter(item__namespace=namespace.id, item__key=key, version=version, kind=_WRITTEN)
        .order_by("-id")
        .first()
    )
    expired = revision is not None and revision.expires is not None and revision.expires <= namespace.now
    if revision is None or revision.value is None or expired:
        raise NotFound(f"Version {version} of that key is not in the history.", key=key, version=version)
    return CanonicalValue(revision.value, revision.sha, revision.size, revision.origin)
