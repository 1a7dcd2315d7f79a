"""SQL statements of arenas. The models of these tables are in memory.grains above; a test compares the names."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from django.db import connection

GRAINS, ENTRIES, CONDUITS, VECTORS = "grains_grain", "grains_entry", "grains_conduit", "grains_vector"
JUDGED, VOTES, ATTUNEMENTS = "grains_judged", "grains_vote", "grains_attunement"
MEMBERS, SHIFTS = "grains_member", "grains_shift"
CHUNK = 5_000  # rows fetched at once

# In the order of `grain_rows.GrainRecord`. Times are microseconds since 1970.
GRAIN_COLUMNS = (
    "id",
    "text",
    "digest",
    "session",
    "ordinal",
    "speaker",
    "tags",
    "said_at",
    "recorded_at",
    "valid_from",
    "valid_to",
    "authority",
    "decay_class",
    "status",
    "pinned",
    "confidence",
)
MEMBER_COLUMNS = ("cluster_id", "weight")
VECTOR_COLUMNS = ("scale", "data")
_TIMES = {"said_at", "recorded_at", "valid_from", "valid_to"}
# In the order of `changes.CONDUIT`, without the entry's key.
CONDUIT_COLUMNS = (
    "id",
    "from_entry_id",
    "from_grain_id",
    "to_grain_id",
    "weight",
    "affinity",
    "made_at",
    "used_at",
    "relation",
    "decay_class",
)


# In the order of `votes.VoteRow`; j is the question, v the vote.
VOTE_COLUMNS = (
    "j.id",
    "j.actor",
    "j.terms",
    "j.encoder",
    "j.scale",
    "j.data",
    "v.grain_id",
    "v.useful",
    "v.strength",
    "v.missed",
    "v.place",
)


def _microseconds(column: str) -> str:
    """SQL expression of a time column as microseconds since 1970."""
    if connection.vendor == "postgresql":
        return f"(extract(epoch FROM {column}) * 1000000)::bigint"
    # After the seconds SQLite has a point and six digits, or nothing.
    return f"(unixepoch(substr({column}, 1, 19)) * 1000000 + CAST(substr({column}, 21) AS integer))"


def _grains_statement(where: str) -> str:
    columns = [_microseconds(f"g.{name}") if name in _TIMES else f"g.{name}" for name in GRAIN_COLUMNS]
    columns += [f"m.{name}" for name in MEMBER_COLUMNS] + [f"v.{name}" for name in VECTOR_COLUMNS]
    return (
        f"SELECT {', '.join(columns)} FROM {GRAINS} g "  # noqa: S608
        f"LEFT JOIN {VECTORS} v ON v.space_id = g.space_id AND v.encoder = %s AND v.grain_id = g.id "
        f"LEFT JOIN {MEMBERS} m ON m.space_id = g.space_id AND m.grain_id = g.id AND m.entry_id IS NULL "
        f"WHERE g.space_id = %s {where} ORDER BY g.id"
    )


def read_grains(space: int, encoder: str) -> Iterator[list[tuple[Any, ...]]]:
    """All grains of the space with their vectors, ordered by id, in chunks."""
    yield from _read_chunks(_grains_statement(""), [encoder, space])


def read_grains_by_number(space: int, encoder: str, numbers: Sequence[int]) -> list[tuple[Any, ...]]:
    """Present state of these grains, in one statement; deleted ones are missing."""
    where, values = _condition_in("g.id", numbers)
    with connection.cursor() as cursor:
        cursor.execute(_grains_statement(where), [encoder, space, values])
        return list(cursor.fetchall())


def read_votes(space: int, questions: Sequence[int] | None = None) -> list[tuple[Any, ...]]:
    """Votes that were not undone, of these questions or of all, ordered by question, in one statement."""
    where: str = ""
    values: list[Any] = [space]
    if questions is not None:
        where, value = _condition_in("j.id", questions)
        values.append(value)
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT {', '.join(VOTE_COLUMNS)} FROM {JUDGED} j JOIN {VOTES} v ON v.judged_id = j.id "  # noqa: S608
            f"WHERE j.space_id = %s AND v.undone_at IS NULL {where} ORDER BY j.id, v.grain_id",
            values,
        )
        return list(cursor.fetchall())


def read_attunement(space: int) -> tuple[Any, ...] | None:
    """The space's own ranker weights: version, differences by feature, number of questions; None if it has none."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT version, weights, questions FROM {ATTUNEMENTS} WHERE space_id = %s", [space])  # noqa: S608
        row: tuple[Any, ...] | None = cursor.fetchone()
    if row is None:
        return None
    version, weights, questions = row
    # SQLite returns JSON as text, PostgreSQL's driver may have parsed it.
    return version, json.loads(weights) if isinstance(weights, str) else weights, questions


def is_exploring(space: int) -> bool:
    """Whether the space is in exploration after a context shift."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT 1 FROM {SHIFTS} WHERE space_id = %s AND remaining > 0", [space])  # noqa: S608
        return cursor.fetchone() is not None


def _condition_in(column: str, numbers: Sequence[int]) -> tuple[str, Any]:
    if connection.vendor == "postgresql":
        return f"AND {column} = ANY(%s)", list(numbers)
    # One JSON value, because SQLite limits the number of parameters.
    return f"AND {column} IN (SELECT value FROM json_each(%s))", json.dumps(list(numbers))  # noqa: S608


def read_entries(space: int) -> Iterator[list[tuple[Any, ...]]]:
    """Id, kind and feature of the space's entries, in chunks."""
    yield from _read_chunks(f"SELECT id, kind, feature FROM {ENTRIES} WHERE space_id = %s", [space])  # noqa: S608


def read_conduits(space: int) -> Iterator[list[tuple[Any, ...]]]:
    """All conduits of the space, in chunks; 0 for the source (entry or grain) a conduit does not have."""
    columns = [f"COALESCE({name}, 0)" if name.startswith("from_") else name for name in CONDUIT_COLUMNS]
    yield from _read_chunks(f"SELECT {', '.join(columns)} FROM {CONDUITS} WHERE space_id = %s", [space])  # noqa: S608


def count_grains(space: int) -> int:
    """Number of grains of the space, of any status."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT count(*) FROM {GRAINS} WHERE space_id = %s", [space])  # noqa: S608
        return int(cursor.fetchone()[0])


def has_more_than(space: int, limit: int) -> bool:
    """Whether the space has more grains than `limit`, without counting all."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT 1 FROM {GRAINS} WHERE space_id = %s LIMIT 1 OFFSET %s", [space, limit])  # noqa: S608
        return cursor.fetchone() is not None


def _read_chunks(statement: str, values: Iterable[Any]) -> Iterator[list[tuple[Any, ...]]]:
    # A server-side cursor on PostgreSQL: its driver would otherwise load the whole result into memory.
    with connection.chunked_cursor() as cursor:
        cursor.execute(statement, list(values))
        while chunk := cursor.fetchmany(CHUNK):
            yield chunk
