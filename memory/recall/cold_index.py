"""Cold index: a small index from SQL full text search, for recalls while a space has no arena.

While a large space is read for the first time, or does not fit into memory, SQL selects a few hundred grains: the
newest of each term, those with the rarest terms first, and the grains one conduit away. The same pipeline then ranks
them. Three statements, whatever the size of the space.
"""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np
from django.db import connection
from numpy.typing import NDArray

from memory.arena import build, queries
from memory.arena.cache import encoder_name
from memory.arena.changes import CONDUIT
from memory.arena.grain_rows import GrainRecord
from memory.engine.index.space_index import Index
from memory.engine.text import words
from memory.engine.text.question import Query
from memory.grains import full_text

# Limits: terms that are looked up, grains of each term, grains that are ranked, grains whose conduits are followed, and
# conduits that are read.
TERMS, PER_TERM, GRAINS, FOLLOWED, CONDUITS = 24, 400, 200, 64, 512

_CONDUITS = (
    "SELECT c.id, COALESCE(c.from_entry_id, 0), COALESCE(c.from_grain_id, 0), c.to_grain_id, c.weight, c.affinity, "  # noqa: S608
    f"c.made_at, c.used_at, c.relation, c.decay_class, e.kind, e.feature FROM {queries.CONDUITS} c "
    f"LEFT JOIN {queries.ENTRIES} e ON e.id = c.from_entry_id WHERE c.id IN ({{found}})"
)
_STRONGEST = (
    f"SELECT * FROM (SELECT id FROM {queries.CONDUITS} WHERE space_id = %s AND {{where}} "  # noqa: S608
    "ORDER BY weight DESC, id LIMIT %s) AS {name}"
)


def build_cold_index(space: int, asked: Query) -> Index:
    """Index of the grains that SQL finds for a question."""
    best = _match_words(space, asked)
    conduits = _read_conduits(space, best[:FOLLOWED], asked)
    ends = [int(end) for name in ("from_grain", "to_grain") for end in conduits[name] if end]
    wanted = list(dict.fromkeys([*best, *ends]))[: 2 * GRAINS]
    rows = queries.read_grains_by_number(space, encoder_name(), wanted) if wanted else []
    return build.assemble_index([[GrainRecord(*row) for row in rows]], [conduits])


def _match_words(space: int, asked: Query) -> list[int]:
    """Ids of grains by their terms, rare terms count more; among equals the newest first."""
    keys = list(dict.fromkeys(asked.keys.tolist()))[:TERMS]
    matches = full_text.match_terms(space, keys, PER_TERM)
    frequency = Counter(place for place, _ in matches)
    sums: dict[int, float] = defaultdict(float)
    for place, grain in matches:
        sums[grain] += 1 / math.log(2 + frequency[place])
    return sorted(sums, key=lambda grain: (-sums[grain], -grain))[:GRAINS]


def _read_conduits(space: int, best: Sequence[int], asked: Query) -> NDArray[np.void]:
    """Conduits of the best grains in both directions, and of the entries in the question."""
    one_of = "= ANY(%s)" if connection.vendor == "postgresql" else "IN (SELECT value FROM json_each(%s))"
    numbers: Any = list(best) if connection.vendor == "postgresql" else json.dumps(list(best))
    selections = [
        _STRONGEST.format(where=f"from_grain_id {one_of}", name="outward"),
        _STRONGEST.format(where=f"to_grain_id {one_of}", name="inward"),
    ]
    values: list[Any] = [space, numbers, CONDUITS, space, numbers, CONDUITS]
    for mention in asked.mentions:
        entry = f"from_entry_id = (SELECT id FROM {queries.ENTRIES} WHERE space_id = %s AND kind = %s AND feature = %s)"  # noqa: S608
        selections.append(_STRONGEST.format(where=entry, name="named"))
        values += [space, space, mention.kind, mention.feature, CONDUITS // 8]
    with connection.cursor() as cursor:
        cursor.execute(_CONDUITS.format(found=" UNION ".join(selections)), values)
        rows = cursor.fetchall()
    return np.array(
        [
            (number, entry, words.key(f"{kind}:{feature}") if entry else 0, *rest)
            for number, entry, *rest, kind, feature in rows
        ],
        CONDUIT,
    )
