"""Graphs that are clustered: grains linked by conduits, and entries linked by the grains they share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.db import connection
from numpy.typing import NDArray

from memory.clusters.recompute_due import SHOWN
from memory.engine.graph import communities, decay
from memory.grains import decay_settings
from memory.grains.models import Conduit, Grain

CHUNK = 20_000
# Least share of a decayed link: time alone must not split a cluster.
LEAST = 0.05
# Entries of one grain that are paired, the rarest first: one text full of names must not link all of them.
MOST_OF_A_GRAIN = 16
_GRAINS, _CONDUITS = Grain._meta.db_table, Conduit._meta.db_table
_NUMBERS = f"SELECT id FROM {_GRAINS} WHERE space_id = %s AND status IN (%s, %s, %s) ORDER BY id"  # noqa: S608
_BETWEEN = (
    "SELECT from_grain_id, to_grain_id, weight, decay_class, made_at, used_at "  # noqa: S608
    f"FROM {_CONDUITS} WHERE space_id = %s AND from_entry_id IS NULL"
)
_FROM_ENTRIES = f"SELECT from_entry_id, to_grain_id FROM {_CONDUITS} WHERE space_id = %s AND from_grain_id IS NULL"  # noqa: S608

Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class ClusterGraph:
    """Nodes by the numbers of their rows, and undirected links between their places; each pair once."""

    numbers: Numbers
    one: Numbers
    two: Numbers
    weight: NDArray[np.float64]


def load_graphs(space: int, now: int, enough: int) -> tuple[ClusterGraph, ClusterGraph, int]:
    """Graphs of grains and of entries, and the number of conduits read; `enough` shared grains give full weight."""
    numbers = _read(_NUMBERS, [space, *SHOWN], 1)[:, 0].astype(np.int64)
    between, entry_links = _read(_BETWEEN, [space], 6), _read(_FROM_ENTRIES, [space], 2)
    return (
        _of_grains(numbers, between, now),
        build_entry_graph(*_shown(entry_links, numbers), enough),
        len(between) + len(entry_links),
    )


def _of_grains(numbers: Numbers, table: NDArray[np.float64], now: int) -> ClusterGraph:
    one, two = find_places(numbers, table[:, 0]), find_places(numbers, table[:, 1])
    weight = table[:, 2].astype(np.float32)
    left = decay.effective_weight(
        weight,
        decay_class=table[:, 3].astype(np.int64),
        made=table[:, 4].astype(np.int64),
        used=table[:, 5].astype(np.int64),
        now=now,
        fading=decay_settings.current(),
    )
    known = (one >= 0) & (two >= 0)
    held = np.maximum(left, LEAST * weight)[known]
    return ClusterGraph(numbers, *communities.merge_links(len(numbers), one[known], two[known], held))


def _shown(entry_links: NDArray[np.float64], numbers: Numbers) -> tuple[Numbers, Numbers]:
    entry, grain = entry_links[:, 0].astype(np.int64), entry_links[:, 1].astype(np.int64)
    known = find_places(numbers, grain) >= 0
    return entry[known], grain[known]


def build_entry_graph(entry: Numbers, grain: Numbers, enough: int) -> ClusterGraph:
    """Entries that share n grains: n / √(frequency · frequency) · min(1, n / enough).

    An entry that one grain alone mentions has no links.
    """
    numbers, place, frequency = np.unique(entry, return_inverse=True, return_counts=True)
    often = frequency[place] > 1
    place, grain = place[often], grain[often]
    order = np.lexsort((place, frequency[place], grain))
    place, grain = place[order], grain[order]
    first = np.searchsorted(grain, grain)
    kept = np.arange(len(grain)) - first < MOST_OF_A_GRAIN
    place, grain = place[kept], grain[kept]
    pairs = [
        (place[:-step][same], place[step:][same])
        for step in range(1, MOST_OF_A_GRAIN)
        if len(same := grain[step:] == grain[:-step]) and same.any()
    ]
    one = np.concatenate([pair[0] for pair in pairs]) if pairs else np.empty(0, np.int64)
    two = np.concatenate([pair[1] for pair in pairs]) if pairs else np.empty(0, np.int64)
    one, two, shared = communities.merge_links(len(numbers), one, two, np.ones(len(one)))
    weight = shared / np.sqrt(frequency[one] * frequency[two]) * np.minimum(1.0, shared / enough)
    return ClusterGraph(numbers, one, two, weight)


def find_places(numbers: Numbers, wanted: NDArray[Any]) -> Numbers:
    """Index of each wanted number in an ascending array; -1 for missing ones."""
    wanted = wanted.astype(np.int64)
    if not len(numbers):
        return np.full(len(wanted), -1, np.int64)
    at = np.minimum(np.searchsorted(numbers, wanted), len(numbers) - 1)
    return np.where(numbers[at] == wanted, at, -1)


def _read(statement: str, values: Sequence[Any], columns: int) -> NDArray[np.float64]:
    # Ids are exact as floats: they are far below 2^53.
    parts = [np.array(chunk, np.float64) for chunk in _chunks(statement, values)]
    return np.concatenate(parts) if parts else np.empty((0, columns))


def _chunks(statement: str, values: Sequence[Any]) -> Iterator[list[tuple[Any, ...]]]:
    with connection.chunked_cursor() as cursor:
        cursor.execute(statement, values)
        while chunk := cursor.fetchmany(CHUNK):
            yield chunk
