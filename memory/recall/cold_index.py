"""The rung without an arena: a small index of what full text finds and of what hangs on it.

While a large space is read for the first time, or has no room in memory, SQL finds a few hundred grains:
the newest of each term, those with the rarest terms first, and the grains one conduit away. The same
pipeline then ranks them. Three statements, whatever the size of the space.
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

# Terms that are looked up; grains taken of each; grains that are ranked; those whose conduits are followed;
# conduits that are read.
TERMS, PER_TERM, GRAINS, FOLLOWED, CONDUITS = 24, 400, 200, 64, 512

_CONDUITS = (
    "SELECT c.id, COALESCE(c.from_entry_id, 0), COALESCE(c.from_grain_id, 0), c.to_grain_id, c.weight, c.affinity, "  # noqa: S608
    f"c.made_at, c.used_at, c.relation, c.decay_class, e.kind, e.feature FROM {queries.CONDUITS} c "
    f"LEFT JOIN {queries.ENTRIES} e ON e.id = c.from_entry_id WHERE c.id IN ({{found}})"
)
_OF = (
    f"SELECT * FROM (SELECT id FROM {queries.CONDUITS} WHERE space_id = %s AND {{where}} "  # noqa: S608
    "ORDER BY weight DESC, id LIMIT %s) AS {name}"
)


def build_cold_index(space: int, asked: Query) -> Index:
    """What SQL alone can put together for a question."""
    best = _by_words(space, asked)
    conduits = _conduits(space, best[:FOLLOWED], asked)
    ends = [int(end) for name in ("from_grain", "to_grain") for end in conduits[name] if end]
    wanted = list(dict.fromkeys([*best, *ends]))[: 2 * GRAINS]
    rows = queries.read_grains_by_number(space, encoder_name(), wanted) if wanted else []
    return build.assemble_index([[GrainRecord(*row) for row in rows]], [conduits])


def _by_words(space: int, asked: Query) -> list[int]:
    """Grains by the terms they hold, a rare term counting for more; the newest first among equals."""
    keys = list(dict.fromkeys(asked.keys.tolist()))[:TERMS]
    found = full_text.match_terms(space, keys, PER_TERM)
    held = Counter(place for place, _ in found)
    sums: dict[int, float] = defaultdict(float)
    for place, grain in found:
        sums[grain] += 1 / math.log(2 + held[place])
    return sorted(sums, key=lambda grain: (-sums[grain], -grain))[:GRAINS]


def _conduits(space: int, best: Sequence[int], asked: Query) -> NDArray[np.void]:
    """Conduits of the best grains in both directions, and of the entries the question names."""
    one_of = "= ANY(%s)" if connection.vendor == "postgresql" else "IN (SELECT value FROM json_each(%s))"
    numbers: Any = list(best) if connection.vendor == "postgresql" else json.dumps(list(best))
    found = [
        _OF.format(where=f"from_grain_id {one_of}", name="outward"),
        _OF.format(where=f"to_grain_id {one_of}", name="inward"),
    ]
    values: list[Any] = [space, numbers, CONDUITS, space, numbers, CONDUITS]
    for mention in asked.mentions:
        entry = f"from_entry_id = (SELECT id FROM {queries.ENTRIES} WHERE space_id = %s AND kind = %s AND feature = %s)"  # noqa: S608
        found.append(_OF.format(where=entry, name="named"))
        values += [space, space, mention.kind, mention.feature, CONDUITS // 8]
    with connection.cursor() as cursor:
        cursor.execute(_CONDUITS.format(found=" UNION ".join(found)), values)
        rows = cursor.fetchall()
    return np.array(
        [
            (number, entry, words.key(f"{kind}:{feature}") if entry else 0, *rest)
            for number, entry, *rest, kind, feature in rows
        ],
        CONDUIT,
    )
