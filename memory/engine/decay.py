"""How strong a conduit still is when it is read. Nothing fades by being written; time alone does it.

    effective = weight · 0.5 ^ (hours since used ÷ half-life)

The half-life is the decay class's. Within `grace` hours of being made it is `grace_factor` times as long and
the result is at least `grace_floor`, so that what is new has time to prove itself. Never above the weight.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

HOUR = 3600.0


@dataclass(frozen=True)
class Fading:
    """Times in hours. The order of the half-lives is that of the decay classes: 0, 1, 2."""

    # 1..100,000. Half-life of a working link: a week without use halves it.
    working: float = 168.0
    # 1..100,000. Half-life of a core link: a month.
    core: float = 720.0
    # 1..100,000. Half-life of an ephemeral link: two days.
    ephemeral: float = 48.0
    # 0..10,000. How long after it was made a link is young.
    grace: float = 72.0
    # 1..10. How many times longer the half-life of a young link is.
    grace_factor: float = 2.0
    # 0..1. What a young link never falls below, unless its weight is lower.
    grace_floor: float = 0.10

    def __post_init__(self) -> None:
        for name, low, high in (
            ("working", 1, 100_000), ("core", 1, 100_000), ("ephemeral", 1, 100_000),
            ("grace", 0, 10_000), ("grace_factor", 1, 10), ("grace_floor", 0, 1),
        ):  # fmt: skip
            if not low <= getattr(self, name) <= high:
                raise ValueError(f"{name} must be between {low} and {high}")


def effective(
    weight: NDArray[np.float32],
    *,
    used: NDArray[np.integer],
    made: NDArray[np.integer],
    decay_class: NDArray[np.integer],
    now: int,
    fading: Fading = Fading(),  # noqa: B008 - frozen
) -> NDArray[np.float32]:
    """Weights as they are at `now`. Times are seconds since 1970; one in the future counts as now."""
    weight = np.where(np.isfinite(weight), weight, 0).astype(np.float32, copy=False)
    # Halvings per hour, by class. A class nobody knows fades like a working one.
    rates = np.full(256, 1 / fading.working)
    rates[1:3] = 1 / fading.core, 1 / fading.ephemeral
    idle = np.maximum(now - used.astype(np.float64), 0.0)
    young = made.astype(np.float64) > now - fading.grace * HOUR
    rate = rates[decay_class] * np.where(young, 1 / fading.grace_factor, 1.0)
    # exp of float32 is several times faster than exp2.
    faded = weight * np.exp((idle * rate * (-np.log(2.0) / HOUR)).astype(np.float32))
    floor = np.where(young, np.float32(fading.grace_floor), np.float32(0))
    result: NDArray[np.float32] = np.minimum(weight, np.maximum(faded, floor))
    return result
