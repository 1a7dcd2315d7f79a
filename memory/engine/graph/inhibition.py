"""What holds a signal back: a newer grain that takes an older one's place, a contradiction by higher authority."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from memory.engine.graph.conduit_graph import ConduitGraph
from memory.engine.graph.conduits import CONTRADICTS, SUPERSEDES, Numbers, runs
from memory.engine.graph.signal_spread import Level, add_signals, group_by_node, pair_key

_CHAIN = 4  # versions a signal is handed on in one hop


class Inhibition:
    """Read once for a query: the pairs whose inhibiting side is an active grain."""

    def __init__(
        self,
        graph: ConduitGraph,
        active: NDArray[np.bool_] | None,
        authority: NDArray[np.integer] | None,
        superseded_keeps: float,
        contradicted_keeps: float,
    ) -> None:
        self._keeps, self._contradicted_keeps = superseded_keeps, contradicted_keeps
        self._old, self._new, self._position = graph.pairs(SUPERSEDES)
        if len(self._old):
            stands = _active(self._new, active) & (self._old != self._new)
            self._old, self._new, self._position = self._old[stands], self._new[stands], self._position[stands]
        self._weaker = _weaker(graph, active, authority)

    @property
    def silences(self) -> bool:
        return len(self._old) > 0

    def silent(self, sender: Numbers, receiver: Numbers) -> NDArray[np.bool_]:
        """Which messages go from a grain to one it superseded: it would only get its own signal back."""
        return np.isin(pair_key(receiver, sender), pair_key(self._old, self._new))

    def apply(self, level: Level) -> None:
        """A superseded grain keeps a share, newer ones get the rest in equal parts; the weaker side is damped."""
        if len(self._old):
            self._hand_on(level)
        if len(self._weaker):
            self._damp(level)

    def _hand_on(self, level: Level) -> None:
        nodes, signal = level.node, level.signal
        for _ in range(_CHAIN):
            begin, end = self._old.searchsorted(nodes), self._old.searchsorted(nodes, side="right")
            given = (end > begin).nonzero()[0]
            if not len(given):
                return
            count = (end - begin)[given]
            part = np.floor(signal[given] * (1 - self._keeps) / count)
            which = np.arange(len(given)).repeat(count)
            pairs = runs(begin[given], count)
            self._record(level, nodes[given], part * count, pairs, part[which])
            nodes, signal = group_by_node(self._new[pairs], part[which])

    def _record(
        self, level: Level, giver: Numbers, gave: NDArray[np.float64], pairs: Numbers, part: NDArray[np.float64]
    ) -> None:
        kept = np.ones(len(level.receiver))
        at = np.minimum(giver.searchsorted(level.receiver), len(giver) - 1)
        gives = giver[at] == level.receiver
        total = level.signal[level.node.searchsorted(level.receiver[gives])]
        kept[gives] = 1 - gave[at[gives]] / np.maximum(total, 1)
        level.message = level.message * kept
        add_signals(level, np.concatenate((giver, self._new[pairs])), np.concatenate((-gave, part)))
        receiver = np.concatenate((level.receiver, self._new[pairs]))
        order = receiver.argsort(kind="stable")
        level.receiver = receiver[order]
        level.sender = np.concatenate((level.sender, self._old[pairs]))[order]
        level.position = np.concatenate((level.position, self._position[pairs]))[order]
        level.message = np.concatenate((level.message, part))[order]
        share = np.full(len(pairs), 1 - self._keeps, np.float32)
        level.effective = np.concatenate((level.effective, share))[order]
        level.sideways = np.concatenate((level.sideways, np.ones(len(pairs), np.bool_)))[order]

    def _damp(self, level: Level) -> None:
        hit = np.isin(level.node, self._weaker)
        level.signal = np.where(hit, np.floor(level.signal * self._contradicted_keeps), level.signal)
        hit = np.isin(level.receiver, self._weaker)
        level.message = np.where(hit, level.message * self._contradicted_keeps, level.message)


def _active(rows: Numbers, active: NDArray[np.bool_] | None) -> NDArray[np.bool_]:
    if active is None:
        return np.ones(len(rows), np.bool_)
    within = rows < len(active)
    within[within] = active[rows[within]]
    return within


def _weaker(graph: ConduitGraph, active: NDArray[np.bool_] | None, authority: NDArray[np.integer] | None) -> Numbers:
    """Rows that an active grain of higher authority contradicts; of two equals neither."""
    if authority is None:
        return np.zeros(0, np.int64)
    one, other, _ = graph.pairs(CONTRADICTS)
    if not len(one):
        return one
    here, there = np.concatenate((one, other)), np.concatenate((other, one))
    known = (here < len(authority)) & (there < len(authority))
    here, there = here[known], there[known]
    return np.unique(here[_active(there, active) & (authority[there] < authority[here])])
