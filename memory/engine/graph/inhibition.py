"""Inhibition of signals: superseded grains pass theirs on to the newer grain, contradicted ones lose a part."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from memory.engine.graph.conduit_graph import ConduitGraph
from memory.engine.graph.conduits import CONTRADICTS, SUPERSEDES, Numbers, runs
from memory.engine.graph.signal_spread import Level, add_signals, group_by_node, pair_key

_CHAIN = 4  # length of the chain of versions along which a signal is handed on in one hop


class Inhibition:
    """The superseding and contradicting pairs whose inhibiting side is an active grain; read once per query."""

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
            valid = _rows_active(self._new, active) & (self._old != self._new)
            self._old, self._new, self._position = self._old[valid], self._new[valid], self._position[valid]
        self._contradicted = _contradicted_rows(graph, active, authority)

    @property
    def silences(self) -> bool:
        """Whether any pair can make `silent` true."""
        return len(self._old) > 0

    def silent(self, sender: Numbers, receiver: Numbers) -> NDArray[np.bool_]:
        """Mask of messages from a grain to the one it superseded; they would only return the old grain's own signal."""
        return np.isin(pair_key(receiver, sender), pair_key(self._old, self._new))

    def apply(self, level: Level) -> None:
        """Hand signals of superseded grains to the newer ones in equal parts; damp the contradicted side."""
        if len(self._old):
            self._hand_on_superseded(level)
        if len(self._contradicted):
            self._damp_contradicted(level)

    def _hand_on_superseded(self, level: Level) -> None:
        """Move the share a superseded grain does not keep to its successors, version by version."""
        nodes, signal = level.node, level.signal
        for _ in range(_CHAIN):
            begin, end = self._old.searchsorted(nodes), self._old.searchsorted(nodes, side="right")
            superseded = (end > begin).nonzero()[0]
            if not len(superseded):
                return
            count = (end - begin)[superseded]
            part = np.floor(signal[superseded] * (1 - self._keeps) / count)
            which = np.arange(len(superseded)).repeat(count)
            pairs = runs(begin[superseded], count)
            self._record_transfer(level, nodes[superseded], part * count, pairs, part[which])
            nodes, signal = group_by_node(self._new[pairs], part[which])

    def _record_transfer(
        self, level: Level, giver: Numbers, gave: NDArray[np.float64], pairs: Numbers, part: NDArray[np.float64]
    ) -> None:
        """Add the moved signals to the level as messages `sideways`, and reduce the messages of the givers."""
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

    def _damp_contradicted(self, level: Level) -> None:
        damped = np.isin(level.node, self._contradicted)
        level.signal = np.where(damped, np.floor(level.signal * self._contradicted_keeps), level.signal)
        damped = np.isin(level.receiver, self._contradicted)
        level.message = np.where(damped, level.message * self._contradicted_keeps, level.message)


def _rows_active(rows: Numbers, active: NDArray[np.bool_] | None) -> NDArray[np.bool_]:
    """Mask of active rows; rows beyond the mask are not active."""
    if active is None:
        return np.ones(len(rows), np.bool_)
    is_active = rows < len(active)
    is_active[is_active] = active[rows[is_active]]
    return is_active


def _contradicted_rows(
    graph: ConduitGraph, active: NDArray[np.bool_] | None, authority: NDArray[np.integer] | None
) -> Numbers:
    """Rows that an active grain of higher authority contradicts; between equal authorities neither."""
    if authority is None:
        return np.zeros(0, np.int64)
    first, second, _ = graph.pairs(CONTRADICTS)
    if not len(first):
        return first
    row, opponent = np.concatenate((first, second)), np.concatenate((second, first))
    known = (row < len(authority)) & (opponent < len(authority))
    row, opponent = row[known], opponent[known]
    return np.unique(row[_rows_active(opponent, active) & (authority[opponent] < authority[row])])
