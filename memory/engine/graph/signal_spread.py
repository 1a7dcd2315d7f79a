"""What a spreading signal left behind: who received how much, in which hop, and the way it came."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from memory.engine.graph.conduit_graph import ConduitGraph
from memory.engine.graph.conduits import Numbers, runs

Floats: TypeAlias = NDArray[np.float64]


class SignalStep(NamedTuple):
    """One conduit on the way: ends are nodes (an entry is below 0), signal is what arrived over it."""

    conduit: int
    source: int
    target: int
    signal: float
    effective: float
    hop: int
    relation: int


@dataclass
class Level:
    """One hop: what each node received, and the messages it is the sum of, sorted by receiver.

    A message `sideways` was passed on within the hop, from a grain to the one that superseded it.
    """

    node: Numbers
    signal: Floats
    receiver: Numbers
    sender: Numbers
    position: Numbers
    message: Floats
    effective: NDArray[np.float32]
    sideways: NDArray[np.bool_]

    @classmethod
    def seeded(cls, node: Numbers, signal: Floats) -> Level:
        none = np.zeros(0, np.int64)
        return cls(node, signal, none, none, none, np.zeros(0), np.zeros(0, np.float32), np.zeros(0, np.bool_))

    @classmethod
    def reached(
        cls, receiver: Numbers, sender: Numbers, position: Numbers, message: Floats, effective: NDArray[np.float32]
    ) -> Level:
        order = receiver.argsort()
        receiver, message = receiver[order], message[order]
        begin = _begins(receiver)
        signal = np.add.reduceat(message, begin) if len(begin) else np.zeros(0)
        return cls(
            receiver[begin],
            signal,
            receiver,
            sender[order],
            position[order],
            message,
            effective[order],
            np.zeros(len(order), np.bool_),
        )

    def echo(self, nodes: Numbers, sender: Numbers, receiver: Numbers) -> Floats:
        """What each sender was itself sent in this hop by the one it sends to; all senders are among `nodes`."""
        begin, end = self.receiver.searchsorted(nodes), self.receiver.searchsorted(nodes, side="right")
        at = runs(begin, end - begin)
        known, sent = group_by_node(pair_key(self.receiver[at], self.sender[at]), self.message[at])
        wanted = pair_key(sender, receiver)
        place = np.minimum(known.searchsorted(wanted), len(known) - 1)
        return np.where(known[place] == wanted, sent[place], 0.0)

    def best(self, node: int, without: int | None = None) -> int | None:
        """Place of the strongest message to a node, leaving out one sender's; ties go to the lower sender."""
        begin, end = int(self.receiver.searchsorted(node)), int(self.receiver.searchsorted(node + 1))
        if begin == end:
            return None
        sender = self.sender[begin:end].tolist()
        strength = (-self.message[begin:end]).tolist()
        known = zip(strength, sender, self.position[begin:end].tolist(), range(begin, end), strict=True)
        return min((one for one in known if one[1] != without), default=(0.0, 0, 0, None))[3]


