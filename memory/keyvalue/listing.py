"""Listing keys: in order, by pattern, page by page, and never one that the caller may not read."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from accounts.principals import Principal
from accounts.verbs import selector
from fluxcore import raw_sql
from fluxcore.errors import Invalid
from fluxcore.globs import STAR, STARS, compile_glob, parts_of
from memory.keyvalue import reading
from memory.keyvalue.given import check_flag, check_pattern
from memory.keyvalue.models import Item
from memory.keyvalue.places import Place, Room, place, reader, reads_something, room

MAX_PAGE = 1000
LOOKED_AT = 5_000  # rows one call looks at, however few of them match
_TABLE = Item._meta.db_table
_PAGE = (
    "SELECT id, key, {value}, version, sha, size, expires, written_at, writer "  # noqa: S608
    f"FROM {_TABLE} WHERE namespace_id = %s AND key > %s AND value IS NOT NULL AND (expires IS NULL OR expires > %s)"
)


def lists(principal: Principal, arguments: dict[str, Any]) -> Iterable[tuple[str, str | None]]:
    """To list takes the capability to read something there; what is listed is only that."""
    where = place(arguments.get("where"))
    return [] if reads_something(principal, where) else [(where.operation(principal, "read"), None)]


@selector("kv.list", needs="memory.read", asks=lists)
def page(
    principal: Principal,
    *,
    where: str,
    pattern: str | None = None,
    limit: int = 100,
    cursor: str | None = None,
    values: bool = False,
) -> dict[str, Any]:
    """Keys in order, with their versions and expiry, with their values on request.

    A page may be short, even empty, and still have a next one: it looked at as many rows as it may.
    """
    home = place(where)
    if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= MAX_PAGE:
        raise Invalid(f"limit must be between 1 and {MAX_PAGE}.", field="limit")
    check_flag(values, name="values")
    pattern = check_pattern(pattern) if pattern is not None else None
    matches, prefix = compile_glob(pattern) if pattern is not None else None, _prefix(pattern)
    found_room = room(principal, home, make=False)
    if found_room is None:
        return {"keys": [], "count": 0, "next_cursor": None}
    after = _after(found_room, cursor) if cursor is not None else ""
    found, last = _look(principal, home, found_room, max(after, prefix[:-1]), prefix, matches, limit, values)
    return {
        "keys": [reading.shape(*one[1:]) for one in found],
        "count": len(found),
        "next_cursor": str(last) if last is not None else None,
    }


def _look(
    principal: Principal,
    home: Place,
    found_room: Room,
    after: str,
    prefix: str,
    matches: Any,
    limit: int,
    values: bool,
) -> tuple[list[tuple[Any, ...]], int | None]:
    """The rows that match, and the number of the last one looked at if there may be more."""
    readable = reader(principal, home)
    statement = _PAGE.format(value="value" if values else "NULL")
    bounds: list[Any] = []
    if prefix:
        statement, bounds = f"{statement} AND key >= %s AND key < %s", [prefix, _next(prefix)]
    found: list[tuple[Any, ...]] = []
    seen = 0
    last: int | None = None
    while seen < LOOKED_AT:
        size = min(limit + 1 - len(found) if matches is None else 500, LOOKED_AT - seen)
        page = raw_sql.read(f"{statement} ORDER BY key LIMIT %s", [found_room.id, after, found_room.now, *bounds, size])
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


def _after(home: Room, cursor: str) -> str:
    """A cursor is the number of a row: a key that somebody may not read would be no secret in it."""
    if not (cursor.isascii() and cursor.isdecimal() and len(cursor) <= 18):
        raise Invalid("That is not a cursor of this list.", field="cursor")
    key = Item.objects.filter(pk=int(cursor), namespace=home.id).values_list("key", flat=True).first()
    if key is None:
        raise Invalid("That is not a cursor of this list.", field="cursor")
    return key
