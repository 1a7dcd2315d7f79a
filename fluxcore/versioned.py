"""One versioned conditional write: a row changes only if it is what the caller saw, decided by the statement itself.

A table of versioned things has a column `version`, a column `sha` (the digest of what the row holds, `sha_of` of a
value) and a condition that says whether the row holds anything now. What a caller expects becomes part of the
statement's own WHERE, so there is no moment between looking and writing, on both databases.
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
        raise Invalid("expected_value is no JSON.", field="expected_value") from None


_NULL = sha_of(None)


@dataclass(frozen=True)
class Conditions:
    """What a caller expects, as SQL."""

    sql: tuple[str, ...]
    values: tuple[Any, ...]
    may_be_absent: bool  # a row that is not there could fulfil them

    def where(self) -> str:
        return f" WHERE {' AND '.join(self.sql)}" if self.sql else ""

    def and_where(self) -> str:
        return "".join(f" AND {one}" for one in self.sql)


NO_CONDITIONS = Conditions((), (), True)


@dataclass(frozen=True)
class VersionedTable:
    """A table whose rows have versions."""

    name: str
    live: str  # SQL that is true of a row that holds something; its placeholders are filled with `at`

    def conditions(self, expected: Precondition, *at: Any) -> Conditions:
        """`at` are the values of the placeholders in `live`, the moment of the write say."""
        if not expected.given:
            return NO_CONDITIONS
        found: list[Conditions] = []
        if expected.expected_version is not None:
            found.append(self._is("version", expected.expected_version, expected.expected_version == 0, at))
        if expected.expected_sha is not None:
            found.append(self._is("sha", expected.expected_sha, expected.expected_sha == "", at))
        if expected.expected_value is None:
            # Nothing there and a null there are the same to who compares values: the idiom of locks says so.
            found.append(Conditions((f"(NOT {self.live} OR {self.name}.sha = %s)",), (*at, _NULL), True))
        elif expected.expected_value is not UNSET:
            found.append(self._is("sha", sha_of(expected.expected_value), False, at))
        return Conditions(
            tuple(sql for one in found for sql in one.sql),
            tuple(value for one in found for value in one.values),
            all(one.may_be_absent for one in found),
        )

    def _is(self, column: str, wanted: Any, absent: bool, at: tuple[Any, ...]) -> Conditions:
        if absent:
            return Conditions((f"NOT {self.live}",), at, True)
        return Conditions((f"{self.name}.{column} = %s", self.live), (wanted, *at), False)


def changed(statement: str, values: list[Any]) -> tuple[Any, ...] | None:
    """Run a statement with RETURNING; None: what was expected did not hold, and nothing changed."""
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        row: tuple[Any, ...] | None = cursor.fetchone()
    return row


def expected_details(expected: Precondition) -> dict[str, Any]:
    """What was expected, for the answer of a conflict; never a value."""
    found = {"expected_version": expected.expected_version, "expected_sha": expected.expected_sha}
    return {name: value for name, value in found.items() if value is not None}