@dataclass
class Spread:
    """Rows that received anything, strongest first (ties: lower row), in the unit of the seeds."""

    graph: ConduitGraph
    unit: float
    levels: list[Level] = field(default_factory=list)
    edges: int = 0  # conduits read
    caps: set[str] = field(default_factory=set)  # which limits cut something off: frontier, hub, edges

    def __post_init__(self) -> None:
        self._totals: tuple[Numbers, Floats, Floats] | None = None

    @property
    def rows(self) -> Numbers:
        return self._summed()[0]

    @property
    def activation(self) -> NDArray[np.float32]:
        """All that reached each row, its own seed included."""
        return (self._summed()[1] * self.unit).astype(np.float32)

    @property
    def received(self) -> NDArray[np.float32]:
        """What reached each row over conduits."""
        return (self._summed()[2] * self.unit).astype(np.float32)

    @property
    def hop(self) -> NDArray[np.int8]:
        """The hop in which each row was first reached; 0 for a seed."""
        node = np.concatenate([np.zeros(0, np.int64), *(level.node for level in self.levels)])
        hop = np.arange(len(self.levels)).repeat([len(level.node) for level in self.levels])
        known, first = np.unique(node, return_index=True)  # levels stand in the order of hops
        return hop[first[known.searchsorted(self.rows)]].astype(np.int8)

    @property
    def hops(self) -> int:
        """The furthest hop."""
        return max(len(self.levels) - 1, 0)

    def path(self, row: int) -> list[SignalStep]:
        """The strongest single way to a row, from where the signal was put in; empty for one no conduit led to."""
        best: tuple[float, int, int] | None = None
        for hop, level in enumerate(self.levels):
            at = level.best(row)
            if at is not None and (best is None or level.message[at] > best[0]):
                best = float(level.message[at]), hop, at
        steps: list[SignalStep] = []
        hop, at = (best[1], best[2]) if best is not None else (0, None)
        passed = set()
        while at is not None:
            level = self.levels[hop]
            position, sender = int(level.position[at]), int(level.sender[at])
            steps.append(
                SignalStep(
                    int(self.graph.ids[position]),
                    sender,
                    int(level.receiver[at]),
                    float(level.message[at]) * self.unit,
                    float(level.effective[at]),
                    hop,
                    int(self.graph.relation(np.array([position]))[0]),
                )
            )
            passed.add((hop, position))
            hop -= not level.sideways[at]
            at = self.levels[hop].best(sender, steps[-1].target)
            if at is not None and (hop, int(self.levels[hop].position[at])) in passed:
                break  # two grains that say they supersede each other
        return steps[::-1]

    def _summed(self) -> tuple[Numbers, Floats, Floats]:
        if self._totals is None:
            none = np.zeros(0, np.int64)
            node = np.concatenate([none, *(level.node for level in self.levels)])
            signal = np.concatenate([np.zeros(0), *(level.signal for level in self.levels)])
            order = node.argsort()
            node = node[order]
            below = node.searchsorted(0)  # entries
            order, node = order[below:], node[below:]
            begin = _begins(node)
            if not len(begin):
                self._totals = none, np.zeros(0), np.zeros(0)
                return self._totals
            total = np.add.reduceat(signal[order], begin)
            got = np.add.reduceat(self._over_conduits()[order], begin)
            best = order_by_signal(total)
            self._totals = node[begin][best], total[best], got[best]
        return self._totals

    def _over_conduits(self) -> Floats:
        parts = [np.zeros(0)]
        for hop, level in enumerate(self.levels):
            got = level.signal
            if hop == 0:
                got = np.zeros(len(level.node))
                if len(level.receiver):
                    came, moved = group_by_node(level.receiver, level.message)
                    got[level.node.searchsorted(came)] = moved
            parts.append(got)
        return np.concatenate(parts)


def group_by_node(nodes: Numbers, signal: Floats) -> tuple[Numbers, Floats]:
    """Each node once, ascending, with the sum of its signals."""
    order = nodes.argsort()
    nodes = nodes[order]
    begin = _begins(nodes)
    return nodes[begin], np.add.reduceat(signal[order], begin) if len(begin) else np.zeros(0)


def order_by_signal(signal: Floats) -> Numbers:
    """Places in falling order of signals, ties in rising order of place."""
    return (-signal).argsort(kind="stable")


def add_signals(level: Level, nodes: Numbers, signal: Floats) -> None:
    """Add signals to a level."""
    level.node, level.signal = group_by_node(
        np.concatenate((level.node, nodes)), np.concatenate((level.signal, signal))
    )


def pair_key(one: Numbers, other: Numbers) -> Numbers:
    """Both nodes in one number: they fit 32 bits each."""
    return one << 32 | (other & 0xFFFFFFFF)


def _begins(ordered: Numbers) -> Numbers:
    if not len(ordered):
        return np.zeros(0, np.int64)
    changes = np.ones(len(ordered), np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=changes[1:])
    return changes.nonzero()[0]
