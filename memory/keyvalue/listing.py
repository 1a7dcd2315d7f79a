"""Listing keys: in order, by pattern, page by page, and never one that the caller may not read."""

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

PAGE = 100
LOOKED_AT = 5_000  # rows one call looks at, however few of them match
_TABLE = Item._meta.db_table
_PAGE = (
    "SELECT id, key, {value}, version, sha, size, expires, written_at, writer "  # noqa: S608
    f"FROM {_TABLE} WHERE namespace_id = %s AND key > %s AND value IS NOT NULL AND (expires IS NULL OR expires > %s)"
)


def lists(principal: Principal, arguments: dict[str, Any]) -> Iterable[tuple[str, str | None]]:
    """To list takes the capability to read something there; what is listed is only that."""
    where = place(arguments.get("place"))
    return [] if reads_something(principal, where) else [(where.operation(principal, "read"), None)]


@handles(calls.ListKeys, asks=lists)
def list_keys(principal: Principal, request: calls.ListKeys) -> dict[str, Any]:
    """A page may be short, even empty, and still have a next one: it looked at as many rows as it may."""
    where, limit = place(request.place), request.limit or PAGE
    pattern = check_pattern(request.pattern) if request.pattern is not None else None
    matches, prefix = compile_glob(pattern) if pattern is not None else None, _prefix(pattern)
    namespace = find_namespace(principal, where)
    if namespace is None:
        return {"keys": [], "count": 0, "next_cursor": None}
    after = _after(namespace, request.cursor) if request.cursor is not None else ""
    values = request.values or False
    found, last = _look(principal, where, namespace, max(after, prefix[:-1]), prefix, matches, limit, values)
    return {
        "keys": [reads.key_facts(*one[1:]) for one in found],
        "count": len(found),
        "next_cursor": str(last) if last is not None else None,
    }


def _look(
    principal: Principal,
    where: NamespaceName,
    namespace: OpenNamespace,
    after: str,
    prefix: str,
    matches: Any,
    limit: int,
    values: bool,
) -> tuple[list[tuple[Any, ...]], int | None]:
    """The rows that match, and the number of the last one looked at if there may be more."""
    readable = reader(principal, where)
    statement = _PAGE.format(value="value" if values else "NULL")
    bounds: list[Any] = []
    if prefix:
        statement, bounds = f"{statement} AND key >= %s AND key < %s", [prefix, _next(prefix)]
    found: list[tuple[Any, ...]] = []
    seen = 0
    last: int | None = None
    while seen < LOOKED_AT:
        size = min(limit + 1 - len(found) if matches is None else 500, LOOKED_AT - seen)
        page = raw_sql.read(f"{statement} ORDER BY key LIMIT %s", [namespace.id, after, namespace.now, *bounds, size])
        for one in page:
            if (matches is None or matches.matches(one[1])) and readable(one[1]):
                if len(found) == limit:
                    return found, last
                found.append(one)
            last, after = one[0], one[1]
        seen += len(page)
        if len(page) < size:
            return found, None
    return found, last


def _prefix(pattern: str | None) -> str:
    """What every match begins with, so that only that part of the index is read."""
    if pattern is None or pattern == "*":
        return ""
    found = ""
    for part in parts_of(pattern):
        if part is STAR or part is STARS:
            return found
        found += str(part)
    return found


def _next(prefix: str) -> str:
    """The first text behind all that begin so; the highest character is no part of any key."""
    return prefix + "\U0010ffff"


def _after(namespace: OpenNamespace, cursor: str) -> str:
    """A cursor is the number of a row: a key that somebody may not read would be no secret in it."""
    key = Item.objects.filter(pk=int(cursor), namespace=namespace.id).values_list("key", flat=True).first()
    if key is None:
        raise Invalid("That is not a cursor of this list.", field="cursor")
    return key
