"""The statements that change one key. Each decides and writes in one step, on both databases.

What is expected of the key stands in the statement's own condition, so there is no moment between looking and
writing. An expired value counts as none in every condition, by the moment the caller gives.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db import connection

from fluxcore import raw_sql
from fluxcore.writes.preconditions import UNSET, Precondition
from memory.keyvalue import given
from memory.keyvalue.given import Value
from memory.keyvalue.models import Item

TABLE = Item._meta.db_table
LIVE = f"({TABLE}.value IS NOT NULL AND ({TABLE}.expires IS NULL OR {TABLE}.expires > %s))"
_NULL = given.sha_of(None)
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
class Written:
    """What a statement did."""

    item: int
    version: int
    displaced: int  # bytes that were kept before; -1: none
    expires: float | None


@dataclass(frozen=True)
class Writer:
    """Who writes, when, where; `now` by the clock of expiry, `at` by the clock on the wall."""

    namespace: int
    floor: int
    now: float
    at: Any
    name: str


def put(
    by: Writer, key: str, value: Value, expires: float | None, expected: Precondition, *, keep: bool = False
) -> Written | None:
    """Write a value if what is expected holds; None if it does not. `keep` leaves the expiry as it is."""
    conditions, values, may_be_absent = _conditions(expected, by.now)
    lasts, kept = (_KEPT, [by.now]) if keep else ("excluded.expires" if may_be_absent else "%s", [])
    at = raw_sql.adapt_moment(by.at)
    if may_be_absent:
        statement = _INSERT + _OR_UPDATE.format(expires=lasts)
        given_values = [by.namespace, key, value.text, by.floor + 1, value.sha, value.size, expires, at, by.name, *kept]
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
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
        where = "".join(f" AND {one}" for one in conditions)
    return _written(statement + where + _RETURNING, [*given_values, *values])


def remove(by: Writer, key: str, expected: Precondition) -> Written | None:
    """Take the value away if there is one and it is the expected one; the row keeps the version."""
    conditions, values, _ = _conditions(expected, by.now)
    statement = _REMOVE + "".join(f" AND {one}" for one in conditions) + _RETURNING
    return _written(statement, [raw_sql.adapt_moment(by.at), by.name, by.namespace, key, by.now, *values])


def touch(by: Writer, key: str, expires: float | None, expected: Precondition) -> Written | None:
    """Another expiry for what is there; the version stays, for the value does."""
    conditions, values, _ = _conditions(expected, by.now)
    statement = _TOUCH + "".join(f" AND {one}" for one in conditions) + _RETURNING
    return _written(statement, [expires, by.namespace, key, by.now, *values])


def _written(statement: str, values: list[Any]) -> Written | None:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        row = cursor.fetchone()
    return Written(*row) if row is not None else None


def _conditions(expected: Precondition, now: float) -> tuple[list[str], list[Any], bool]:
    """As SQL, and whether a key that is not there could fulfil them."""
    conditions: list[str] = []
    values: list[Any] = []
    absent = True
    if expected.expected_version is not None:
        if expected.expected_version == 0:
            conditions.append(f"NOT {LIVE}")
            values.append(now)
        else:
            absent = False
            conditions += [f"{TABLE}.version = %s", LIVE]
            values += [expected.expected_version, now]
    if expected.expected_sha is not None:
        if expected.expected_sha == "":
            conditions.append(f"NOT {LIVE}")
            values.append(now)
        else:
            absent = False
            conditions += [f"{TABLE}.sha = %s", LIVE]
            values += [expected.expected_sha, now]
    if expected.expected_value is not UNSET:
        if expected.expected_value is None:
            # Nothing there and a null there are the same to who compares values: the idiom of locks says so.
            conditions.append(f"(NOT {LIVE} OR {TABLE}.sha = %s)")
            values += [now, _NULL]
        else:
            absent = False
            conditions += [f"{TABLE}.sha = %s", LIVE]
            values += [given.sha_of(expected.expected_value), now]
    return conditions, values, absent


_CURRENT = (
    f"SELECT id, value, version, sha, size, expires, written_at, writer FROM {TABLE} "  # noqa: S608
    "WHERE namespace_id = %s AND key = %s"
)


@dataclass(frozen=True)
class Held:
    """A key as it is; a version and nothing else where the value is gone."""

    item: int
    text: str
    version: int
    sha: str
    size: int
    expires: float | None
    written_at: Any
    writer: str


def current(namespace: int, key: str, now: float) -> Held | None:
    """What is there at that moment; None also for what has expired."""
    found = raw_sql.read(_CURRENT, [namespace, key])
    if not found or found[0][1] is None or (found[0][5] is not None and found[0][5] <= now):
        return None
    return Held(*found[0])
