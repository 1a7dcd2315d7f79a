"""Signal propagation over conduits, hop by hop, from the rows a query matched.

A node that fires sends along each of its conduits that is read

    signal · effective weight · attenuation · gain of the relation · affinity (from an entry) · min(1, h ÷ degree)^p

with h = `hub_degree` and p = `hub_power`, minus what the node at the other end sent to it in the hop before (an echo).
Signals that arrive add up. A node fires once, in the first hop in which it receives `threshold` times the strongest
seed. The threshold is a share because scores of words, vectors and entries have no common unit: seeds twice as strong
give exactly twice the activation. Sums are of integers (2^-30 of the strongest signal), so that the order of rows and
the ids of conduits decide nothing but ties.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from memory.engine.graph import decay
from memory.engine.graph.conduit_graph import NOWHERE, ConduitGraph
from memory.engine.graph.conduits import CAUSED_BY, NEXT, RELATED, SUPPORTS, Numbers
from memory.engine.graph.inhibition import Inhibition
from memory.engine.graph.signal_spread import Level, Spread, group_by_node, order_by_signal

Floats: TypeAlias = NDArray[np.float64]
_UNITS = 2.0**30  # integer units of the strongest signal
_FAINTEST = 1e-30  # signals up to here are ignored


@dataclass(frozen=True)
class Gains:
    """Share of a signal that a conduit passes on, 0..1, by relation; contradicts and supersedes pass nothing."""

    # Both are about the same thing: equal in both directions.
    related: float = 1.0
    related_back: float = 1.0
    # One supports the other: equal in both directions.
    supports: float = 1.0
    supports_back: float = 1.0
    # The next message often answers; the message before answers less often.
    next: float = 0.8
    next_back: float = 0.5
    # From an effect to its cause, and from a cause to its effect.
    caused_by: float = 0.9
    caused_by_back: float = 0.7
    # From a grain to an entry (name, number or date) in it, and so to other grains with the same entry.
    to_entry: float = 0.5

    @functools.cached_property
    def tables(self) -> tuple[Floats, Floats]:
        """Gains along a conduit and against it, by its kind byte, whose lower four bits are the relation."""
        along, against = np.zeros(16), np.zeros(16)
        for relation, name in ((RELATED, "related"), (SUPPORTS, "supports"), (NEXT, "next"), (CAUSED_BY, "caused_by")):
            along[relation], against[relation] = getattr(self, name), getattr(self, f"{name}_back")
        return np.tile(along, 16), np.tile(against, 16)


@dataclass(frozen=True)
class Propagation:
    """Limits and factors of signal propagation."""

    # 0..1. Factor of a signal per conduit, besides the conduit's weight.
    attenuation: float = 0.85
    # 0..1. Share of the strongest seed that a node must receive in one hop to fire.
    threshold: float = 0.15
    # 0..8. Longest path in conduits.
    hops: int = 5
    # 1..4,096. Nodes that fire in one hop, strongest first.
    frontier: int = 256
    # 1..1,024. Conduits of one node that are read in each direction, strongest first.
    hub: int = 32
    # 1..1,024. Number of conduits above which a node counts as a hub and sends less along each.
    hub_degree: float = 16.0
    # 0..1. Exponent of the hub factor: 0 for no reduction, 1 to divide the whole signal among the conduits.
    hub_power: float = 0.5
    # 1..1,000,000. Conduits that are read for one query, those of stronger nodes first.
    edges: int = 10_000
    # 0..1. Share of its signal that a superseded grain keeps; the active grain that superseded it gets the rest.
    superseded_keeps: float = 0.25
    # 0..1. Share of its signal that a grain keeps if an active one of higher authority contradicts it.
    contradicted_keeps: float = 0.5
    gains: Gains = field(default_factory=Gains)


class Signals(NamedTuple):
    """Seeds of a propagation: rows of grains or keys of entries, and the signal of each."""

    at: NDArray[np.integer]
    signal: NDArray[np.floating]


NOTHING = Signals(np.zeros(0, np.int64), np.zeros(0, np.float64))


def spread_signal(
    graph: ConduitGraph,
    *,
    seeds: Signals = NOTHING,
    entries: Signals = NOTHING,
    now: int,
    fading: decay.DecaySettings = decay.DecaySettings(),  # noqa: B008 - frozen
    settings: Propagation = Propagation(),  # noqa: B008 - frozen
    active: NDArray[np.bool_] | None = None,
    authority: NDArray[np.integer] | None = None,
) -> Spread:
    """Propagate signals from `seeds` (rows) and `entries` (keys).

    `active` and `authority` (0 is the highest) are by row; only active grains receive signals.
    """
    nodes, signal = np.asarray(seeds.at, np.int64), np.asarray(seeds.signal, np.float64)
    if len(entries.at):
        nodes = np.concatenate((nodes, graph.entry_node(entries.at.astype(np.uint64))))
        signal = np.concatenate((signal, entries.signal))
    usable = (signal > _FAINTEST) & (signal < np.inf) & _may_receive(nodes, active)
    if len(entries.at):
        usable &= nodes != NOWHERE
    nodes, signal = nodes[usable], signal[usable]
    spread = Spread(graph, unit=float(np.maximum.reduce(signal, initial=0.0)) / _UNITS)
    if not len(nodes):
        return spread
    inhibition = Inhibition(graph, active, authority, settings.superseded_keeps, settings.contradicted_keeps)
    level = Level.seeded(*group_by_node(nodes, np.rint(signal / spread.unit)))
    inhibition.apply(level)
    spread.levels.append(level)
    fired: NDArray[np.bool_] | None = None  # by node: entries are below 0, so they index from the end
    for hops_left in range(settings.hops, 0, -1):
        front = _firing_nodes(level, fired, spread, settings)
        if not len(front):
            break
        previous, level = (
            level,
            _send_signals(graph, level, front, fired, spread, now, fading, settings, active, inhibition),
        )
        if not len(level.node):
            break
        inhibition.apply(level)
        spread.levels.append(level)
        if hops_left > 1:
            if fired is None:
                fired = np.zeros(_node_count(graph, nodes), np.bool_)
            fired[previous.node[front]] = True
    return spread


def _node_count(graph: ConduitGraph, nodes: Numbers) -> int:
    """Length of an array with a place for every row and every entry."""
    return max(graph.reach, int(nodes.max(initial=0)) + 1) + graph.entries


def _may_receive(nodes: Numbers, active: NDArray[np.bool_] | None) -> NDArray[np.bool_]:
    """Mask of nodes that may receive: all entries, and active grains."""
    if active is None:
        return np.ones(len(nodes), np.bool_)
    if not len(active):
        return nodes < 0
    receives: NDArray[np.bool_] = active.take(nodes, mode="clip")
    if len(nodes) and np.maximum.reduce(nodes) >= len(active):
        receives &= nodes < len(active)
    if len(nodes) and np.minimum.reduce(nodes) < 0:
        receives |= nodes < 0
    return receives


def _firing_nodes(level: Level, fired: NDArray[np.bool_] | None, spread: Spread, settings: Propagation) -> Numbers:
    """Indices in the level of the nodes that fire, strongest first (ties: entries, then the lower row)."""
    fires = level.signal >= settings.threshold * _UNITS
    if fired is not None:
        fires &= ~fired[level.node]
    front = fires.nonzero()[0]
    front = front[order_by_signal(level.signal[front])]
    if len(front) > settings.frontier:
        spread.caps.add("frontier")
    return front[: settings.frontier]


def _send_signals(
    graph: ConduitGraph,
    level: Level,
    front: Numbers,
    fired: NDArray[np.bool_] | None,
    spread: Spread,
    now: int,
    fading: decay.DecaySettings,
    settings: Propagation,
    active: NDArray[np.bool_] | None,
    inhibition: Inhibition,
) -> Level:
    """The next hop: messages of the firing nodes along and against their conduits, within the limits."""
    nodes, strength = level.node[front], level.signal[front]
    which, position, outgoing, degree, cut = graph.around(nodes, settings.hub)
    if cut:
        spread.caps.add("hub")
    if len(which) > settings.edges - spread.edges:
        spread.caps.add("edges")
        fits = (np.bincount(which, minlength=len(nodes)).cumsum() <= settings.edges - spread.edges)[which]
        which, position, outgoing = which[fits], position[fits], int(np.count_nonzero(fits[:outgoing]))
    spread.edges += len(which)
    sender, receiver = nodes[which], graph.target[position].astype(np.int64)
    receiver[outgoing:] = graph.source(position[outgoing:])
    along, against = settings.gains.tables
    kind = graph.kind(position)
    gain = along[kind]
    gain[outgoing:] = against[kind[outgoing:]]
    if graph.entries:
        gain[receiver < 0] = settings.gains.to_entry
    if np.minimum.reduce(nodes) < 0:
        entry = (sender < 0).nonzero()[0]
        gain[entry] *= graph.affinity(position[entry])
    share = np.minimum(1.0, settings.hub_degree / np.maximum(degree, 1)) ** settings.hub_power * settings.attenuation
    effective = decay.decay_weight(
        graph.weight[position],
        graph.used[position],
        fading.rates_of_kinds[kind],
        graph.young(position, now - fading.grace * decay.HOUR),
        now,
        fading,
    )
    signal = strength[which]
    if len(level.receiver) and fired is not None:
        # Only a node that has fired before can have sent an echo.
        back = fired[receiver].nonzero()[0]
        signal[back] -= level.echo(nodes, sender[back], receiver[back])
    message = np.rint(signal * (share[which] * gain * effective))
    is_delivered = (message > 0) & (receiver != sender) & _may_receive(receiver, active)
    if inhibition.silences:
        is_delivered &= ~inhibition.silent(sender, receiver)
    delivered = is_delivered.nonzero()[0]
    return Level.reached(
        receiver[delivered], sender[delivered], position[delivered], message[delivered], effective[delivered]
    )
