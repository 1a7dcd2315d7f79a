"""Where the nodes of a graph are drawn: linked ones near each other, all of them apart, the same every time.

Springs along the links, a push away from everything else, a pull to the middle. The push of far nodes is that of
the cells they lie in, so that a round costs nodes by cells and not nodes by nodes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Points = NDArray[np.float32]

ROUNDS = 110  # 3,500 nodes and 12,000 links take about half a second
_CELLS = 16  # along each side
_ROWS = 256  # nodes at once: it fits into the cache, and is too little for BLAS to call up other threads
_SMOOTHING = 24  # how often each node moves to the mean of its neighbours before the forces begin
_GOLDEN = np.pi * (3 - np.sqrt(5))


def place_nodes(
    count: int, links: NDArray[np.integer], strength: NDArray[np.floating], *, rounds: int = ROUNDS
) -> Points:
    """A point of the square [-1, 1]² for each of `count` nodes. `links` are pairs of them, `strength` is 0..1."""
    if count == 0:
        return np.zeros((0, 2), np.float32)
    one, two = (np.ascontiguousarray(links[:, side], np.int64) for side in (0, 1))
    pull = np.clip(strength, 0.05, 1.0).astype(np.float32)
    degree = np.bincount(one, minlength=count) + np.bincount(two, minlength=count)
    at = _start(count, one, two, pull)
    # A hub is held by many springs; without this it would draw all its neighbours into one spot.
    pull = pull / np.sqrt(np.minimum(degree[one], degree[two]).astype(np.float32))
    mass = (1 + np.sqrt(degree)).astype(np.float32)
    for heat in np.linspace(0.12, 0.004, rounds, dtype=np.float32):
        force = _apart(at, mass) - 0.9 * at
        along = (at[two] - at[one]) * (pull * 6)[:, None]
        for axis in (0, 1):
            force[:, axis] += np.bincount(one, along[:, axis], count) - np.bincount(two, along[:, axis], count)
        length = np.sqrt((force**2).sum(1, keepdims=True)) + np.float32(1e-6)
        at += force / length * np.minimum(length * np.float32(0.1), heat)
    return _framed(at)


def _start(count: int, one: NDArray[np.int64], two: NDArray[np.int64], pull: Points) -> Points:
    """A spiral, smoothed along the links: communities stand together before the first force acts."""
    turn = np.arange(count) * _GOLDEN
    away = np.sqrt((np.arange(count) + 0.5) / count)
    spiral = away[:, None] * np.stack((np.cos(turn), np.sin(turn)), 1)
    at = spiral.copy()
    weight = np.bincount(one, pull, count) + np.bincount(two, pull, count)
    linked = weight > 0
    for _ in range(_SMOOTHING if linked.any() else 0):
        for axis in (0, 1):
            place = at[:, axis]
            mean = np.bincount(one, pull * place[two], count) + np.bincount(two, pull * place[one], count)
            moved = 0.5 * place[linked] + 0.5 * mean[linked] / weight[linked]
            at[linked, axis] = (moved - moved.mean()) / max(float(moved.std()), 1e-9) * 0.4
    # Twins would stay on one spot for ever: the spiral tells them apart.
    started: Points = (at + 0.05 * spiral).astype(np.float32)
    return started


def _apart(at: Points, mass: Points) -> Points:
    """The push of every cell's nodes, taken together, on every node."""
    low, high = at.min(0), at.max(0)
    cell = np.minimum((at - low) / np.maximum(high - low, 1e-6) * _CELLS, _CELLS - 1).astype(np.int64)
    named, cell_of = np.unique(cell[:, 0] * _CELLS + cell[:, 1], return_inverse=True)
    held = np.bincount(cell_of, mass, len(named)).astype(np.float32)
    middle = np.stack([np.bincount(cell_of, mass * at[:, axis], len(named)) for axis in (0, 1)], 1).astype(np.float32)
    middle /= held[:, None]
    # 1 ÷ squared distance of every node to every cell; the squares are sums of products, so one product makes them.
    square = (middle**2).sum(1) + np.float32(1e-3)
    ones = np.ones(len(at), np.float32)
    left, right = np.column_stack((at, (at**2).sum(1), ones)), np.stack((*(-2 * middle.T), ones[: len(held)], square))
    weighed = np.column_stack((held[:, None] * middle, held))
    pushed = np.empty((len(at), 3), np.float32)
    for first in range(0, len(at), _ROWS):
        near = left[first : first + _ROWS] @ right
        np.reciprocal(near, out=near)
        np.matmul(near, weighed, out=pushed[first : first + _ROWS])
    force: Points = (at * pushed[:, 2:] - pushed[:, :2]) * (mass / mass.sum())[:, None] * np.float32(0.6)
    return force


def _framed(at: Points) -> Points:
    """Into the square, with stragglers drawn in: one lonely node must not make all others small."""
    centred = at - np.median(at, axis=0)
    radius = np.sqrt((centred**2).sum(1))
    most = max(float(np.quantile(radius, 0.98)), 1e-6) * 1.15
    drawn_in = centred * np.minimum(1.0, most / np.maximum(radius, 1e-9))[:, None]
    framed: Points = (drawn_in / max(float(np.abs(drawn_in).max()), 1e-6)).astype(np.float32)
    return framed
