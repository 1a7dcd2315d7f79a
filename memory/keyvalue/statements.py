"""The statements that change one key. Each decides and writes in one step, on both databases.

What is expected of the key is a condition of the statement (`fluxcore/versioned.py`). An expired value counts as none
in every condition, by the moment the caller gives.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fluxcore import raw_sql, versioned
from fluxcore.versioned import VersionedTable
from fluxcore.writes.preconditions import Precondition
from memory.keyvalue.models import Item
from memory.keyvalue.validation import CanonicalValue

TABLE = Item._meta.db_table
LIVE = f"({TABLE}.value IS NOT NULL AND ({TABLE}.expires IS NULL OR {TABLE}.expires > %s))"
_ITEMS = VersionedTable(TABLE, LIVE)
_COLUMNS = "namespace_id, key, value, version, sha, size, expires, told, written_at, writer, displaced"
_DISPLACED = f"CASE WHEN {TABLE}.value IS NULL THEN -1 ELSE {TABLE}.size END"
_INSERT = f"INSERT INTO {TABLE} ({_COLUMNS}) VALUES (%s, %s, %s, %s, %s, %s, %s, FALSE, %s, %s, -1) "  # noqa: S608
_OR_UPDATE = (
    f"ON CONFLICT (namespace_id, key) DO UPDATE SET value = excluded.value, version = {TABLE}.version + 1, "
    "sha = excluded.sha, size = excluded.size, expires = {expires}, told = FALSE, "
    f"written_at = excluded.written_at, writer = excluded.writer, displaced = {_DISPLACED}"
)
_UPDATE = (
    f"UPDATE {TABLE} SET value = %s, version = version + 1, sha = %s, size = %s, "  # noqa: S608
    "expires = {expires}, told = FALSE, "
    f"written_at = %s, writer = %s, displaced = {_DISPLACED} WHERE namespace_id = %s AND key = %s"
)
_REMOVE = (
    f"UPDATE {TABLE} SET value = NULL, sha = '', size = 0, expires = NULL, told = FALSE, "  # noqa: S608
    f"written_at = %s, writer = %s, displaced = {_DISPLACED} WHERE namespace_id = %s AND key = %s AND {LIVE}"
)
_TOUCH = f"UPDATE {TABLE} SET expires = %s, told = FALSE WHERE namespace_id = %s AND key = %s AND {LIVE}"  # noqa: S608
_RETURNING = " RETURNING id, version, displaced, expires"
_KEPT = f"CASE WHEN {LIVE} THEN {TABLE}.expires END"


@dataclass(frozen=True)
class StatementResult:
    """What a statement did."""

    item: int
    version: int
    displaced: int  # bytes that were kept before; -1: none
    expires: float | None


@dataclass(frozen=True)
class KeyWriter:
    """Who writes, when, where; `now` by the clock of expiry, `at` by the clock on the wall."""

    namespace: int
    floor: int
    now: float
    at: Any
    name: str


def put(
    by: KeyWriter, key: str, value: CanonicalValue, expires: float | None, expected: Precondition, *, keep: bool = False
) -> StatementResult | None:
    """Write a value if what is expected holds; None if it does not. `keep` leaves the expiry as it is."""
    conditions = _ITEMS.conditions(expected, by.now)
    lasts, kept = (_KEPT, [by.now]) if keep else ("excluded.expires" if conditions.may_be_absent else "%s", [])
    at = raw_sql.adapt_moment(by.at)
    if conditions.may_be_absent:
        statement = _INSERT + _OR_UPDATE.format(expires=lasts)
        given_values = [by.namespace, key, value.text, by.floor + 1, value.sha, value.size, expires, at, by.name, *kept]
        where = conditions.where()
    else:
        statement = _UPDATE.format(expires=lasts)
        given_values = [
            value.text,
            value.sha,
            value.size,
            *(kept if keep else [expires]),
            at,
            by.name,
            by.namespace,
            key,
        ]
        where = conditions.and_where()
    return _written(statement + where, [*given_values, *conditions.values])


def remove(by: KeyWriter, key: str, expected: Precondition) -> StatementResult | None:
    """Take the value away if there is one and it is the expected one; the row keeps the version."""
    conditions = _ITEMS.conditions(expected, by.now)
    values = [raw_sql.adapt_moment(by.at), by.name, by.namespace, key, by.now, *conditions.values]
    return _written(_REMOVE + conditions.and_where(), values)


def touch(by: KeyWriter, key: str, expires: float | None, expected: Precondition) -> StatementResult | None:
    """Another expiry for what is there; the version stays, for the value does."""
    conditions = _ITEMS.conditions(expected, by.now)
    values = [expires, by.namespace, key, by.now, *conditions.values]
    return _written(_TOUCH + conditions.and_where(), values)


def _written(statement: str, values: list[Any]) -> StatementResult | None:
    row = versioned.changed(statement + _RETURNING, values)
    return StatementResult(*row) if row is not None else None


_CURRENT = (
    f"SELECT id, value, version, sha, size, expires, written_at, writer FROM {TABLE} "  # noqa: S608
    "WHERE namespace_id = %s AND key = %s"
)


@dataclass(frozen=True)
class CurrentKey:
    """A key as it is; a version and nothing else where the value is gone."""

    item: int
    text: str
    version: int
    sha: str
    size: int
    expires: float | None
    written_at: Any
    writer: str


def current(namespace: int, key: str, now: float) -> CurrentKey | None:
    """What is there at that moment; None also for what has expired."""
    found = raw_sql.read(_CURRENT, [namespace, key])
    if not found or found[0][1] is None or (found[0][5] is not None and found[0][5] <= now):
        return None
    return CurrentKey(*found[0])
