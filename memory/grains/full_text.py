"""Full text search of grains in the database, for recalls without an arena (rung `cold`).

A term of a space is one token: SQLite keeps it in FTS5 as letters and digits that no query language can
misread, PostgreSQL as a number in an array under a GIN index (migration 0003: no model can describe them).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from django.db import connection

_MASK = 2**64 - 1
_NOTE = {
    "sqlite": "INSERT OR REPLACE INTO grains_words (rowid, words) VALUES (%s, %s)",
    "postgresql": "INSERT INTO grains_words (rowid, words) VALUES (%s, %s) "
    "ON CONFLICT (rowid) DO UPDATE SET words = EXCLUDED.words",
}
# Newest first for each term, so that a list that is cut keeps the latest grains.
_HELD = {"sqlite": "grains_words MATCH %s", "postgresql": "words @> ARRAY[%s::bigint]"}


def index_terms(space: int, grains: Iterable[tuple[int, Iterable[int]]]) -> None:
    """Write the term keys of grains, replacing earlier ones."""
    if connection.vendor == "sqlite":
        rows: list[tuple[int, Any]] = [(grain, _tokens(space, keys)) for grain, keys in grains]
    else:
        rows = [(grain, [_number(space, key) for key in sorted(keys)]) for grain, keys in grains]
    with connection.cursor() as cursor:
        cursor.executemany(_NOTE[connection.vendor], rows)


def match_terms(space: int, keys: Sequence[int], per_term_limit: int) -> list[tuple[int, int]]:
    """(position of the key, grain) for the newest grains that hold each key, in one statement."""
    if not keys:
        return []
    term = _token if connection.vendor == "sqlite" else _number
    one = (
        "SELECT * FROM (SELECT %s AS place, rowid AS grain FROM grains_words "  # noqa: S608
        f"WHERE {_HELD[connection.vendor]} ORDER BY rowid DESC LIMIT %s) AS held"
    )
    values = [value for place, key in enumerate(keys) for value in (place, term(space, key), per_term_limit)]
    with connection.cursor() as cursor:
        cursor.execute(" UNION ALL ".join([one] * len(keys)), values)
        return [(int(place), int(grain)) for place, grain in cursor.fetchall()]


def remove_terms(grains: Sequence[int]) -> None:
    """Delete the term keys of grains."""
    with connection.cursor() as cursor:
        cursor.executemany("DELETE FROM grains_words WHERE rowid = %s", [(grain,) for grain in grains])


def _tokens(space: int, keys: Iterable[int]) -> str:
    return " ".join([_token(space, key) for key in keys])


def _token(space: int, key: int) -> str:
    return f"{space:x}x{key:016x}"


def _number(space: int, key: int) -> int:
    """Space and key as one signed number: equal terms of two spaces are different ones."""
    mixed = key ^ (space * 0x9E3779B97F4A7C15 & _MASK)
    mixed = (mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9 & _MASK
    mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EB & _MASK
    mixed ^= mixed >> 31
    return mixed - 2**64 if mixed >= 2**63 else mixed
