"""SQL statements that write one key: put, remove, touch. Each checks its conditions and writes in one step.

Expectations are conditions of the statement (`fluxcore/versioned.py`). In all of them an expired value counts as
absent, by the time the caller passes.
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
_COLUMNS = "namespace_id, key, value, version, sha, size, expires, told, written_at, writer, origin, displaced"
_DISPLACED = f"CASE WHEN {TABLE}.value IS NULL THEN -1 ELSE {TABLE}.size END"
_INSERT = f"INSERT INTO {TABLE} ({_COLUMNS}) VALUES (%s, %s, %s, %s, %s, %s, %s, FALSE, %s, %s, %s, -1) "  # noqa: S608
_OR_UPDATE = (
    f"ON CONFLICT (namespace_id, key) DO UPDATE SET value = excluded.value, version = {TABLE}.version + 1, "
    "sha = excluded.sha, size = excluded.size, expires = {expires}, told = FALSE, "
    f"written_at = excluded.written_at, writer = excluded.writer, origin = excluded.origin, displaced = {_DISPLACED}"
)
_UPDATE = (
    f"UPDATE {TABLE} SET value = %s, version = version + 1, sha = %s, size = %s, "  # noqa: S608
    "expires = {expires}, told = FALSE, "
    f"written_at = %s, writer = %s, origin = %s, displaced = {_DISPLACED} WHERE namespace_id = %s AND key = %s"
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
    """The row a statement changed."""

    item: int
    version: int
    displaced: int  # bytes of the replaced value; -1: there was none
    expires: float | None


@dataclass(frozen=True)
class KeyWriter:
    """The writer of a key: namespace, name and time; `now` by the clock of expiry, `at` by the wall clock."""

    namespace: int
    floor: int
    now: float
    at: Any
    name: str


def put(
    writer: KeyWriter,
    key: str,
    value: CanonicalValue,
    expires: float | None,
    expected: Precondition,
    *,
    keep: bool = False,
    origin: str = "",
) -> StatementResult | None:
    """Write a value if the expectation holds, else None. `keep` keeps the current expiry."""
    conditions = _ITEMS.conditions(expected, writer.now)
    new_expiry, keep_values = (
        (_KEPT, [writer.now]) if keep else ("excluded.expires" if conditions.may_be_absent else "%s", [])
    )
    at = raw_sql.adapt_moment(writer.at)
    if conditions.may_be_absent:
        statement = _INSERT + _OR_UPDATE.format(expires=new_expiry)
        given_values = [
            writer.namespace,
            key,
            value.text,
            writer.floor + 1,
            value.sha,
            value.size,
            expires,
            at,
            writer.name,
            origin,
            *keep_values,
        ]
        where = conditions.where()
    else:
        statement = _UPDATE.format(expires=new_expiry)
        given_values = [
            value.text,
            value.sha,
            value.size,
            *(keep_values if keep else [expires]),
            at,
            writer.name,
            origin,
            writer.namespace,
            key,
        ]
        where = conditions.and_where()
    return _written(statement + where, [*given_values, *conditions.values])


def remove(writer: KeyWriter, key: str, expected: Precondition) -> StatementResult | None:
    """Remove the value if there is one and the expectation holds, else None. The row keeps the version."""
    conditions = _ITEMS.conditions(expected, writer.now)
    values = [raw_sql.adapt_moment(writer.at), writer.name, writer.namespace, key, writer.now, *conditions.values]
    return _written(_REMOVE + conditions.and_where(), values)


def touch(writer: KeyWriter, key: str, expires: float | None, expected: Precondition) -> StatementResult | None:
    """Set the expiry of a key that has a value. The version stays the same, because the value does."""
    conditions = _ITEMS.conditions(expected, writer.now)
    values = [expires, writer.namespace, key, writer.now, *conditions.values]
    return _written(_TOUCH + conditions.and_where(), values)


def _written(statement: str, values: list[Any]) -> StatementResult | None:
    row = versioned.changed(statement + _RETURNING, values)
    return StatementResult(*row) if row is not None else None


_CURRENT = (
    f"SELECT id, value, version, sha, size, expires, written_at, writer, origin FROM {TABLE} "  # noqa: S608
    "WHERE namespace_id = %s AND key = %s"
)


@dataclass(frozen=True)
class CurrentKey:
    """The current state of a key that has a value."""

    item: int
    text: str
    version: int
    sha: str
    size: int
    expires: float | None
    written_at: Any
    writer: str
    origin: str


def current(namespace: int, key: str, now: float) -> CurrentKey | None:
    """The key as it is at a time of the clock of expiry; None if it is absent or has expired."""
    rows = raw_sql.read(_CURRENT, [namespace, key])
    if not rows or rows[0][1] is None or (rows[0][5] is not None and rows[0][5] <= now):
        return None
    return CurrentKey(*rows[0])
