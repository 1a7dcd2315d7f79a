"""How strong a conduit still is when it is read. Nothing fades by being written; time alone does it.

    effective = weight · 0.5 ^ (hours since used ÷ half-life)

The half-life is the decay class's. Within `grace` hours of being made it is `grace_factor` times as long and
the result is at least `grace_floor`, so that what is new has time to prove itself. Never above the weight.
"""

from __future__ import annotations

import functools
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

    @functools.lru_cache(maxsize=8)  # noqa: B019 - frozen, and few
    def rates(self) -> NDArray[np.float64]:
        """The power of e that a second without use takes, by class. One nobody knows fades like a working one."""
        rates = np.full(256, 1 / self.working)
        rates[1:3] = 1 / self.core, 1 / self.ephemeral
        rates *= -np.log(2.0) / HOUR
        return rates

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
    finite = np.isfinite(weight)
    if not np.logical_and.reduce(finite):
        weight = np.where(finite, weight, np.float32(0))
    young = made > now - fading.grace * HOUR
    power = np.maximum(now - used.astype(np.float64), 0.0)
    power *= fading.rates()[decay_class]
    some_young = bool(np.logical_or.reduce(young))
    if some_young:
        power[young] /= fading.grace_factor
    # exp of float32 is several times faster than exp2.
    faded: NDArray[np.float32] = np.exp(power.astype(np.float32))
    faded *= weight
    if some_young:
        faded[young] = np.maximum(faded[young], np.float32(fading.grace_floor))
    return np.minimum(weight, faded, out=faded)
