"""Force-directed layout of a graph: deterministic coordinates for its nodes, linked ones near each other.

Springs along the links, repulsion between all nodes, a pull to the centre. Repulsion is computed against the cells of
a grid instead of single nodes, so that a round costs nodes by cells and not nodes by nodes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Points = NDArray[np.float32]

ROUNDS = 110  # iterations: 3,500 nodes and 12,000 links take about half a second
_CELLS = 16  # cells of the grid along each side
_ROWS = 256  # nodes in one matrix product: fits into the CPU cache, and is too little for BLAS to start threads
_SMOOTHING = 24  # iterations that move each node to the mean of its neighbours before the forces begin
_GOLDEN = np.pi * (3 - np.sqrt(5))  # golden angle in radians: successive points of the starting spiral


def place_nodes(
    count: int, links: NDArray[np.integer], strength: NDArray[np.floating], *, rounds: int = ROUNDS
) -> Points:
    """A point of the square [-1, 1]² for each of `count` nodes. `links` are pairs of them, `strength` is 0..1."""
    if count == 0:
        return np.zeros((0, 2), np.float32)
    first, second = (np.ascontiguousarray(links[:, side], np.int64) for side in (0, 1))
    pull = np.clip(strength, 0.05, 1.0).astype(np.float32)
    degree = np.bincount(first, minlength=count) + np.bincount(second, minlength=count)
    at = _starting_points(count, first, second, pull)
    # A hub has many springs; without this it would draw all its neighbours into one spot.
    pull = pull / np.sqrt(np.minimum(degree[first], degree[second]).astype(np.float32))
    mass = (1 + np.sqrt(degree)).astype(np.float32)
    for heat in np.linspace(0.12, 0.004, rounds, dtype=np.float32):
        force = _repulsion(at, mass) - 0.9 * at
        along = (at[second] - at[first]) * (pull * 6)[:, None]
        for axis in (0, 1):
            force[:, axis] += np.bincount(first, along[:, axis], count) - np.bincount(second, along[:, axis], count)
        length = np.sqrt((force**2).sum(1, keepdims=True)) + np.float32(1e-6)
        at += force / length * np.minimum(length * np.float32(0.1), heat)
    return _fit_to_square(at)


def _starting_points(count: int, first: NDArray[np.int64], second: NDArray[np.int64], pull: Points) -> Points:
    """Starting points: a spiral, smoothed along the links so that communities are close before the first force."""
    angle = np.arange(count) * _GOLDEN
    radius = np.sqrt((np.arange(count) + 0.5) / count)
    spiral = radius[:, None] * np.stack((np.cos(angle), np.sin(angle)), 1)
    at = spiral.copy()
    weight = np.bincount(first, pull, count) + np.bincount(second, pull, count)
    linked = weight > 0
    for _ in range(_SMOOTHING if linked.any() else 0):
        for axis in (0, 1):
            coordinate = at[:, axis]
            mean = np.bincount(first, pull * coordinate[second], count) + np.bincount(
                second, pull * coordinate[first], count
            )
            moved = 0.5 * coordinate[linked] + 0.5 * mean[linked] / weight[linked]
            at[linked, axis] = (moved - moved.mean()) / max(float(moved.std()), 1e-9) * 0.4
    # Nodes with equal neighbours would stay on one spot for ever: the spiral separates them.
    points: Points = (at + 0.05 * spiral).astype(np.float32)
    return points


def _repulsion(at: Points, mass: Points) -> Points:
    """Repulsion on every node by the nodes of each grid cell taken together."""
    low, high = at.min(0), at.max(0)
    cell = np.minimum((at - low) / np.maximum(high - low, 1e-6) * _CELLS, _CELLS - 1).astype(np.int64)
    cells, cell_of = np.unique(cell[:, 0] * _CELLS + cell[:, 1], return_inverse=True)
    cell_mass = np.bincount(cell_of, mass, len(cells)).astype(np.float32)
    middle = np.stack([np.bincount(cell_of, mass * at[:, axis], len(cells)) for axis in (0, 1)], 1).astype(np.float32)
    middle /= cell_mass[:, None]
    # 1 ÷ squared distance of every node to every cell; the squares are sums of products, so one product makes them.
    square = (middle**2).sum(1) + np.float32(1e-3)
    ones = np.ones(len(at), np.float32)
    left, right = (
        np.column_stack((at, (at**2).sum(1), ones)),
        np.stack((*(-2 * middle.T), ones[: len(cell_mass)], square)),
    )
    weighted = np.column_stack((cell_mass[:, None] * middle, cell_mass))
    sums = np.empty((len(at), 3), np.float32)
    for begin in range(0, len(at), _ROWS):
        near = left[begin : begin + _ROWS] @ right
        np.reciprocal(near, out=near)
        np.matmul(near, weighted, out=sums[begin : begin + _ROWS])
    force: Points = (at * sums[:, 2:] - sums[:, :2]) * (mass / mass.sum())[:, None] * np.float32(0.6)
    return force


def _fit_to_square(at: Points) -> Points:
    """Scaled into the square, outliers moved inwards: one far node must not make all others small."""
    centred = at - np.median(at, axis=0)
    radius = np.sqrt((centred**2).sum(1))
    most = max(float(np.quantile(radius, 0.98)), 1e-6) * 1.15
    drawn_in = centred * np.minimum(1.0, most / np.maximum(radius, 1e-9))[:, None]
    framed: Points = (drawn_in / max(float(np.abs(drawn_in).max()), 1e-6)).astype(np.float32)
    return framed
