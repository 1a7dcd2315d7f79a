"""The statements an arena reads with. The room that owns the tables lies above: a test holds their names together."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from django.db import connection

GRAINS, ENTRIES, CONDUITS, VECTORS = "grains_grain", "grains_entry", "grains_conduit", "grains_vector"
JUDGED, VOTES, ATTUNEMENTS = "grains_judged", "grains_vote", "grains_attunement"
MEMBERS, SHIFTS = "grains_member", "grains_shift"
CHUNK = 5_000

# In the order of `rows.Record`. Times are microseconds since 1970.
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


# In the order of `lessons.Lesson`: j the question, v the vote.
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


def _moment(column: str) -> str:
    """A time as microseconds since 1970."""
    if connection.vendor == "postgresql":
        return f"(extract(epoch FROM {column}) * 1000000)::bigint"
    # Behind the whole seconds stands a point with six digits, or nothing at all.
    return f"(unixepoch(substr({column}, 1, 19)) * 1000000 + CAST(substr({column}, 21) AS integer))"


def _grains(where: str) -> str:
    columns = [_moment(f"g.{name}") if name in _TIMES else f"g.{name}" for name in GRAIN_COLUMNS]
    columns += [f"m.{name}" for name in MEMBER_COLUMNS] + [f"v.{name}" for name in VECTOR_COLUMNS]
    return (
        f"SELECT {', '.join(columns)} FROM {GRAINS} g "  # noqa: S608
        f"LEFT JOIN {VECTORS} v ON v.space_id = g.space_id AND v.encoder = %s AND v.grain_id = g.id "
        f"LEFT JOIN {MEMBERS} m ON m.space_id = g.space_id AND m.grain_id = g.id AND m.entry_id IS NULL "
        f"WHERE g.space_id = %s {where} ORDER BY g.id"
    )


def read_grains(space: int, encoder: str) -> Iterator[list[tuple[Any, ...]]]:
    """Every grain of the space with its vector, in the order of their numbers."""
    yield from _chunks(_grains(""), [encoder, space])


def read_grains_by_number(space: int, encoder: str, numbers: Sequence[int]) -> list[tuple[Any, ...]]:
    """These grains as they are now, in one statement. Those that are no more are missing."""
    where, values = _among("g.id", numbers)
    with connection.cursor() as cursor:
        cursor.execute(_grains(where), [encoder, space, values])
        return list(cursor.fetchall())


def read_votes(space: int, questions: Sequence[int] | None = None) -> list[tuple[Any, ...]]:
    """The votes that stand, of these questions or of all, in one statement: question by question."""
    where: str = ""
    values: list[Any] = [space]
    if questions is not None:
        where, among = _among("j.id", questions)
        values.append(among)
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT {', '.join(VOTE_COLUMNS)} FROM {JUDGED} j JOIN {VOTES} v ON v.judged_id = j.id "  # noqa: S608
            f"WHERE j.space_id = %s AND v.undone_at IS NULL {where} ORDER BY j.id, v.grain_id",
            values,
        )
        return list(cursor.fetchall())


def read_attunement(space: int) -> tuple[Any, ...] | None:
    """Version, steps by feature, and number of questions of the space's own weights; None if it has none."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT version, weights, questions FROM {ATTUNEMENTS} WHERE space_id = %s", [space])  # noqa: S608
        found: tuple[Any, ...] | None = cursor.fetchone()
    if found is None:
        return None
    version, weights, questions = found
    # SQLite gives the text of it, PostgreSQL's driver may have read it already.
    return version, json.loads(weights) if isinstance(weights, str) else weights, questions


def is_exploring(space: int) -> bool:
    """Whether recalls of the space look wider for now."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT 1 FROM {SHIFTS} WHERE space_id = %s AND remaining > 0", [space])  # noqa: S608
        return cursor.fetchone() is not None


def _among(column: str, numbers: Sequence[int]) -> tuple[str, Any]:
    if connection.vendor == "postgresql":
        return f"AND {column} = ANY(%s)", list(numbers)
    # As one value: SQLite counts the marks of a statement.
    return f"AND {column} IN (SELECT value FROM json_each(%s))", json.dumps(list(numbers))  # noqa: S608


def read_entries(space: int) -> Iterator[list[tuple[Any, ...]]]:
    """Number, kind and feature of the space's entries."""
    yield from _chunks(f"SELECT id, kind, feature FROM {ENTRIES} WHERE space_id = %s", [space])  # noqa: S608


def read_conduits(space: int) -> Iterator[list[tuple[Any, ...]]]:
    """Every conduit of the space; 0 for the beginning it does not have."""
    columns = [f"COALESCE({name}, 0)" if name.startswith("from_") else name for name in CONDUIT_COLUMNS]
    yield from _chunks(f"SELECT {', '.join(columns)} FROM {CONDUITS} WHERE space_id = %s", [space])  # noqa: S608


def count_grains(space: int) -> int:
    """Grains of the space, whatever their status."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT count(*) FROM {GRAINS} WHERE space_id = %s", [space])  # noqa: S608
        return int(cursor.fetchone()[0])


def has_more_than(space: int, limit: int) -> bool:
    """Whether the space is larger than that, without counting on."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT 1 FROM {GRAINS} WHERE space_id = %s LIMIT 1 OFFSET %s", [space, limit])  # noqa: S608
        return cursor.fetchone() is not None


def _chunks(statement: str, values: Iterable[Any]) -> Iterator[list[tuple[Any, ...]]]:
    # Server-side on PostgreSQL: its driver would otherwise hold the whole answer in memory.
    with connection.chunked_cursor() as cursor:
        cursor.execute(statement, list(values))
        while chunk := cursor.fetchmany(CHUNK):
            yield chunk
