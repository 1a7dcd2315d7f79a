"""A signal spreading over 100k grains and 1M conduits: arrays against dictionaries of Python objects.

The plain version is also what the tests hold the arrays against: the same rules, written as one would say them.
"""

from __future__ import annotations

import json
import statistics
import time
from collections import defaultdict
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from memory.arena.changes import CONDUIT
from memory.engine.graph import decay
from memory.engine.graph.conduit_graph import ConduitGraph
from memory.engine.graph.propagate import Gains, Propagation, Signals, spread_signal

GRAINS, DEGREE, SEEDS, QUERIES, ROUNDS = 100_000, 10, 20, 20, 5
NOW = 1_760_000_000
HALF_LIVES = {0: "working", 1: "core", 2: "ephemeral"}
NAMES = {0: "related", 1: "supports", 4: "caused_by", 5: "next"}


class Link(NamedTuple):
    source: int | str
    target: int
    weight: float
    affinity: float
    made: int
    used: int
    relation: int
    decay_class: int


class Plain:
    """Who is linked to whom, in dictionaries; an entry is the text of its key."""

    def __init__(self, records: NDArray[np.void], from_row: NDArray[Any], to_row: NDArray[Any]) -> None:
        self.out: dict[int | str, list[Link]] = defaultdict(list)
        self.into: dict[int | str, list[Link]] = defaultdict(list)
        for record, begin, end in zip(records.tolist(), from_row.tolist(), to_row.tolist(), strict=True):
            _, entry, key, _, _, weight, affinity, made, used, relation, decay_class = record
            source = str(key) if entry else begin
            link = Link(source, end, weight, affinity, made // 3600 * 3600, used, relation, decay_class)
            self.out[source].append(link)
            self.into[end].append(link)
        for links in (*self.out.values(), *self.into.values()):
            links.sort(key=lambda link: (-link.weight, -link.used, link.target, str(link.source)))

    def spread(
        self, seeds: dict[int | str, float], now: int, settings: Propagation, fading: decay.DecaySettings
    ) -> dict[int, float]:
        """Activation by row."""
        unit, gains = max(seeds.values()), settings.gains
        total: dict[int | str, float] = defaultdict(float, seeds)
        level, sent = dict(seeds), defaultdict(float)
        fired: set[int | str] = set()
        for _ in range(settings.hops):
            front = [node for node in level if level[node] >= settings.threshold * unit and node not in fired]
            front = sorted(front, key=lambda node: -level[node])[: settings.frontier]
            fired.update(front)
            reached: dict[int | str, float] = defaultdict(float)
            sending: dict[tuple[int | str, int | str], float] = defaultdict(float)
            for node in front:
                out, into = self.out.get(node, ()), self.into.get(node, ())
                share = min(1.0, settings.hub_degree / max(len(out) + len(into), 1)) ** settings.hub_power
                for link, back in (
                    *((link, False) for link in out[: settings.hub]),
                    *((link, True) for link in into[: settings.hub]),
                ):
                    receiver = link.source if back else link.target
                    factor = _gain(gains, link, back) * _effective(link, now, fading) * share * settings.attenuation
                    signal = (level[node] - sent.get((receiver, node), 0.0)) * factor
                    if signal > 0 and receiver != node:
                        reached[receiver] += signal
                        sending[node, receiver] += signal
            for node, signal in reached.items():
                total[node] += signal
            level, sent = reached, sending
        return {node: signal for node, signal in total.items() if isinstance(node, int)}


def _gain(gains: Gains, link: Link, back: bool) -> float:
    if back and isinstance(link.source, str):
        return gains.to_entry
    name = NAMES.get(link.relation)
    gain = getattr(gains, f"{name}_back" if back else name) if name else 0.0
    return gain if back or isinstance(link.source, int) else gain * link.affinity


def _effective(link: Link, now: int, fading: decay.DecaySettings) -> float:
    half_life = getattr(fading, HALF_LIVES[link.decay_class])
    idle = max(now - link.used, 0) / 3600
    if now - link.made < fading.grace * 3600:
        faded = link.weight * 0.5 ** (idle / (half_life * fading.grace_factor))
        return min(link.weight, max(faded, fading.grace_floor))
    return link.weight * 0.5 ** (idle / half_life)


def synthetic(
    grains: int, degree: int, seed: int, *, entries: float = 0.3, young: float = 0.5
) -> tuple[NDArray[np.void], NDArray[np.int64], NDArray[np.int64]]:
    """Conduits with hubs, seven of ten to a near row; `entries` is the share that begins at one."""
    random = np.random.default_rng(seed)
    count = grains * degree
    source = random.integers(0, grains, count)
    near = (source + random.integers(1, 50, count)) % grains
    target = np.where(random.random(count) < 0.7, near, (grains * random.random(count) ** 3).astype(np.int64))
    entry = random.random(count) < entries
    records = np.zeros(count, CONDUIT)
    records["id"] = np.arange(1, count + 1)
    records["from_entry"] = np.where(entry, 1 + (grains / 5 * random.random(count) ** 2).astype(np.int64), 0)
    records["entry_key"] = records["from_entry"] * 7919
    records["from_grain"], records["to_grain"] = np.where(entry, 0, source + 1), target + 1
    records["weight"] = random.uniform(0.2, 0.95, count)
    records["affinity"] = np.where(entry, random.choice([0.5, 1.0, 1.5], count), 1.0)
    records["made_at"] = NOW - random.integers(0, 5, count) * 86_400 - 1_800
    records["used_at"] = np.minimum(records["made_at"] + random.integers(0, 86_400, count), NOW)
    old = random.random(count) >= young
    records["made_at"][old] -= 40 * 86_400
    records["relation"] = np.where(entry, 0, random.choice([0, 0, 0, 1, 4, 5, 5], count))
    records["decay_class"] = random.integers(0, 3, count)
    return records, np.where(entry, -1, source), target


def _seconds(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def main() -> None:
    records, from_row, to_row = synthetic(GRAINS, DEGREE, seed=1)
    graph, plain = ConduitGraph.build(records, from_row, to_row, rows=GRAINS), Plain(records, from_row, to_row)
    # Without the cap on conduits read, which the plain version does not have: both do the same work.
    random, settings, fading = np.random.default_rng(2), Propagation(edges=1_000_000), decay.DecaySettings()
    active, authority = np.ones(GRAINS, np.bool_), np.zeros(GRAINS, np.uint8)
    arrays, objects, edges = [], [], []
    for _ in range(ROUNDS):
        spent, reference = [], []
        for _ in range(QUERIES):
            rows, signal = random.choice(GRAINS, SEEDS, replace=False), random.uniform(0.3, 1.0, SEEDS)
            seeds = dict(zip(rows.tolist(), signal.tolist(), strict=True))
            found: list[Any] = []

            def ours(rows: Any = rows, signal: Any = signal, found: list[Any] = found) -> None:
                result = spread_signal(
                    graph,
                    seeds=Signals(rows, signal),
                    now=NOW,
                    fading=fading,
                    settings=settings,
                    active=active,
                    authority=authority,
                )
                found.append((result.rows, result.edges))

            spent.append(_seconds(ours))
            reference.append(_seconds(lambda seeds=seeds: plain.spread(seeds, NOW, settings, fading)))
            edges.append(found[0][1])
        arrays.append(statistics.median(spent))
        objects.append(statistics.median(reference))
    ratio = statistics.median(ours / theirs for ours, theirs in zip(arrays, objects, strict=True))
    print(
        json.dumps(
            [
                {
                    "what": f"spreading in arrays ÷ in dictionaries, {GRAINS:,} grains, {len(records):,} conduits",
                    "ratio": ratio,
                    "goal": "",
                    "measured": f"{statistics.median(arrays) * 1e3:.2f} ÷ {statistics.median(objects) * 1e3:.2f} ms "
                    "CPU, "
                    f"{statistics.mean(edges):.0f} conduits read, {graph.nbytes / len(records):.1f} bytes a conduit",
                    "rounds": {"arrays": arrays, "dictionaries": objects},
                }
            ]
        )
    )


if __name__ == "__main__":
    main()
