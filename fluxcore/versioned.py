"""Versioned conditional writes: a row changes only if it is as the caller expects, checked by the statement itself.

A versioned table has a column `version`, a column `sha` (the digest of the row's content, `sha_of` a value) and a
condition for rows that have content now. The caller's expectations become part of the statement's WHERE, so that
nothing can change between check and write, on both databases.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

from django.db import connection

from fluxcore.canonical_json import dumps
from fluxcore.errors import Invalid
from fluxcore.writes.preconditions import UNSET, Precondition


def sha_of(value: Any) -> str:
    """The digest of a value: SHA-256 of its canonical JSON."""
    try:
        return hashlib.sha256(dumps(value).encode()).hexdigest()
    except (ValueError, TypeError, RecursionError):
        raise Invalid("expected_value is not valid JSON.", field="expected_value") from None


_NULL = sha_of(None)


@dataclass(frozen=True)
class Conditions:
    """A caller's expectations as SQL."""

    sql: tuple[str, ...]
    values: tuple[Any, ...]
    may_be_absent: bool  # whether a missing row could fulfil them

    def where(self) -> str:
        return f" WHERE {' AND '.join(self.sql)}" if self.sql else ""

    def and_where(self) -> str:
        return "".join(f" AND {condition}" for condition in self.sql)


NO_CONDITIONS = Conditions((), (), True)


@dataclass(frozen=True)
class VersionedTable:
    """Name of a table whose rows have versions, and the condition for rows with content."""

    name: str
    live: str  # SQL condition for rows with content; `at` are the values of its placeholders

    def conditions(self, expected: Precondition, *at: Any) -> Conditions:
        """The precondition as SQL. `at` are the values of the placeholders in `live`, such as the time of the write."""
        if not expected.given:
            return NO_CONDITIONS
        found: list[Conditions] = []
        if expected.expected_version is not None:
            found.append(self._is("version", expected.expected_version, expected.expected_version == 0, at))
        if expected.expected_sha is not None:
            found.append(self._is("sha", expected.expected_sha, expected.expected_sha == "", at))
        if expected.expected_value is None:
            # When values are compared, a missing value and null are equal: programs use this to implement locks.
            found.append(Conditions((f"(NOT {self.live} OR {self.name}.sha = %s)",), (*at, _NULL), True))
        elif expected.expected_value is not UNSET:
            found.append(self._is("sha", sha_of(expected.expected_value), False, at))
        return Conditions(
            tuple(sql for conditions in found for sql in conditions.sql),
            tuple(value for conditions in found for value in conditions.values),
            all(conditions.may_be_absent for conditions in found),
        )

    def _is(self, column: str, wanted: Any, absent: bool, at: tuple[Any, ...]) -> Conditions:
        if absent:
            return Conditions((f"NOT {self.live}",), at, True)
        return Conditions((f"{self.name}.{column} = %s", self.live), (wanted, *at), False)


def changed(statement: str, values: list[Any]) -> tuple[Any, ...] | None:
    """Run a statement with RETURNING; None if an expectation failed and nothing changed."""
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        row: tuple[Any, ...] | None = cursor.fetchone()
    return row


def expected_details(expected: Precondition) -> dict[str, Any]:
    """The expectations for the details of a conflict; never a value."""
    found = {"expected_version": expected.expected_version, "expected_sha": expected.expected_sha}
    return {name: value for name, value in found.items() if value is not None}
