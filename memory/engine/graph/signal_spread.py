"""Result of signal propagation: how much each row received, in which hop, and over which path."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from memory.engine.graph.conduit_graph import ConduitGraph
from memory.engine.graph.conduits import Numbers, runs

Floats: TypeAlias = NDArray[np.float64]


class SignalStep(NamedTuple):
    """One conduit of a path: `source` and `target` are nodes (entries are below 0), `signal` is what it delivered."""

    conduit: int
    source: int
    target: int
    signal: float
    effective: float
    hop: int
    relation: int


@dataclass
class Level:
    """Result of one hop: the signal of each node, and the messages it is the sum of, sorted by receiver.

    A message is `sideways` if it was passed on within the hop, from a grain to the one that superseded it.
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
        """Hop 0, the seeds: signals without messages."""
        none = np.zeros(0, np.int64)
        return cls(node, signal, none, none, none, np.zeros(0), np.zeros(0, np.float32), np.zeros(0, np.bool_))

    @classmethod
    def reached(
        cls, receiver: Numbers, sender: Numbers, position: Numbers, message: Floats, effective: NDArray[np.float32]
    ) -> Level:
        """Level from its messages; signals of one receiver are added up."""
        order = receiver.argsort()
        receiver, message = receiver[order], message[order]
        begin = _run_starts(receiver)
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
        """For each message, what its receiver sent to its sender in this hop; all senders are among `nodes`."""
        begin, end = self.receiver.searchsorted(nodes), self.receiver.searchsorted(nodes, side="right")
        at = runs(begin, end - begin)
        known, sent = group_by_node(pair_key(self.receiver[at], self.sender[at]), self.message[at])
        wanted = pair_key(sender, receiver)
        place = np.minimum(known.searchsorted(wanted), len(known) - 1)
        return np.where(known[place] == wanted, sent[place], 0.0)

    def best(self, node: int, without: int | None = None) -> int | None:
        """Index of the strongest message to a node from any sender but `without`; ties go to the lower sender."""
        begin, end = int(self.receiver.searchsorted(node)), int(self.receiver.searchsorted(node + 1))
        if begin == end:
            return None
        sender = self.sender[begin:end].tolist()
        strength = (-self.message[begin:end]).tolist()
        messages = zip(strength, sender, self.position[begin:end].tolist(), range(begin, end), strict=True)
        return min((message for message in messages if message[1] != without), default=(0.0, 0, 0, None))[3]


@dataclass
class Spread:
    """Rows that received a signal, strongest first (ties: lower row), in the unit of the seeds."""

    graph: ConduitGraph
    unit: float
    levels: list[Level] = field(default_factory=list)
    edges: int = 0  # conduits read
    caps: set[str] = field(default_factory=set)  # which limits cut something off: frontier, hub, edges

    def __post_init__(self) -> None:
        self._totals: tuple[Numbers, Floats, Floats] | None = None

    @property
    def rows(self) -> Numbers:
        return self._sum_levels()[0]

    @property
    def activation(self) -> NDArray[np.float32]:
        """Total signal of each row, its own seed included."""
        return (self._sum_levels()[1] * self.unit).astype(np.float32)

    @property
    def received(self) -> NDArray[np.float32]:
        """Signal that each row received over conduits."""
        return (self._sum_levels()[2] * self.unit).astype(np.float32)

    @property
    def hop(self) -> NDArray[np.int8]:
        """The hop in which each row was first reached; 0 for a seed."""
        node = np.concatenate([np.zeros(0, np.int64), *(level.node for level in self.levels)])
        hop = np.arange(len(self.levels)).repeat([len(level.node) for level in self.levels])
        known, first = np.unique(node, return_index=True)  # levels are in the order of hops
        return hop[first[known.searchsorted(self.rows)]].astype(np.int8)

    @property
    def hops(self) -> int:
        """The furthest hop."""
        return max(len(self.levels) - 1, 0)

    def path(self, row: int) -> list[SignalStep]:
        """Strongest path from a seed to a row; empty for a row that no conduit led to."""
        best: tuple[float, int, int] | None = None
        for hop, level in enumerate(self.levels):
            at = level.best(row)
            if at is not None and (best is None or level.message[at] > best[0]):
                best = float(level.message[at]), hop, at
        steps: list[SignalStep] = []
        hop, at = (best[1], best[2]) if best is not None else (0, None)
        visited = set()
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
            visited.add((hop, position))
            hop -= not level.sideways[at]
            at = self.levels[hop].best(sender, steps[-1].target)
            if at is not None and (hop, int(self.levels[hop].position[at])) in visited:
                break  # two grains supersede each other
        return steps[::-1]

    def _sum_levels(self) -> tuple[Numbers, Floats, Floats]:
        """Rows with their total signal and the part received over conduits, strongest first."""
        if self._totals is None:
            none = np.zeros(0, np.int64)
            node = np.concatenate([none, *(level.node for level in self.levels)])
            signal = np.concatenate([np.zeros(0), *(level.signal for level in self.levels)])
            order = node.argsort()
            node = node[order]
            below = node.searchsorted(0)  # entries
            order, node = order[below:], node[below:]
            begin = _run_starts(node)
            if not len(begin):
                self._totals = none, np.zeros(0), np.zeros(0)
                return self._totals
            total = np.add.reduceat(signal[order], begin)
            received = np.add.reduceat(self._received_over_conduits()[order], begin)
            best = order_by_signal(total)
            self._totals = node[begin][best], total[best], received[best]
        return self._totals

    def _received_over_conduits(self) -> Floats:
        parts = [np.zeros(0)]
        for hop, level in enumerate(self.levels):
            received = level.signal
            if hop == 0:
                received = np.zeros(len(level.node))
                if len(level.receiver):
                    receivers, sums = group_by_node(level.receiver, level.message)
                    received[level.node.searchsorted(receivers)] = sums
            parts.append(received)
        return np.concatenate(parts)


def group_by_node(nodes: Numbers, signal: Floats) -> tuple[Numbers, Floats]:
    """Unique nodes in ascending order, each with the sum of its signals."""
    order = nodes.argsort()
    nodes = nodes[order]
    begin = _run_starts(nodes)
    return nodes[begin], np.add.reduceat(signal[order], begin) if len(begin) else np.zeros(0)


def order_by_signal(signal: Floats) -> Numbers:
    """Indices by descending signal; ties by ascending index."""
    return (-signal).argsort(kind="stable")


def add_signals(level: Level, nodes: Numbers, signal: Floats) -> None:
    """Add signals to the nodes of a level."""
    level.node, level.signal = group_by_node(
        np.concatenate((level.node, nodes)), np.concatenate((level.signal, signal))
    )


def pair_key(high: Numbers, low: Numbers) -> Numbers:
    """Two nodes packed into one integer: each fits into 32 bits."""
    return high << 32 | (low & 0xFFFFFFFF)


def _run_starts(ordered: Numbers) -> Numbers:
    """Index of the first of each run of equal numbers."""
    if not len(ordered):
        return np.zeros(0, np.int64)
    changes = np.ones(len(ordered), np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=changes[1:])
    return changes.nonzero()[0]
