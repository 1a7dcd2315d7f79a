"""Conduit graph of one space as numpy arrays: source, target, weight and times of every conduit.

A node is one integer: a grain is its row (0 and up), an entry is ~n (below 0). Conduits are sorted by source, strongest
first, so that the best links of a hub are the beginning of its run; a second order lists the conduits that end at each
grain. Conduits added after the build are appended; a node with any change has a separate sorted list
(`SortedConduits`) in the order of a build, so that a graph that followed every change gives the same answers as one
built from the result. `merged` returns a graph with all changes sorted in. About 24 bytes per conduit.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memory.engine.graph import conduit_ranges, conduits, sorted_conduits
from memory.engine.graph.conduit_ranges import ConduitRuns, ConduitsAround
from memory.engine.graph.conduits import CONTRADICTS, LATEST, NARROW_IDS, SUPERSEDES, ConduitColumns, Numbers
from memory.engine.graph.sorted_conduits import SortedConduits

_FEW = 16  # number of nodes up to which they are read one by one
HUB = 32  # default number of conduits read of a node, strongest first
NOWHERE = np.iinfo(np.int64).min  # node of an unknown entry


class ConduitGraph:
    """Graph of the conduits of one space. Many threads may read while one writes (`put`, `cut`); writers take turns."""

    def __init__(self, arrays: dict[str, NDArray[Any]]) -> None:
        self.ids: NDArray[np.integer] = arrays["ids"]
        self.target: NDArray[np.int32] = arrays["target"]
        self.weight: NDArray[np.float32] = arrays["weight"]
        self.used: NDArray[np.uint32] = arrays["used"]
        self._made: NDArray[np.uint16] = arrays["made"]
        self._kind: NDArray[np.uint8] = arrays["kind"]
        self._affinity: NDArray[np.float16] = arrays["affinity"]  # begins at the first conduit of an entry
        self._start: NDArray[np.int32] = arrays["start"]
        self._into_start: NDArray[np.int32] = arrays["into_start"]
        self._into: NDArray[np.int32] = arrays["into"]
        self._keys: NDArray[np.uint64] = arrays["keys"]
        self._epoch = int(arrays["epoch"][0])
        self.rows = len(self._into_start) - 1
        self.base = self.size = len(self._into)
        self.reach = self.rows  # one more than the highest row that has a conduit
        self._first = int(self._start[self.rows])
        self._top = int(self.ids[: self.base].max(initial=0))
        # Conduits and entries added since the build.
        self._source = np.zeros(len(self.target) - self.base, np.int32)
        self._at: dict[int, int] = {}
        self._entry_since: dict[int, int] = {}
        self._keys_since: list[int] = []
        # Sorted conduits, without those of weight 0, of nodes that have changed since the build.
        self._own_out: dict[int, SortedConduits] = {}
        self._own_into: dict[int, SortedConduits] = {}
        self._pairs: dict[int, tuple[Numbers, Numbers, Numbers]] = {}

    @classmethod
    def empty(cls) -> ConduitGraph:
        return cls(conduits.sort_conduits(conduits.no_conduits(), 0))

    @classmethod
    def build(
        cls,
        records: NDArray[np.void],
        from_row: NDArray[np.integer],
        to_row: NDArray[np.integer],
        *,
        rows: int,
        capacity: int = 0,
    ) -> ConduitGraph:
        """Graph of all conduits of a space: CONDUIT records and the rows of their grains (-1: an entry, or unknown)."""
        return cls(conduits.sort_conduits(conduits.conduit_columns(records, from_row, to_row), rows, capacity))

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray[Any]]) -> ConduitGraph:
        """Graph on these arrays without a copy: arrays mapped copy-on-write stay shared until they are written."""
        return cls(arrays)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All arrays, merged, with spare capacity to append to a mapped file."""
        return self.merged().arrays() if self.since or self._own_out else self._stored_arrays()

    def merged(self, *, rows: int = 0, capacity: int = 0) -> ConduitGraph:
        """The same graph with all changes since the build sorted in."""
        return ConduitGraph(conduits.sort_conduits(self.flat(), max(rows, self.reach), capacity))

    @property
    def since(self) -> int:
        """Number of conduits added after the build."""
        return self.size - self.base

    @property
    def entries(self) -> int:
        """Number of entries."""
        return len(self._keys) + len(self._entry_since)

    @property
    def nbytes(self) -> int:
        touched = len(self._own_out) + len(self._own_into)
        stored = sum(array.nbytes for array in self._stored_arrays().values())
        return stored + self._source.nbytes + 250 * len(self._at) + 200 * touched

    def entry_node(self, keys: NDArray[np.uint64]) -> Numbers:
        """Node of each entry by its key; NOWHERE for an entry the space does not have."""
        nodes = np.full(len(keys), NOWHERE, np.int64)
        if not len(keys):
            return nodes
        keys = np.asarray(keys, np.uint64)
        at = self._keys.searchsorted(keys)
        within = (at < len(self._keys)).nonzero()[0]
        within = within[self._keys[at[within]] == keys[within]]
        nodes[within] = ~at[within]
        if self._entry_since:
            for index in (nodes == NOWHERE).nonzero()[0].tolist():
                number = self._entry_since.get(int(keys[index]))
                nodes[index] = NOWHERE if number is None else ~number
        return nodes

    def entry_key(self, node: int) -> int:
        """Key of the entry of a node."""
        number = ~node
        if number < len(self._keys):
            return int(self._keys[number])
        return self._keys_since[number - len(self._keys)]

    def out(self, nodes: Numbers, limit: int = HUB) -> ConduitRuns:
        """The strongest conduits that start at each node, at most `limit` per node."""
        begin, count = self._out_range(nodes)
        return conduit_ranges.read_conduits(begin, count, None, self._out_lists(nodes), limit)

    def into(self, rows: Numbers, limit: int = HUB) -> ConduitRuns:
        """The strongest conduits that end at each grain, at most `limit` per grain."""
        begin, count = self._into_range(rows)
        return conduit_ranges.read_conduits(begin, count, self._into, self._into_lists(rows), limit)

    def around(self, nodes: Numbers, limit: int = HUB) -> ConduitsAround:
        """The conduits of `out` and of `into` for the same nodes, in one call."""
        out_lists, into_lists = self._out_lists(nodes), self._into_lists(nodes)
        if len(nodes) <= _FEW:
            places = [(self._place(node), node) for node in nodes.tolist()]
            return conduit_ranges.read_few(
                places, self._start, self._into_start, self._into, out_lists, into_lists, limit
            )
        begin, count = self._out_range(nodes)
        into_begin, into_count = self._into_range(nodes)
        if out_lists or into_lists:
            out = conduit_ranges.read_conduits(begin, count, None, out_lists, limit)
            into = conduit_ranges.read_conduits(into_begin, into_count, self._into, into_lists, limit)
            degree = conduit_ranges.lengths(count, out_lists) + conduit_ranges.lengths(into_count, into_lists)
            which, position = np.concatenate((out.which, into.which)), np.concatenate((out.position, into.position))
            first = len(out.which)
        else:
            degree = count + into_count
            read = np.minimum(np.concatenate((count, into_count)), limit)
            first = int(read[: len(nodes)].sum())
            which = np.tile(np.arange(len(nodes)), 2).repeat(read)
            position = conduits.runs(np.concatenate((begin, into_begin)), read)
            position[first:] = self._into[position[first:]]
        return ConduitsAround(which, position, first, degree, int(degree.sum()) > len(which))

    def _place(self, node: int) -> int:
        """Index of a node in `_start`; below 0 for a grain added since the build."""
        return self.rows + ~node if node < 0 else node if node < self.rows else -1

    def degree(self, nodes: Numbers) -> Numbers:
        """Number of conduits of each node in both directions."""
        out = conduit_ranges.lengths(self._out_range(nodes)[1], self._out_lists(nodes))
        return out + conduit_ranges.lengths(self._into_range(nodes)[1], self._into_lists(nodes))

    def source(self, position: Numbers) -> Numbers:
        """The node each conduit starts at."""
        wanted = position.astype(np.int32)
        if self.since:
            np.minimum(wanted, self.base - 1, out=wanted)
        node = conduit_ranges.run_of(self._start, wanted)
        if len(self._keys):
            node = np.where(node >= self.rows, self.rows + ~node, node)
        if self.since:
            since = position >= self.base
            node[since] = self._source[position[since] - self.base]
        return node

    def kind(self, position: Numbers) -> NDArray[np.uint8]:
        """Kind bytes: relation in the lower four bits, decay class in the upper four."""
        return self._kind[position]

    def young(self, position: Numbers, since: float) -> NDArray[np.bool_] | None:
        """Mask of conduits created after `since` (seconds since 1970); None if there are none."""
        made = self._made[position]
        young: NDArray[np.bool_] = made > math.floor(since / conduits.HOUR) - self._epoch
        return young if np.logical_or.reduce(young) else None

    def relation(self, position: Numbers) -> NDArray[np.uint8]:
        return self._kind[position] & np.uint8(15)

    def decay_class(self, position: Numbers) -> NDArray[np.uint8]:
        return self._kind[position] >> np.uint8(4)

    def made(self, position: Numbers) -> Numbers:
        """Creation time of each conduit in seconds since 1970, to the hour."""
        return (self._epoch + self._made[position].astype(np.int64)) * conduits.HOUR

    def affinity(self, position: Numbers) -> NDArray[np.float32]:
        """How well an entry fits its grain; only for conduits that start at an entry."""
        return self._affinity[position - self._first].astype(np.float32)

    def pairs(self, relation: int) -> tuple[Numbers, Numbers, Numbers]:
        """All conduits of one (rare) relation between grains: targets in ascending order, sources, positions."""
        cached = self._pairs.get(relation)
        if cached is None:
            at = (((self._kind[: self.size] & 15) == relation) & (self.weight[: self.size] > 0)).nonzero()[0]
            source, target = self.source(at), self.target[at].astype(np.int64)
            order = np.lexsort((source, target))
            order = order[source[order] >= 0]
            cached = self._pairs[relation] = target[order], source[order], at[order]
        return cached

    def flat(self) -> ConduitColumns:
        """Columns of all conduits whose weight is above 0."""
        at = (self.weight[: self.size] > 0).nonzero()[0]
        node = self.source(at)
        entry = node < 0
        key, affinity = self._key_of(node), np.ones(len(at), np.float32)
        affinity[entry] = self.affinity(at[entry])
        return ConduitColumns(
            self.ids[at].astype(np.int64),
            key,
            np.maximum(node, -1),
            self.target[at].astype(np.int64),
            self.weight[at],
            affinity,
            self.made(at),
            self.used[at].astype(np.int64),
            self.relation(at),
            self.decay_class(at),
        )

    def put(self, records: NDArray[np.void], from_row: NDArray[np.integer], to_row: NDArray[np.integer]) -> int:
        """Add or update conduits; repeating a call changes nothing. Returns how many have known ends."""
        columns = conduits.conduit_columns(records, from_row, to_row)
        if not self.size:
            self._epoch = conduits.epoch_of(columns.made)
        made, kind = conduits.hours_after(self._epoch, columns.made), columns.kind
        complete = columns.whole.nonzero()[0].tolist()
        for index in complete:
            number, source, weight = (
                int(columns.id[index]),
                int(columns.source[index]),
                max(float(columns.weight[index]), 0.0),
            )
            node = source if source >= 0 else self._find_or_add_entry(int(columns.key[index]))
            at = self._find(number, node)
            if at is None:
                if weight == 0:
                    continue
                at = self._append(number, node, int(columns.target[index]))
            self._mark_changed(node, int(self.target[at]), at)
            if {int(kind[index]) & 15, int(self._kind[at]) & 15} & {CONTRADICTS, SUPERSEDES}:
                self._pairs = {}
            self.used[at] = min(max(int(columns.used[index]), 0), LATEST)
            self._made[at], self._kind[at] = made[index], kind[index]
            if node < 0:
                self._affinity[at - self._first] = columns.affinity[index]
            self.weight[at] = weight
        return len(complete)

    def cut(self, ids: NDArray[np.integer]) -> None:
        """Remove conduits by id. Their weight becomes 0, which carries no signal and is never shown."""
        ids = np.asarray(ids, np.int64)
        built = ids[ids <= self._top]
        at = np.isin(self.ids[: self.base], built).nonzero()[0] if len(built) else np.empty(0, np.int64)
        at = np.concatenate(
            (at, np.array([self._at[number] for number in ids.tolist() if number in self._at], np.int64))
        )
        self.weight[at] = 0
        for position, node, target in zip(at.tolist(), self.source(at).tolist(), self.target[at].tolist(), strict=True):
            self._mark_changed(node, target, position)
        self._pairs = {}

    def _stored_arrays(self) -> dict[str, NDArray[Any]]:
        return {
            "ids": self.ids,
            "target": self.target,
            "weight": self.weight,
            "used": self.used,
            "made": self._made,
            "kind": self._kind,
            "affinity": self._affinity,
            "start": self._start,
            "into_start": self._into_start,
            "into": self._into,
            "keys": self._keys,
            "epoch": np.array([self._epoch], np.int64),
        }

    def _out_range(self, nodes: Numbers) -> tuple[Numbers, Numbers]:
        return conduit_ranges.out_ranges(self._start, nodes, self.rows, len(self._keys))

    def _into_range(self, nodes: Numbers) -> tuple[Numbers, Numbers]:
        return conduit_ranges.ranges(self._into_start, nodes, (nodes >= 0) & (nodes < self.rows))

    def _mark_changed(self, node: int, target: int, at: int) -> None:
        """Note that a conduit changed in the sorted lists of its two ends."""
        if node not in self._own_out:
            self._own_out[node] = SortedConduits(np.arange(*conduit_ranges.one_range(self._start, self._place(node))))
        if target not in self._own_into:
            begin, end = conduit_ranges.one_range(self._into_start, target)
            self._own_into[target] = SortedConduits(self._into[begin:end].astype(np.int64))
        self._own_out[node].changed.add(at)
        self._own_into[target].changed.add(at)

    def _out_lists(self, nodes: Numbers) -> dict[int, Numbers]:
        """Sorted lists of the nodes that have changed, by the index of the node."""
        if not self._own_out:
            return {}
        keys = (self._by_weight, self._by_use, self.target.__getitem__, self.ids.__getitem__)
        return sorted_conduits.sorted_lists(nodes, self._own_out, self.weight, keys)

    def _into_lists(self, rows: Numbers) -> dict[int, Numbers]:
        if not self._own_into:
            return {}
        # Grains come before entries, as in a build.
        keys = (self._by_weight, self._by_use, self._by_grain, self._by_entry, self.ids.__getitem__)
        return sorted_conduits.sorted_lists(rows, self._own_into, self.weight, keys)

    def _by_weight(self, at: Numbers) -> NDArray[np.float32]:
        return -self.weight[at]

    def _by_use(self, at: Numbers) -> Numbers:
        return -self.used[at].astype(np.int64)

    def _by_grain(self, at: Numbers) -> Numbers:
        node = self.source(at)
        return np.where(node < 0, self.reach, node)

    def _by_entry(self, at: Numbers) -> NDArray[np.uint64]:
        return self._key_of(self.source(at))

    def _key_of(self, nodes: Numbers) -> NDArray[np.uint64]:
        """Keys of entries, 0 for grains."""
        keys = np.concatenate((self._keys, np.array(self._keys_since, np.uint64)))
        key, entry = np.zeros(len(nodes), np.uint64), nodes < 0
        key[entry] = keys[~nodes[entry]]
        return key

    def _find_or_add_entry(self, key: int) -> int:
        """Node of an entry, added if the graph does not have it."""
        node = int(self.entry_node(np.array([key], np.uint64))[0])
        if node == NOWHERE:
            node = ~self.entries
            self._entry_since[key] = ~node
            self._keys_since.append(key)
        return node

    def _find(self, number: int, node: int) -> int | None:
        """Position of a conduit by its id and source node."""
        at = self._at.get(number)
        if at is not None or number > self._top:
            return at
        begin, end = conduit_ranges.one_range(self._start, self._place(node))
        places = (self.ids[begin:end] == number).nonzero()[0]
        return begin + int(places[0]) if len(places) else None

    def _append(self, number: int, node: int, target: int) -> int:
        if number >= NARROW_IDS and self.ids.dtype == np.uint32:
            self.ids = self.ids.astype(np.int64)
        if self.size == len(self.target):
            room, pad = conduits.room_after(self.size), conduits.padded
            self.ids, self.target, self.weight = pad(self.ids, room), pad(self.target, room), pad(self.weight, room)
            self.used, self._made, self._kind = pad(self.used, room), pad(self._made, room), pad(self._kind, room)
            self._affinity, self._source = pad(self._affinity, room - self._first), pad(self._source, room - self.base)
        at = self.size
        self.ids[at], self.target[at], self._source[at - self.base], self.weight[at] = number, target, node, 0
        self._at[number] = at
        self.size += 1
        self.reach = max(self.reach, node + 1, target + 1)
        return at
