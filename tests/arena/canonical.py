"""An arena as plain values that do not depend on which row a grain happens to have."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from memory.arena.arena import Arena
from memory.engine.index.space_index import COLUMNS, GONE, NO_ROW


def canonical_values(arena: Arena) -> dict[str, Any]:
    """Everything recall could see, in the order of the grains' numbers; what is gone is left out."""
    index, columns = arena.index, arena.index.columns
    ids = index.column("id")
    alive = np.flatnonzero(index.column("status") != GONE)
    alive = alive[np.argsort(ids[alive])]
    shown = set(alive.tolist())
    name = {row: int(ids[row]) for row in range(index.size)}
    found: dict[str, Any] = {
        column: columns[column][alive].tolist() for column in COLUMNS if column not in ("prev", "next")
    }
    for side in ("prev", "next"):
        found[side] = [name.get(row, NO_ROW) for row in columns[side][alive].tolist()]
    postings = index.postings.merged()
    found["postings"] = sorted(
        (key, name[row], count)
        for key in postings.keys.tolist()
        for row, count in zip(*(part.tolist() for part in postings.of(key)), strict=True)
        if row in shown
    )
    flat = index.graph.flat()
    found["conduits"] = sorted(
        (number, key, name.get(source, 0), name[target], weight, affinity, used, relation, kind)
        for number, key, source, target, weight, affinity, _, used, relation, kind in zip(
            *(column.tolist() for column in flat), strict=True
        )
        if target in shown and (source < 0 or source in shown)
    )
    dense = index.dense
    held = [] if dense is None else [row for row in alive.tolist() if row < dense.size and dense.has[row]]
    found["vectors"] = [(name[row], dense.data[row].tobytes(), float(dense.scale[row])) for row in held]
    found["speakers"] = sorted(index.speakers.items())
    return found


def arena_checksum(arena: Arena) -> str:
    return hashlib.sha256(repr(canonical_values(arena)).encode()).hexdigest()
