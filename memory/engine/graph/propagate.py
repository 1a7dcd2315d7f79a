"""Signal spreads from what a query found over the conduits, hop by hop.

A node that fires sends along each conduit it reads

    signal · effective weight · attenuation · gain of the relation · affinity (from an entry) · min(1, h ÷ degree)^p

with h = `hub_degree` and p = `hub_power`, less what the node at its other end has just sent (an echo is no news).
Signals that arrive add up. A node fires once, in the hop that first brings it `threshold` times the strongest
signal put in: a share, because scores of words, vectors and entries have no common unit, so that seeds twice as
strong give exactly twice the activation. All sums are of whole numbers (2^-30 of the strongest signal), so
that neither rows nor conduits' numbers decide anything but a tie.
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
_WHOLE = 2.0**30
_FAINTEST = 1e-30


@dataclass(frozen=True)
class Gains:
    """What a conduit passes on by its relation, 0..1. Contradicts and supersedes pass nothing: they inhibit."""

    # About the same thing: as good in either direction.
    related: float = 1.0
    related_back: float = 1.0
    # One bears the other out: as good in either direction.
    supports: float = 1.0
    supports_back: float = 1.0
    # What was said next often answers; what was said before less often.
    next: float = 0.8
    next_back: float = 0.5
    # From what happened to why, and from why to what came of it.
    caused_by: float = 0.9
    caused_by_back: float = 0.7
    # From a grain back to a name, number or date in it, and so to others with the same.
    to_entry: float = 0.5

    @functools.cached_property
    def tables(self) -> tuple[Floats, Floats]:
        """Gains along a conduit and against it, by the byte a graph keeps: its lower four bits are the relation."""
        along, against = np.zeros(16), np.zeros(16)
        for relation, name in ((RELATED, "related"), (SUPPORTS, "supports"), (NEXT, "next"), (CAUSED_BY, "caused_by")):
            along[relation], against[relation] = getattr(self, name), getattr(self, f"{name}_back")
        return np.tile(along, 16), np.tile(against, 16)


@dataclass(frozen=True)
class Propagation:
    """How far and how wide a signal goes."""

    # 0..1. What is left of a signal after one conduit, before its weight.
    attenuation: float = 0.85
    # 0..1. Share of the strongest signal put in that a node must receive in one hop to fire.
    threshold: float = 0.15
    # 0..8. Conduits in a row.
    hops: int = 5
    # 1..4,096. Nodes that fire in one hop, strongest first.
    frontier: int = 256
    # 1..1,024. Conduits read of one node in each direction, strongest first.
    hub: int = 32
    # 1..1,024. Conduits from which on a node counts as a hub and gives each of them less.
    hub_degree: float = 16.0
    # 0..1. How much less: 0 not at all, 1 the whole signal divided among them.
    hub_power: float = 0.5
    # 1..1,000,000. Conduits read for one query, those of stronger nodes first.
    edges: int = 10_000
    # 0..1. What a grain keeps that an active one has superseded; the newer one gets the rest.
    superseded_keeps: float = 0.25
    # 0..1. What a grain keeps that an active one of higher authority contradicts.
    contradicted_keeps: float = 0.5
    gains: Gains = field(default_factory=Gains)


class Signals(NamedTuple):
    """Where signal is put in: rows of grains or keys of entries, and how much of it."""

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
    """Where the signal goes. `active` and `authority` (0 is the highest) are by row; only active grains receive."""
    nodes, signal = np.asarray(seeds.at, np.int64), np.asarray(seeds.signal, np.float64)
    if len(entries.at):
        nodes = np.concatenate((nodes, graph.entry_node(entries.at.astype(np.uint64))))
        signal = np.concatenate((signal, entries.signal))
    given = (signal > _FAINTEST) & (signal < np.inf) & _open(nodes, active)
    if len(entries.at):
        given &= nodes != NOWHERE
    nodes, signal = nodes[given], signal[given]
    found = Spread(graph, unit=float(np.maximum.reduce(signal, initial=0.0)) / _WHOLE)
    if not len(nodes):
        return found
    inhibition = Inhibition(graph, active, authority, settings.superseded_keeps, settings.contradicted_keeps)
    level = Level.seeded(*group_by_node(nodes, np.rint(signal / found.unit)))
    inhibition.apply(level)
    found.levels.append(level)
    fired: NDArray[np.bool_] | None = None  # by node: entries are below 0 and so stand at the end
    for left in range(settings.hops, 0, -1):
        front = _front(level, fired, found, settings)
        if not len(front):
            break
        sent, level = level, _fire(graph, level, front, fired, found, now, fading, settings, active, inhibition)
        if not len(level.node):
            break
        inhibition.apply(level)
        found.levels.append(level)
        if left > 1:
            if fired is None:
                fired = np.zeros(_span(graph, nodes), np.bool_)
            fired[sent.node[front]] = True
    return found


def _span(graph: ConduitGraph, nodes: Numbers) -> int:
    return max(graph.reach, int(nodes.max(initial=0)) + 1) + graph.entries


def _open(nodes: Numbers, active: NDArray[np.bool_] | None) -> NDArray[np.bool_]:
    """Entries, and grains that may receive."""
    if active is None:
        return np.ones(len(nodes), np.bool_)
    if not len(active):
        return nodes < 0
    opened: NDArray[np.bool_] = active.take(nodes, mode="clip")
    if len(nodes) and np.maximum.reduce(nodes) >= len(active):
        opened &= nodes < len(active)
    if len(nodes) and np.minimum.reduce(nodes) < 0:
        opened |= nodes < 0
    return opened


def _front(level: Level, fired: NDArray[np.bool_] | None, found: Spread, settings: Propagation) -> Numbers:
    """Places in the level of the nodes that fire, strongest first (ties: entries, then the lower row)."""
    fires = level.signal >= settings.threshold * _WHOLE
    if fired is not None:
        fires &= ~fired[level.node]
    front = fires.nonzero()[0]
    front = front[order_by_signal(level.signal[front])]
    if len(front) > settings.frontier:
        found.caps.add("frontier")
    return front[: settings.frontier]


def _fire(
    graph: ConduitGraph,
    level: Level,
    front: Numbers,
    fired: NDArray[np.bool_] | None,
    found: Spread,
    now: int,
    fading: decay.DecaySettings,
    settings: Propagation,
    active: NDArray[np.bool_] | None,
    inhibition: Inhibition,
) -> Level:
    nodes, strength = level.node[front], level.signal[front]
    which, position, out, degree, cut = graph.around(nodes, settings.hub)
    if cut:
        found.caps.add("hub")
    if len(which) > settings.edges - found.edges:
        found.caps.add("edges")
        fits = (np.bincount(which, minlength=len(nodes)).cumsum() <= settings.edges - found.edges)[which]
        which, position, out = which[fits], position[fits], int(np.count_nonzero(fits[:out]))
    found.edges += len(which)
    sender, receiver = nodes[which], graph.target[position].astype(np.int64)
    receiver[out:] = graph.source(position[out:])
    along, against = settings.gains.tables
    kind = graph.kind(position)
    gain = along[kind]
    gain[out:] = against[kind[out:]]
    if graph.entries:
        gain[receiver < 0] = settings.gains.to_entry
    if np.minimum.reduce(nodes) < 0:
        entry = (sender < 0).nonzero()[0]
        gain[entry] *= graph.affinity(position[entry])
    share = np.minimum(1.0, settings.hub_degree / np.maximum(degree, 1)) ** settings.hub_power * settings.attenuation
    worth = decay.decay_weight(
        graph.weight[position],
        graph.used[position],
        fading.rates_of_kinds[kind],
        graph.young(position, now - fading.grace * decay.HOUR),
        now,
        fading,
    )
    news = strength[which]
    if len(level.receiver) and fired is not None:
        # Only one that fired before can have sent anything.
        back = fired[receiver].nonzero()[0]
        news[back] -= level.echo(nodes, sender[back], receiver[back])
    message = np.rint(news * (share[which] * gain * worth))
    hears = (message > 0) & (receiver != sender) & _open(receiver, active)
    if inhibition.silences:
        hears &= ~inhibition.silent(sender, receiver)
    heard = hears.nonzero()[0]
    return Level.reached(receiver[heard], sender[heard], position[heard], message[heard], worth[heard])
