"""L-BFGS in a few lines of numpy: the minimum of a smooth function without a library for it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def minimum(
    value_and_slope: Callable[[Floats], tuple[float, Floats]],
    start: Floats,
    *,
    steps: int = 300,
    memory: int = 12,
    still: float = 1e-7,
) -> Floats:
    """Two-loop recursion with a backtracking line search; stops when a step gains less than `still` of the value."""
    at = start.copy()
    value, slope = value_and_slope(at)
    moves: list[tuple[Floats, Floats, float]] = []
    for _ in range(steps):
        direction = -_times_curvature(slope, moves)
        descent = float(direction @ slope)
        if descent >= 0:
            moves, direction, descent = [], -slope, -float(slope @ slope)
        stride = 1.0 if moves else min(1.0, 1.0 / max(float(np.abs(slope).sum()), 1e-12))
        while True:
            there = at + stride * direction
            new_value, new_slope = value_and_slope(there)
            if new_value <= value + 1e-4 * stride * descent or stride < 1e-10:
                break
            stride *= 0.5
        moved, turned = there - at, new_slope - slope
        bend = float(moved @ turned)
        if bend > 1e-12:
            moves = [*moves, (moved, turned, 1.0 / bend)][-memory:]
        gained = value - new_value
        at, value, slope = there, new_value, new_slope
        if gained <= still * max(abs(value), 1e-12):
            break
    return at


def _times_curvature(slope: Floats, moves: list[tuple[Floats, Floats, float]]) -> Floats:
    result = slope.copy()
    shares = []
    for moved, turned, weight in reversed(moves):
        share = weight * float(moved @ result)
        result -= share * turned
        shares.append(share)
    if moves:
        moved, turned, _ = moves[-1]
        result *= float(moved @ turned) / float(turned @ turned)
    for (moved, turned, weight), share in zip(moves, reversed(shares), strict=True):
        result += moved * (share - weight * float(turned @ result))
    return result
