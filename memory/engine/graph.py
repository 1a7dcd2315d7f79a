"""The conduits of one space as arrays: who is linked to whom, how strongly, since when.

A node is one number: a grain is its row (0 and up), an entry is ~n (below 0). Conduits stand in the order of
their source, strongest first, so that the best links of a hub are the beginning of its list; a second list
per grain says which conduits lead to it. Conduits that came after the build stand behind the others and are
found through a dictionary; `merged` sorts them in. About 24 bytes a conduit.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from memory.engine import conduits
from memory.engine.conduits import CONTRADICTS, LATEST, NARROW_IDS, SUPERSEDES, Flat, Numbers

_FEW = 16  # nodes that are looked at one by one
HUB = 32  # conduits of a node that a reader sees, strongest first
NOWHERE = np.iinfo(np.int64).min  # no such entry


class Links(NamedTuple):
    """Conduits of several nodes in one run: `position` in the graph's arrays, `which` of the nodes asked for."""

    which: Numbers
    position: Numbers


class Around(NamedTuple):
    """Conduits of several nodes in both directions: the first `out` begin at them, the others lead to them."""

    which: Numbers
    position: Numbers
    out: int
    degree: Numbers  # of each node, however many are read
    cut: bool  # whether a node has more than were read


class Graph:
    """Readers may go on while one writer puts and cuts; two writers must take turns."""

    def __init__(self, arrays: dict[str, NDArray[Any]]) -> None:
        self.ids: NDArray[np.integer] = arrays["ids"]
        self.target: NDArray[np.int32] = arrays["target"]
        self.weight: NDArray[np.float32] = arrays["weight"]
        self.used: NDArray[np.uint32] = arrays["used"]
        self._made: NDArray[np.uint16] = arrays["made"]
        self._kind: NDArray[np.uint8] = arrays["kind"]
        self._affinity: NDArray[np.float16] = arrays["affinity"]  # from the first conduit of an entry on
        self._start: NDArray[np.int32] = arrays["start"]
        self._into_start: NDArray[np.int32] = arrays["into_start"]
        self._into: NDArray[np.int32] = arrays["into"]
        self._keys: NDArray[np.uint64] = arrays["keys"]
        self._epoch = int(arrays["epoch"][0])
        self.rows = len(self._into_start) - 1
        self.base = self.size = len(self._into)
        self.reach = self.rows  # one more than the highest row that a conduit touches
        self._first = int(self._start[self.rows])
        self._top = int(self.ids[: self.base].max(initial=0))
        # What came since.
        self._source = np.zeros(len(self.target) - self.base, np.int32)
        self._at: dict[int, int] = {}
        self._out_since: dict[int, list[int]] = {}
        self._into_since: dict[int, list[int]] = {}
        self._entry_since: dict[int, int] = {}
        self._pairs: dict[int, tuple[Numbers, Numbers, Numbers]] = {}

    @classmethod
    def empty(cls) -> Graph:
        return cls(conduits.sort(conduits.none(), 0))

    @classmethod
    def build(
        cls, records: NDArray[np.void], from_row: NDArray[np.integer], to_row: NDArray[np.integer], *, rows: int,
        capacity: int = 0,
    ) -> Graph:  # fmt: skip
        """All conduits of a space in one go: CONDUIT records with the rows of their grains (-1: an entry, or none)."""
        return cls(conduits.sort(conduits.flat(records, from_row, to_row), rows, capacity))

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray[Any]]) -> Graph:
        """Takes the arrays as they are: mapped copy-on-write they stay shared until written."""
        return cls(arrays)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Everything, merged, with room to append to a mapped file."""
        return self.merged().arrays() if self.since else self._held()

    def merged(self, *, rows: int = 0, capacity: int = 0) -> Graph:
        """The same graph with everything that came since sorted in."""
        return Graph(conduits.sort(self.flat(), max(rows, self.reach), capacity))

    @property
    def since(self) -> int:
        """How many came after the build."""
        return self.size - self.base

    @property
    def entries(self) -> int:
        return len(self._keys) + len(self._entry_since)

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in self._held().values()) + self._source.nbytes + 250 * len(self._at)

    def entry_node(self, keys: NDArray[np.uint64]) -> Numbers:
        """The node of each entry, by its key; NOWHERE for one the space does not have."""
        found = np.full(len(keys), NOWHERE, np.int64)
        if not len(keys):
            return found
        keys = np.asarray(keys, np.uint64)
        at = self._keys.searchsorted(keys)
        within = (at < len(self._keys)).nonzero()[0]
        within = within[self._keys[at[within]] == keys[within]]
        found[within] = ~at[within]
        if self._entry_since:
            for place in (found == NOWHERE).nonzero()[0].tolist():
                number = self._entry_since.get(int(keys[place]))
                found[place] = NOWHERE if number is None else ~number
        return found

    def entry_key(self, node: int) -> int:
        """The key an entry's node stands for."""
        number = ~node
        if number < len(self._keys):
            return int(self._keys[number])
        return next(key for key, since in self._entry_since.items() if since == number)

    def out(self, nodes: Numbers, limit: int = HUB) -> Links:
        """The strongest conduits that begin at each node, at most `limit` of each."""
        return self._living(self._links(nodes, *self._out_range(nodes), None, self._out_since, limit))

    def into(self, rows: Numbers, limit: int = HUB) -> Links:
        """The strongest conduits that lead to each grain, at most `limit` of each."""
        return self._living(self._links(rows, *self._into_range(rows), self._into, self._into_since, limit))

    def around(self, nodes: Numbers, limit: int = HUB) -> Around:
        """`out` and `into` in one go, with conduits that were cut (weight 0) still among them."""
        if len(nodes) <= _FEW and not self._at:
            return self._around_few(nodes.tolist(), limit)
        begin, count = self._out_range(nodes)
        into_begin, into_count = self._into_range(nodes)
        degree = count + into_count
        if self._at:
            out = self._links(nodes, begin, count, None, self._out_since, limit)
            into = self._links(nodes, into_begin, into_count, self._into, self._into_since, limit)
            degree += np.array([self._since(node) for node in nodes.tolist()], np.int64)
            which, position = np.concatenate((out.which, into.which)), np.concatenate((out.position, into.position))
            first = len(out.which)
        else:
            read = np.minimum(np.concatenate((count, into_count)), limit)
            first = int(read[: len(nodes)].sum())
            which = np.tile(np.arange(len(nodes)), 2).repeat(read)
            position = conduits.runs(np.concatenate((begin, into_begin)), read)
            position[first:] = self._into[position[first:]]
        return Around(which, position, first, degree, int(degree.sum()) > len(which))

    def _around_few(self, nodes: list[int], limit: int) -> Around:
        """The same for a handful of nodes: numbers one by one are faster there than arrays of them."""
        out = [_one_range(self._start, self._place(node)) for node in nodes]
        into = [_one_range(self._into_start, node) for node in nodes]
        parts: list[NDArray[Any]] = [np.arange(begin, min(end, begin + limit)) for begin, end in out]
        parts += [self._into[begin : min(end, begin + limit)] for begin, end in into]
        read = [len(part) for part in parts]
        degree = [end - begin + last - first for (begin, end), (first, last) in zip(out, into, strict=True)]
        which = np.array([*range(len(nodes))] * 2, np.int64).repeat(read)
        position = np.concatenate(parts, dtype=np.int64) if parts else np.empty(0, np.int64)
        return Around(
            which, position, sum(read[: len(nodes)]), np.array(degree, np.int64), sum(degree) > len(which)
        )  # fmt: skip

    def _place(self, node: int) -> int:
        """Where the conduits of a node begin in `_start`; below 0 for a grain that came since."""
        return self.rows + ~node if node < 0 else node if node < self.rows else -1

    def degree(self, nodes: Numbers) -> Numbers:
        """How many conduits touch each node, in either direction."""
        since = np.array([self._since(node) for node in nodes.tolist()], np.int64)
        return self._out_range(nodes)[1] + self._into_range(nodes)[1] + since

    def source(self, position: Numbers) -> Numbers:
        """The node each conduit begins at."""
        # In order and of the array's own type: a search from one to the next, and no copy of the array.
        wanted = np.minimum(position, self.base - 1).astype(np.int32)
        order = wanted.argsort()
        node = np.empty(len(position), np.int64)
        node[order] = self._start.searchsorted(wanted[order], side="right") - 1
        node = np.where(node >= self.rows, self.rows + ~node, node)
        if self.since:
            since = position >= self.base
            node[since] = self._source[position[since] - self.base]
        return node

    def relation(self, position: Numbers) -> NDArray[np.uint8]:
        return self._kind[position] & np.uint8(15)

    def decay_class(self, position: Numbers) -> NDArray[np.uint8]:
        return self._kind[position] >> np.uint8(4)

    def made(self, position: Numbers) -> Numbers:
        """When each was made, to the hour."""
        return (self._epoch + self._made[position].astype(np.int64)) * conduits.HOUR

    def affinity(self, position: Numbers) -> NDArray[np.float32]:
        """How well an entry's word fits its grain; ask only about conduits that begin at an entry."""
        return self._affinity[position - self._first].astype(np.float32)

    def pairs(self, relation: int) -> tuple[Numbers, Numbers, Numbers]:
        """Every conduit of one rare relation between grains: targets in ascending order, sources, positions."""
        held = self._pairs.get(relation)
        if held is None:
            at = (((self._kind[: self.size] & 15) == relation) & (self.weight[: self.size] > 0)).nonzero()[0]
            source, target = self.source(at), self.target[at].astype(np.int64)
            order = np.lexsort((source, target))
            order = order[source[order] >= 0]
            held = self._pairs[relation] = target[order], source[order], at[order]
        return held

    def flat(self) -> Flat:
        """Every living conduit."""
        at = (self.weight[: self.size] > 0).nonzero()[0]
        node = self.source(at)
        entry = node < 0
        keys = np.concatenate((self._keys, np.fromiter(self._entry_since, np.uint64, len(self._entry_since))))
        key, affinity = np.zeros(len(at), np.uint64), np.ones(len(at), np.float32)
        key[entry], affinity[entry] = keys[~node[entry]], self.affinity(at[entry])
        return Flat(
            self.ids[at].astype(np.int64), key, np.maximum(node, -1), self.target[at].astype(np.int64),
            self.weight[at], affinity, self.made(at), self.used[at].astype(np.int64), self.relation(at),
            self.decay_class(at),
        )  # fmt: skip

    def put(self, records: NDArray[np.void], from_row: NDArray[np.integer], to_row: NDArray[np.integer]) -> int:
        """Add conduits or bring them up to date; the same again changes nothing. Returns how many found their ends."""
        flat = conduits.flat(records, from_row, to_row)
        if not self.size:
            self._epoch = conduits.epoch_of(flat.made)
        made, kind = conduits.hours_after(self._epoch, flat.made), flat.kind
        whole = flat.whole.nonzero()[0].tolist()
        for place in whole:
            number, source, weight = int(flat.id[place]), int(flat.source[place]), max(float(flat.weight[place]), 0.0)
            node = source if source >= 0 else self._entry(int(flat.key[place]))
            at = self._find(number, node, weight)
            if at is None:
                if weight == 0:
                    continue
                at = self._append(number, node, int(flat.target[place]))
            if {int(kind[place]) & 15, int(self._kind[at]) & 15} & {CONTRADICTS, SUPERSEDES}:
                self._pairs = {}
            self.used[at] = min(max(int(flat.used[place]), 0), LATEST)
            self._made[at], self._kind[at] = made[place], kind[place]
            if node < 0:
                self._affinity[at - self._first] = flat.affinity[place]
            self.weight[at] = weight
        return len(whole)

    def cut(self, ids: NDArray[np.integer]) -> None:
        """These conduits are no more: a weight of 0 carries nothing and nobody is shown it."""
        ids = np.asarray(ids, np.int64)
        old = ids[ids <= self._top]
        if len(old):
            self.weight[: self.base][np.isin(self.ids[: self.base], old)] = 0
        for number in ids.tolist():
            if number in self._at:
                self.weight[self._at[number]] = 0
        self._pairs = {}

    def _held(self) -> dict[str, NDArray[Any]]:
        return {
            "ids": self.ids, "target": self.target, "weight": self.weight, "used": self.used, "made": self._made,
            "kind": self._kind, "affinity": self._affinity, "start": self._start, "into_start": self._into_start,
            "into": self._into, "keys": self._keys, "epoch": np.array([self._epoch], np.int64),
        }  # fmt: skip

    def _out_range(self, nodes: Numbers) -> tuple[Numbers, Numbers]:
        index = nodes
        if int(nodes.min(initial=0)) < 0:
            index = np.where(nodes >= 0, nodes, self.rows + ~nodes)
            known = np.where(nodes >= 0, nodes < self.rows, ~nodes < len(self._keys))
        else:
            known = nodes < self.rows
        return _range(self._start, index, known)

    def _into_range(self, nodes: Numbers) -> tuple[Numbers, Numbers]:
        return _range(self._into_start, nodes, (nodes >= 0) & (nodes < self.rows))

    def _since(self, node: int) -> int:
        return len(self._out_since.get(node, ())) + len(self._into_since.get(node, ()))

    def _living(self, links: Links) -> Links:
        living = self.weight[links.position] > 0
        return links if living.all() else Links(links.which[living], links.position[living])

    def _links(
        self, nodes: Numbers, begin: Numbers, count: Numbers, through: NDArray[np.int32] | None,
        since: dict[int, list[int]], limit: int,
    ) -> Links:  # fmt: skip
        count = np.minimum(count, limit)
        which = np.arange(len(nodes)).repeat(count)
        position = conduits.runs(begin, count)
        if through is not None:
            position = through[position].astype(np.int64)
        found = (
            [(place, at) for place, node in enumerate(nodes.tolist()) for at in since.get(node, ())] if since else []
        )
        if found:
            more = np.array(found, np.int64)
            which, position = self._strongest(
                np.concatenate((which, more[:, 0])), np.concatenate((position, more[:, 1])), limit
            )
        return Links(which, position)

    def _strongest(self, which: Numbers, position: Numbers, limit: int) -> tuple[Numbers, Numbers]:
        used = self.used[position].astype(np.int64)
        order = np.lexsort((self.ids[position], self.target[position], -used, -self.weight[position], which))
        which, position = which[order], position[order]
        rank = np.arange(len(which)) - which.searchsorted(which)
        return which[rank < limit], position[rank < limit]

    def _entry(self, key: int) -> int:
        node = int(self.entry_node(np.array([key], np.uint64))[0])
        if node == NOWHERE:
            node = ~self.entries
            self._entry_since[key] = ~node
        return node

    def _find(self, number: int, node: int, weight: float) -> int | None:
        """Where a conduit stands. One that a reader of a hub does not see moves to the end when it grows."""
        at = self._at.get(number)
        if at is not None or number > self._top:
            return at
        begin, count = (int(found[0]) for found in self._out_range(np.array([node], np.int64)))
        places = (self.ids[begin : begin + count] == number).nonzero()[0]
        if not len(places):
            return None
        at = begin + int(places[0])
        if weight > self.weight[at] and (at - begin >= HUB or self._late(at)):
            self.weight[at] = 0
            return None
        return at

    def _late(self, at: int) -> bool:
        """Whether a conduit stands behind the first HUB that lead to its grain."""
        begin, count = (int(found[0]) for found in self._into_range(self.target[at : at + 1].astype(np.int64)))
        return count > HUB and at not in self._into[begin : begin + HUB]

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
        self._out_since.setdefault(node, []).append(at)
        self._into_since.setdefault(target, []).append(at)
        return at


def _one_range(start: NDArray[np.int32], at: int) -> tuple[int, int]:
    return (int(start[at]), int(start[at + 1])) if 0 <= at < len(start) - 1 else (0, 0)


def _range(start: NDArray[np.int32], index: Numbers, known: NDArray[np.bool_]) -> tuple[Numbers, Numbers]:
    if len(start) == 1:  # no node at all
        return np.zeros(len(index), np.int64), np.zeros(len(index), np.int64)
    if known.all():
        begin = start[index].astype(np.int64)
        return begin, start[index + 1] - begin
    index = np.where(known, index, 0)
    begin = start[index].astype(np.int64)
    return begin, np.where(known, start[index + 1] - begin, 0)
