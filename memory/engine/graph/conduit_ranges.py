"""Reading the conduits of several nodes of a graph in few calls: runs of a sorted array, or lists of their own."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from memory.engine.graph import conduits
from memory.engine.graph.conduits import Numbers


class ConduitRuns(NamedTuple):
    """Conduits of several nodes in one run: `position` in the graph's arrays, `which` of the nodes asked for."""

    which: Numbers
    position: Numbers


class ConduitsAround(NamedTuple):
    """Conduits of several nodes in both directions: the first `out` begin at them, the others lead to them."""

    which: Numbers
    position: Numbers
    out: int
    degree: Numbers  # of each node, however many are read
    cut: bool  # whether a node has more than were read


def read_conduits(
    begin: Numbers, count: Numbers, through: NDArray[np.int32] | None, lists: dict[int, Numbers], limit: int
) -> ConduitRuns:
    """At most `limit` of each node: from its run, `through` an order of its own, or from its list where it has one."""
    read = np.minimum(count, limit)
    if lists:
        read[list(lists)] = 0
    position = conduits.runs(begin, read)
    if through is not None:
        position = through[position].astype(np.int64)
    if lists:
        owned, parts = list(lists), [at[:limit] for at in lists.values()]
        built, read[owned] = position, [len(part) for part in parts]
        own = np.zeros(len(read), np.bool_)
        own[owned] = True
        of_list = own.repeat(read)
        position = np.empty(len(of_list), np.int64)
        position[~of_list], position[of_list] = built, np.concatenate(parts)
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
    """Both directions of a handful of nodes: numbers one by one are faster there than arrays of them."""
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
    which_of = np.array([*range(len(places))] * 2, np.int64).repeat(read)
    position = np.concatenate(parts, dtype=np.int64) if parts else np.empty(0, np.int64)
    return ConduitsAround(
        which_of, position, sum(read[: len(places)]), np.array(degree, np.int64), sum(degree) > len(which_of)
    )


def lengths(count: Numbers, lists: dict[int, Numbers]) -> Numbers:
    """How many each node has."""
    if lists:
        count = count.copy()
        count[list(lists)] = [len(at) for at in lists.values()]
    return count


def one_range(start: NDArray[np.int32], at: int) -> tuple[int, int]:
    if not 0 <= at < len(start) - 1:
        return 0, 0
    begin, end = start[at : at + 2].tolist()
    return begin, end


def out_ranges(start: NDArray[np.int32], nodes: Numbers, rows: int, entries: int) -> tuple[Numbers, Numbers]:
    """The same for nodes of both kinds: entries stand behind the rows."""
    if int(nodes.min(initial=0)) >= 0:
        return ranges(start, nodes, nodes < rows)
    known = np.where(nodes >= 0, nodes < rows, ~nodes < entries)
    return ranges(start, np.where(nodes >= 0, nodes, rows + ~nodes), known)


def holders(start: NDArray[np.int32], wanted: NDArray[np.int32]) -> Numbers:
    """Whose run each place is in. Of the array's own type, so that it is not copied."""
    if len(wanted) <= _UNSORTED:
        return start.searchsorted(wanted, side="right") - 1
    order = wanted.argsort()  # in order, a search goes on from the one before
    found = np.empty(len(wanted), np.int64)
    found[order] = start.searchsorted(wanted[order], side="right") - 1
    return found


_UNSORTED = 512  # places that are looked up as they come


def ranges(start: NDArray[np.int32], index: Numbers, known: NDArray[np.bool_]) -> tuple[Numbers, Numbers]:
    """Where the run of each begins, and how long it is."""
    if len(start) == 1:  # no node at all
        return np.zeros(len(index), np.int64), np.zeros(len(index), np.int64)
    if known.all():
        begin = start[index].astype(np.int64)
        return begin, start[index + 1] - begin
    index = np.where(known, index, 0)
    begin = start[index].astype(np.int64)
    return begin, np.where(known, start[index + 1] - begin, 0)
