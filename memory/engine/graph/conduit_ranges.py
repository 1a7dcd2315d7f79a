"""Range lookups in the conduit arrays: the conduits of several nodes at once, from sorted runs or separate lists."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from memory.engine.graph import conduits
from memory.engine.graph.conduits import Numbers


class ConduitRuns(NamedTuple):
    """Conduits of several nodes: `position` in the graph's arrays, `which` is the index of the requested node."""

    which: Numbers
    position: Numbers


class ConduitsAround(NamedTuple):
    """Conduits of several nodes in both directions: the first `out` start at the nodes, the others end at them."""

    which: Numbers
    position: Numbers
    out: int
    degree: Numbers  # of each node, also of conduits beyond the limit
    cut: bool  # whether a node has more conduits than were read


def read_conduits(
    begin: Numbers, count: Numbers, through: NDArray[np.int32] | None, lists: dict[int, Numbers], limit: int
) -> ConduitRuns:
    """Positions of at most `limit` conduits of each node.

    They come from the node's run (mapped `through` a permutation if given), or from its entry in `lists` if it has one.
    """
    read = np.minimum(count, limit)
    if lists:
        read[list(lists)] = 0
    position = conduits.runs(begin, read)
    if through is not None:
        position = through[position].astype(np.int64)
    if lists:
        listed, parts = list(lists), [at[:limit] for at in lists.values()]
        from_runs, read[listed] = position, [len(part) for part in parts]
        has_list = np.zeros(len(read), np.bool_)
        has_list[listed] = True
        from_list = has_list.repeat(read)
        position = np.empty(len(from_list), np.int64)
        position[~from_list], position[from_list] = from_runs, np.concatenate(parts)
    return ConduitRuns(np.arange(len(read)).repeat(read), position)


def read_few(
    places: list[tuple[int, int]],
    start: NDArray[np.int32],
    into_start: NDArray[np.int32],
    into: NDArray[np.int32],
    out_lists: dict[int, Numbers],
    into_lists: dict[int, Numbers],
    limit: int,
) -> ConduitsAround:
    """Conduits of a few nodes in both directions; for so few, plain integers are faster than numpy arrays."""
    parts: list[NDArray[Any]] = []
    degree: list[int] = []
    for which, (place, _) in enumerate(places):
        listed = out_lists.get(which)
        begin, end = one_range(start, place) if listed is None else (0, len(listed))
        parts.append(np.arange(begin, min(end, begin + limit)) if listed is None else listed[:limit])
        degree.append(end - begin)
    for which, (_, node) in enumerate(places):
        listed = into_lists.get(which)
        begin, end = one_range(into_start, node) if listed is None else (0, len(listed))
        parts.append((into if listed is None else listed)[begin : min(end, begin + limit)])
        degree[which] += end - begin
    read = [len(part) for part in parts]
    which_all = np.array([*range(len(places))] * 2, np.int64).repeat(read)
    position = np.concatenate(parts, dtype=np.int64) if parts else np.empty(0, np.int64)
    return ConduitsAround(
        which_all, position, sum(read[: len(places)]), np.array(degree, np.int64), sum(degree) > len(which_all)
    )


def lengths(count: Numbers, lists: dict[int, Numbers]) -> Numbers:
    """Number of conduits of each node: from `lists` where the node has one, else from `count`."""
    if lists:
        count = count.copy()
        count[list(lists)] = [len(positions) for positions in lists.values()]
    return count


def one_range(start: NDArray[np.int32], at: int) -> tuple[int, int]:
    """Begin and end of the run of one node; (0, 0) for a node outside the array."""
    if not 0 <= at < len(start) - 1:
        return 0, 0
    begin, end = start[at : at + 2].tolist()
    return begin, end


def out_ranges(start: NDArray[np.int32], nodes: Numbers, rows: int, entries: int) -> tuple[Numbers, Numbers]:
    """`ranges` for grains and entries: in `start` the entries follow the rows."""
    if int(nodes.min(initial=0)) >= 0:
        return ranges(start, nodes, nodes < rows)
    known = np.where(nodes >= 0, nodes < rows, ~nodes < entries)
    return ranges(start, np.where(nodes >= 0, nodes, rows + ~nodes), known)


def run_of(start: NDArray[np.int32], wanted: NDArray[np.int32]) -> Numbers:
    """Index of the run each place belongs to. `wanted` has the dtype of `start`, so that neither is copied."""
    if len(wanted) <= _SEARCHED_UNSORTED:
        return start.searchsorted(wanted, side="right") - 1
    order = wanted.argsort()  # searchsorted is faster on sorted input
    run = np.empty(len(wanted), np.int64)
    run[order] = start.searchsorted(wanted[order], side="right") - 1
    return run


_SEARCHED_UNSORTED = 512  # number of places up to which sorting them first costs more than it saves


def ranges(start: NDArray[np.int32], index: Numbers, known: NDArray[np.bool_]) -> tuple[Numbers, Numbers]:
    """Begin and length of the run of each node; length 0 for nodes that are not `known`."""
    if len(start) == 1:  # no node at all
        return np.zeros(len(index), np.int64), np.zeros(len(index), np.int64)
    if known.all():
        begin = start[index].astype(np.int64)
        return begin, start[index + 1] - begin
    index = np.where(known, index, 0)
    begin = start[index].astype(np.int64)
    return begin, np.where(known, start[index + 1] - begin, 0)
