"""Listing of keys: in order, by pattern, page by page; only keys the caller may read."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from accounts.calls import handles
from accounts.principals import Principal
from flux.calls import keys as calls
from fluxcore import raw_sql
from fluxcore.errors import Invalid
from fluxcore.globs import STAR, STARS, compile_glob, parts_of
from memory.keyvalue import reads
from memory.keyvalue.models import Item
from memory.keyvalue.namespaces import NamespaceName, OpenNamespace, find_namespace, place, reader, reads_something
from memory.keyvalue.validation import check_pattern

DEFAULT_LIMIT = 100  # keys of a page
MAX_SCANNED = 5_000  # rows one call reads, however few of them match
_TABLE = Item._meta.db_table
_PAGE = (
    "SELECT id, key, {value}, version, sha, size, expires, written_at, writer "  # noqa: S608
    f"FROM {_TABLE} WHERE namespace_id = %s AND key > %s AND value IS NOT NULL AND (expires IS NULL OR expires > %s)"
)


def lists(principal: Principal, arguments: dict[str, Any]) -> Iterable[tuple[str, str | None]]:
    """Capabilities of a listing: to read some key there. Only readable keys are listed."""
    where = place(arguments.get("place"))
    return [] if reads_something(principal, where) else [(where.operation(principal, "read"), None)]


@handles(calls.ListKeys, asks=lists)
def list_keys(principal: Principal, request: calls.ListKeys) -> dict[str, Any]:
    """List a page of keys. After MAX_SCANNED rows a page ends short, even empty, with a cursor to continue."""
    where, limit = place(request.place), request.limit or DEFAULT_LIMIT
    pattern = check_pattern(request.pattern) if request.pattern is not None else None
    matches, prefix = compile_glob(pattern) if pattern is not None else None, _prefix(pattern)
    namespace = find_namespace(principal, where)
    if namespace is None:
        return {"keys": [], "count": 0, "next_cursor": None}
    after = _after(namespace, request.cursor) if request.cursor is not None else ""
    values = request.values or False
    rows, last = _scan(principal, where, namespace, max(after, prefix[:-1]), prefix, matches, limit, values)
    return {
        "keys": [reads.key_facts(*row[1:]) for row in rows],
        "count": len(rows),
        "next_cursor": str(last) if last is not None else None,
    }


def _scan(
    principal: Principal,
    where: NamespaceName,
    namespace: OpenNamespace,
    after: str,
    prefix: str,
    matches: Any,
    limit: int,
    values: bool,
) -> tuple[list[tuple[Any, ...]], int | None]:
    """The matching rows, and the id of the last row read if there may be more."""
    readable = reader(principal, where)
    statement = _PAGE.format(value="value" if values else "NULL")
    bounds: list[Any] = []
    if prefix:
        statement, bounds = f"{statement} AND key >= %s AND key < %s", [prefix, _next(prefix)]
    matching: list[tuple[Any, ...]] = []
    scanned = 0
    last: int | None = None
    while scanned < MAX_SCANNED:
        size = min(limit + 1 - len(matching) if matches is None else 500, MAX_SCANNED - scanned)
        page = raw_sql.read(f"{statement} ORDER BY key LIMIT %s", [namespace.id, after, namespace.now, *bounds, size])
        for row in page:
            if (matches is None or matches.matches(row[1])) and readable(row[1]):
                if len(matching) == limit:
                    return matching, last
                matching.append(row)
            last, after = row[0], row[1]
        scanned += len(page)
        if len(page) < size:
            return matching, None
    return matching, last


def _prefix(pattern: str | None) -> str:
    """Fixed prefix of a pattern, so that only that part of the index is read."""
    if pattern is None or pattern == "*":
        return ""
    prefix = ""
    for part in parts_of(pattern):
        if part is STAR or part is STARS:
            return prefix
        prefix += str(part)
    return prefix


def _next(prefix: str) -> str:
    """Upper bound of the keys with a prefix; the highest character is in no key."""
    return prefix + "\U0010ffff"


def _after(namespace: OpenNamespace, cursor: str) -> str:
    """The key of a cursor. A cursor is the id of a row, because a key in it might be one the caller may not read."""
    key = Item.objects.filter(pk=int(cursor), namespace=namespace.id).values_list("key", flat=True).first()
    if key is None:
        raise Invalid("cursor is not of this list: use next_cursor of the previous page.", field="cursor")
    return key
